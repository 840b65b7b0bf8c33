import type { CodeNode } from "./code-tree.ts";
import { liveParts } from "./live-parts.ts";
import {
  bindingOf,
  boundBy,
  calleeOf,
  definitionOf,
  isFunction,
  nameOf,
  nodesOf,
  returnedBy,
  rootOf,
  targetsOf,
  walk,
} from "./node-parts.ts";
import { Value } from "./value.ts";

/** How main uses its helper. */
export interface HelperUsage {
  /** True if code that may run calls the helper. */
  readonly called: boolean;
  /** True if what the helper returns is used. */
  readonly used: boolean;
  /** True if the entry only returns the helper's result. */
  readonly wrapper: boolean;
  /** Why the result of the first call is not used, in words after "the result". */
  readonly ignored?: string;
}

/** Functions that look at a function argument and do not call it. */
const inspectors = /^(print|str|repr|bool|type|id|hash|callable|isinstance|console|String|Boolean)$/;

/** Other functions without an effect. Such a call is not used if it stands alone. */
const pure =
  /^(len|int|float|abs|min|max|sum|sorted|list|tuple|dict|set|round|range|enumerate|zip|map|filter|reversed|any|all|Math|JSON|Number|Object|Array)$/;

const isControl = /^(If|While|DoWhile|For|ForIn|ForOf|AsyncFor|Match|Switch)(Statement)?$/;
const isEffect = /^(Raise|Assert|Throw|Yield|With|withitem)/;
/** What else a function does not have that only passes a value on. */
const isWork = /^(Try|While|DoWhile|For|AsyncFor|Match|Switch)/;
const isDropped = /^(Expr|ExpressionStatement|Delete|void|typeof|delete)$/;
const isExpression = /^(NamedExpr|AssignmentExpression|UpdateExpression)$/;

/**
 * Finds how a function of a module (`entry`) uses a helper that is defined elsewhere (`helper`). A call counts if it may
 * run and the helper's name is not bound again. Its result is ignored if the call stands alone, or if it is assigned to
 * a name that is never used or that is assigned again before use. The code does not run. In doubt, a result is used.
 */
export function helperUsage(body: readonly CodeNode[], entry: string, helper: string): HelperUsage {
  const { output, ...flow } = new ValueFlow({ type: "Module", body }, entry, helper);
  const results = [...flow.helper.into].map((value) => value.whyUnused(output));
  const used = results.includes(undefined);
  const ignored = used ? undefined : results[0];
  const known = new Map([[flow.helper, true]]);
  const wrapper = used && flow.entry.passesOn(known, output);
  return { called: results.length > 0, used, wrapper, ...(ignored === undefined ? {} : { ignored }) };
}

/** A function or the module. */
interface Scope {
  readonly variables: Map<string, Value>;
  readonly around?: Scope;
  /** What the function returns. */
  readonly result: Value;
}

/** Finds where values flow, in one walk through the code that may run. */
class ValueFlow {
  readonly entry: Value;
  readonly helper: Value;
  /** Where values flow that have an effect. */
  readonly output = new Value();
  readonly #nothing = new Value();
  /** The names that a function assigns outside of itself. */
  readonly #outer: ReadonlySet<string>;
  /** The nodes that are assigned, and the values of variables that are assigned again before use. */
  readonly #targets = new Set<CodeNode>();
  readonly #replaced = new Set<CodeNode>();

  constructor(module: CodeNode, entry: string, helper: string) {
    const outer = walk(module, { nested: true }).filter(({ type }) => /^(Global|Nonlocal)$/.test(type));
    this.#outer = new Set(outer.flatMap(({ names }) => names as string[]));
    const scope = scopeOf(module, { result: new Value() });
    const isBound = scope.variables.has(helper) || this.#outer.has(helper);
    this.helper = isBound ? new Value() : this.#variable(helper, scope);
    this.entry = this.#variable(entry, scope);
    this.entry.read(this.output);
    this.#visitParts(module, { into: this.#nothing, scope });
  }

  #variable(name: string, { variables, around }: Scope): Value {
    if (this.#outer.has(name)) return this.output;
    const variable = variables.get(name) ?? (around && this.#variable(name, around)) ?? new Value();
    variables.set(name, variable);
    return variable;
  }

  /** Visits a node whose value flows into `into`. */
  #visit(node: CodeNode, into: Value, scope: Scope): void {
    const name = nameOf(node);
    if (this.#targets.has(node)) return;
    if (name !== undefined) this.#variable(name, scope).read(into);
    const defined = into === this.output ? undefined : definitionOf(node);
    if (defined !== undefined) this.#define(this.#variable(defined.name, scope), defined.value, scope);
    else if (isFunction(node)) this.#visitFunction(node, into, scope);
    else this.#visitParts(node, { into: this.#flow(node, into, scope), ofBody: into, scope });
  }

  #visitParts(node: CodeNode, flow: { readonly into: Value; readonly ofBody?: Value; readonly scope: Scope }): void {
    const { into, ofBody = into, scope } = flow;
    for (const target of targetsOf(node)) if (nameOf(target) !== undefined) this.#targets.add(target);
    for (const list of Object.values(node)) this.#findReplaced(nodesOf(list));
    const callee = calleeOf(node);
    const isLook = inspectors.test(nameOf(rootOf(callee)) ?? "");
    for (const part of liveParts(node)) {
      const given = /^(keyword|Starred|SpreadElement)$/.test(part.type)
        ? nodesOf(part.value ?? part.argument)[0]
        : part;
      const isHelper = nameOf(given) !== undefined && this.#variable(nameOf(given)!, scope) === this.helper;
      if (!isHelper) this.#visit(part, part === callee || bodyOf(node).includes(part) ? ofBody : into, scope);
      else if (callee === undefined && part !== node.test && into !== this.#nothing) this.helper.read(into);
      else if (part === callee || (callee !== undefined && !isLook)) this.helper.read(ofBody);
    }
  }

  /** A function or class runs if code reads its name. */
  #define(variable: Value, value: CodeNode, scope: Scope): void {
    const visit = (): void => {
      if (isFunction(value)) this.#visitFunction(value, variable, scope);
      else this.#visit(value, this.output, scope);
    };
    if (variable.isRead || variable === this.output) visit();
    else variable.definitions.push(visit);
  }

  #visitFunction(fn: CodeNode, result: Value, around: Scope): void {
    const scope = scopeOf(fn, { around, result });
    const returned = returnedBy(fn);
    if (returned !== undefined) result.from.push(this.#passedOn(returned, scope));
    this.#visitParts(fn, { into: this.output, ofBody: returned === undefined ? this.#nothing : result, scope });
  }

  /** Returns where the values of a node's parts flow. */
  #flow(node: CodeNode, into: Value, scope: Scope): Value {
    const { type, operator } = node;
    const { result } = scope;
    const callee = calleeOf(node);
    const root = nameOf(rootOf(callee)) ?? "";
    const isPure = inspectors.test(root) || pure.test(root) || this.#variable(root, scope) === this.helper;
    const hasEffect = isEffect.test(type) || (callee !== undefined && !isPure);
    if (hasEffect || isWork.test(type)) result.from.push(this.#passedOn(callee, scope));
    if (hasEffect) return this.output;
    if (isControl.test(type)) return hasEmptyBody(node) ? this.#nothing : this.output;
    if (isDropped.test(type) || isDropped.test(String(operator))) return this.#nothing;
    if (targetsOf(node).length > 0 && type !== "comprehension") return this.#assign(node, into, scope);
    if (!type.startsWith("Return")) return into;
    result.from.push(this.#passedOn(nodesOf(node.value ?? node.argument)[0], scope));
    return result;
  }

  #assign(node: CodeNode, into: Value, scope: Scope): Value {
    const value = bindingOf(node)?.value;
    const names = targetsOf(node).map(nameOf);
    const variables = names.map((name) => (name === undefined ? this.output : this.#variable(name, scope)));
    for (const variable of variables) {
      if (value !== undefined || node.type !== "VariableDeclarator") variable.from.push(this.#passedOn(value, scope));
      scope.result.beside.add(variable);
    }
    const after = isExpression.test(node.type) ? [into] : [];
    return value !== undefined && this.#replaced.has(value)
      ? new Value("is assigned to a name that is assigned again before it is used", after)
      : new Value("is assigned to a name that is never used", [...variables, ...after]);
  }

  /** Finds the values whose variable the next statement that names it assigns. */
  #findReplaced(statements: readonly CodeNode[]): void {
    const next = new Map<string | undefined, CodeNode>();
    for (const statement of statements.toReversed()) {
      const bound = bindingOf(statement);
      const after = bindingOf(next.get(bound?.name));
      const isRead = after && walk(after.value, { nested: true }).some((part) => nameOf(part) === after.name);
      if (isRead === false && after?.name === bound?.name) this.#replaced.add(bound!.value);
      for (const part of walk(statement, { nested: true })) next.set(nameOf(part), statement);
    }
  }

  /** Returns what an expression passes on as it is. Undefined if it does more. */
  #passedOn(node: CodeNode | undefined, scope: Scope): Value | undefined {
    if (node?.type.startsWith("Await")) return this.#passedOn(nodesOf(node.value ?? node.argument)[0], scope);
    const calls = [...(node === undefined ? [] : walk(node, { nested: true }))].filter((part) => calleeOf(part));
    if (calls.some((call) => call !== node)) return undefined;
    const name = nameOf(calls.length === 1 ? calleeOf(node!) : node);
    return name === undefined ? undefined : this.#variable(name, scope);
  }
}

function scopeOf(node: CodeNode, rest: Omit<Scope, "variables">): Scope {
  const [, ...parts] = walk(node, { nested: false });
  const names = [...targetsOf(node).map(nameOf), ...parts.flatMap(boundBy)].filter((name) => name !== undefined);
  return { ...rest, variables: new Map(names.map((name) => [name, new Value()])) };
}

function bodyOf({ body, consequent, orelse, alternate }: CodeNode): readonly CodeNode[] {
  return nodesOf([body, consequent, orelse, alternate].flat());
}

function hasEmptyBody(node: CodeNode): boolean {
  const isEmpty = ({ type, body }: CodeNode) =>
    type === "Pass" || (type === "BlockStatement" && nodesOf(body).length === 0);
  return node.cases === undefined && bodyOf(node).every(isEmpty);
}
