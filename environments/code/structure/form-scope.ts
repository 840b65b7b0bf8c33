import { match, P } from "ts-pattern";
import type { FormExpression, FormFunction, FormStatement } from "./syntax-form.ts";

/** The names of a function and of its outer scopes. */
export interface Scope {
  /** The names that the function binds. */
  readonly own: ReadonlySet<string>;
  /** The names that the function or an outer scope binds. */
  readonly names: ReadonlySet<string>;
  /** The own names that may refer to objects with other references: parameters, and parts of other objects. */
  readonly shared: ReadonlySet<string>;
}

/** Returns the scope of a function within another. A module counts as a function without parameters. */
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

/** Yields the names that a block declares as names of an outer scope. */
function* outerNames(body: readonly FormStatement[]): Generator<string> {
  for (const statement of walk(body)) if (statement.k === "outer") yield* statement.ids;
}

interface Binding {
  readonly ids: readonly string[];
  /** The bound value, if it is a single value. */
  readonly value?: FormExpression;
  /** True if the names belong to an outer scope. */
  readonly outer?: true;
}

/** Yields all bindings of names in a block. With `nested`, includes those of nested functions. */
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
  if (expression.k === "bind") yield { ids: [expression.id], value: expression.value };
  if (expression.k === "scope" && nested) yield { ids: expression.ids };
  if (expression.k === "fn" && nested) yield* functionBindings(expression);
  for (const part of partsOf(expression)) yield* expressionBindings(part, nested);
}

/** Returns the direct parts of an expression, without the body of a function. */
function partsOf(expression: FormExpression): readonly FormExpression[] {
  return match(expression)
    .with({ k: "call" }, ({ callee, args }) => [callee, ...args])
    .with({ k: "member" }, ({ object, parts }) => [object, ...parts])
    .with({ k: P.union("bind", "yield") }, ({ value }) => [value])
    .with({ k: P.union("scope", "all") }, ({ parts }) => parts)
    .otherwise(() => []);
}

/** Yields the statements of a block and of its nested blocks, without those of functions. */
export function* walk(body: readonly FormStatement[]): Generator<FormStatement> {
  for (const statement of body) {
    yield statement;
    for (const block of blocksOf(statement)) yield* walk(block);
  }
}

/** Returns the nested blocks of a statement, without the body of a function. */
function blocksOf(statement: FormStatement): readonly (readonly FormStatement[])[] {
  return match(statement)
    .with({ k: "if" }, ({ yes, no }) => [yes, no])
    .with({ k: "loop" }, ({ body, after }) => [body, after])
    .with({ k: "try" }, ({ body, handlers, final }) => [body, ...handlers, final])
    .with({ k: "block" }, ({ body }) => [body])
    .otherwise(() => []);
}

/** Returns the expressions that a statement contains directly. */
function expressionsOf(statement: FormStatement): readonly FormExpression[] {
  return match(statement)
    .with({ k: P.union("set", "update", "drop", "use", "raise") }, ({ value }) => [value])
    .with({ k: "return" }, ({ value }) => (value === null ? [] : [value]))
    .with({ k: "if" }, ({ test }) => [test])
    .with({ k: "loop" }, ({ head }) => [head])
    .otherwise(() => []);
}
