import { match, P } from "ts-pattern";
import type { FormExpression, FormFunction, FormStatement } from "./syntax-form.ts";

/** The names of a function, and of the scopes around it. */
export interface Scope {
  /** Bound by the function itself. */
  readonly own: ReadonlySet<string>;
  /** Bound by it or by a scope around it. */
  readonly names: ReadonlySet<string>;
  /** Own names that may stand for objects that others hold, too: parameters, and parts of other objects. */
  readonly shared: ReadonlySet<string>;
}

/** The scope of a function within another. A module is a function without parameters. */
export function scopeOf(fn: Pick<FormFunction, "params" | "body">, outer?: Scope): Scope {
  const own = new Set(fn.params);
  const shared = new Set(fn.params);
  for (const { ids, value } of boundNames(fn.body)) {
    const isFresh = ids.length === 1 && value !== undefined && value.k !== "name" && value.k !== "member";
    for (const id of ids) {
      own.add(id);
      if (!isFresh) shared.add(id);
    }
  }
  for (const id of outerNames(fn.body)) own.delete(id);
  return { own, names: new Set([...(outer?.names ?? []), ...own]), shared };
}

/** The names that a block declares to be an outer scope's. */
function* outerNames(body: readonly FormStatement[]): Generator<string> {
  for (const statement of walk(body)) if (statement.k === "outer") yield* statement.ids;
}

interface Binding {
  readonly ids: readonly string[];
  /** What the names are bound to, where it is one value. */
  readonly value?: FormExpression;
  /** The names are an outer scope's. */
  readonly outer?: true;
}

/** Every place of a block that binds names; with `nested`, of the functions in it, too. */
export function* boundNames(
  body: readonly FormStatement[],
  { nested = false }: { readonly nested?: boolean } = {},
): Generator<Binding> {
  for (const statement of walk(body)) {
    switch (statement.k) {
      case "set":
        yield statement;
        break;
      case "loop":
        yield { ids: statement.ids };
        break;
      case "def":
        yield { ids: [statement.id] };
        if (nested) yield* functionBindings(statement);
        break;
      case "outer":
        if (nested) yield { ids: statement.ids, outer: true };
        break;
    }
    for (const expression of expressionsOf(statement)) yield* expressionBindings(expression, nested);
  }
}

function* functionBindings(fn: Pick<FormFunction, "params" | "body">): Generator<Binding> {
  yield { ids: fn.params };
  yield* boundNames(fn.body, { nested: true });
}

function* expressionBindings(expression: FormExpression, nested: boolean): Generator<Binding> {
  switch (expression.k) {
    case "bind":
      yield { ids: [expression.id], value: expression.value };
      yield* expressionBindings(expression.value, nested);
      break;
    case "fn":
      if (nested) yield* functionBindings(expression);
      break;
    case "scope":
      if (nested) yield { ids: expression.ids };
      for (const part of expression.parts) yield* expressionBindings(part, nested);
      break;
    case "call":
      for (const part of [expression.callee, ...expression.args]) yield* expressionBindings(part, nested);
      break;
    case "member":
      for (const part of [expression.object, ...expression.parts]) yield* expressionBindings(part, nested);
      break;
    case "yield":
      yield* expressionBindings(expression.value, nested);
      break;
    case "all":
      for (const part of expression.parts) yield* expressionBindings(part, nested);
      break;
  }
}

/** The statements of a block and of the blocks in it, but not of the functions. */
export function* walk(body: readonly FormStatement[]): Generator<FormStatement> {
  for (const statement of body) {
    yield statement;
    switch (statement.k) {
      case "if":
        yield* walk(statement.yes);
        yield* walk(statement.no);
        break;
      case "loop":
        yield* walk(statement.body);
        yield* walk(statement.after);
        break;
      case "try":
        yield* walk(statement.body);
        for (const handler of statement.handlers) yield* walk(handler);
        yield* walk(statement.final);
        break;
      case "block":
        yield* walk(statement.body);
        break;
    }
  }
}

/** The expressions that stand in a statement itself. */
function expressionsOf(statement: FormStatement): readonly FormExpression[] {
  return match(statement)
    .with({ k: P.union("set", "update", "drop", "use", "raise") }, ({ value }) => [value])
    .with({ k: "return" }, ({ value }) => (value === null ? [] : [value]))
    .with({ k: "if" }, ({ test }) => [test])
    .with({ k: "loop" }, ({ head }) => [head])
    .otherwise(() => []);
}
