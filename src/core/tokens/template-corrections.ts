import type * as jinja from "@huggingface/jinja";
import { isJsonObject } from "../../contract/json.ts";
import { textMethods } from "./python-text-methods.ts";
import { pythonText, pythonTruth, type Value } from "./python-values.ts";
import { type Arguments, filterValue, itemsOf, pairsOf, percentFormat } from "./template-filters.ts";
import { isComparison, operatorValue } from "./template-operators.ts";
import {
  Interpreter,
  type Node,
  parse,
  runtimeList,
  runtimeTuple,
  runtimeValue,
  type Scope,
  tokenize,
} from "./template-runtime.ts";
import { testResult } from "./template-tests.ts";
import { correctTokens, groupMark, negatedTestPrefix, testPrefix, tupleEnd } from "./template-tokens.ts";

export type { Value } from "./python-values.ts";
export { Environment, type Node, runtimeValue, type Scope } from "./template-runtime.ts";

/**
 * Corrections where `@huggingface/jinja` renders a different text than Jinja in Python. The interop suite finds the
 * differences. Delete a correction when the suite passes without it.
 *
 * `template-tokens.ts` corrects what its parser refuses. {@link PythonInterpreter} has the other corrections: texts of
 * values (`True`, `None`, lists), loops and assignments. Operators, filters and tests have files of their own
 * (`template-operators.ts`, `template-filters.ts`, `template-tests.ts`), and so have the methods of texts.
 */

/** Parses a template with the corrections of its source and of its nodes. Throws a `SyntaxError`. */
export function parseTemplate(source: string): jinja.Template["parsed"] {
  // Jinja reads all line ends as `\n`.
  const tokens = tokenize(source.replace(/\r\n?/g, "\n"), { lstrip_blocks: true, trim_blocks: true });
  const parsed = parse(correctTokens(tokens));
  correctTemplate(parsed);
  return parsed;
}

/** The variable that has the item of a loop while several names are assigned. */
const loopItem = "__item";

/** Rewrites nodes of a parsed template in place. */
function correctTemplate(node: unknown): void {
  if (Array.isArray(node)) node.forEach(correctTemplate);
  else if (node instanceof Map) correctTemplate([...node].flat());
  else if (isJsonObject(node)) {
    Object.values(node).forEach(correctTemplate);
    for (const block of ["body", "alternate", "defaultBlock"]) {
      if (Array.isArray(node[block])) Object.assign(node, { [block]: (node[block] as Node[]).map(asOutput) });
    }
    if (node.type === "For") correctLoop(node);
    if (node.type === "TupleLiteral") {
      const items = (node.value as Node[]).filter((item) => identifierOf(item) !== tupleEnd);
      Object.assign(node, { value: items });
    }
    const changed = testOf(node);
    if (changed !== undefined) Object.assign(node, changed);
  }
}

/** A loop reads texts and undefined values. Several names are assigned by a statement in its body. */
function correctLoop(node: Node): void {
  const { iterable, loopvar, body } = node as { iterable: Node; loopvar: Node; body: readonly Node[] };
  const isSelected = iterable.type === "SelectExpression";
  const items = like(iterable, { type: "Iterable", expression: isSelected ? iterable.lhs : iterable });
  const corrected = isSelected ? like(iterable, { ...iterable, lhs: items }) : items;
  if (loopvar.type !== "TupleLiteral") {
    Object.assign(node, { iterable: corrected });
    return;
  }
  const item = like(loopvar, { type: "Identifier", value: loopItem });
  const assignment = like(loopvar, { type: "Set", assignee: loopvar, value: item, body: [] });
  const test = like(iterable, { type: "Assigned", assignment, expression: iterable.test });
  Object.assign(node, {
    iterable: isSelected ? like(iterable, { ...corrected, test }) : corrected,
    loopvar: item,
    body: [assignment, ...body],
  });
}

/** Returns a node of the class of another one. `@huggingface/jinja` visits only nodes of its own classes. */
function like(node: Node, fields: Node): Node {
  return Object.assign(Object.create(Object.getPrototypeOf(node) as object) as object, fields) as Node;
}

/** Returns the test for which a filter stands. Undefined for all other nodes. */
function testOf({ type, filter, operand }: Readonly<Record<string, unknown>>): object | undefined {
  const { callee, args } = type === "FilterExpression" ? (filter as Node) : {};
  const name = String(identifierOf(callee));
  const negate = name.startsWith(negatedTestPrefix);
  if (!negate && !name.startsWith(testPrefix)) return undefined;
  const test = { type: "Identifier", value: name.slice((negate ? negatedTestPrefix : testPrefix).length) };
  return { type: "TestExpression", operand, negate, test, args };
}

function identifierOf(node: unknown): unknown {
  return isJsonObject(node) && node.type === "Identifier" ? node.value : undefined;
}

const statements: readonly unknown[] = [
  "Set",
  "If",
  "For",
  "Macro",
  "CallStatement",
  "FilterStatement",
  "Break",
  "Continue",
  "Comment",
  "StringLiteral",
];

/** Wraps an expression whose value a block writes. Its text is Python's. */
function asOutput(node: Node): Node {
  return statements.includes(node.type) ? node : like(node, { type: "Output", expression: node });
}

/** Evaluates as Jinja in Python does where `@huggingface/jinja` does not. */
export class PythonInterpreter extends Interpreter {
  override evaluate(node: Node | undefined, scope: Scope): Value {
    switch (node?.type) {
      case "Constant":
        return node.value as Value;
      case "Output":
        return runtimeValue(pythonText(this.evaluate(node.expression as Node, scope)));
      case "Iterable": {
        const value = this.evaluate(node.expression as Node, scope);
        return typeof value.value === "string" || value.type === "UndefinedValue"
          ? runtimeList(itemsOf(value)!)
          : value;
      }
      case "Assigned":
        this.evaluate(node.assignment as Node, scope);
        return this.evaluate(node.expression as Node, scope);
      case "Set": {
        const { assignee } = node as { assignee: Node };
        if (assignee.type !== "TupleLiteral" || !isJsonObject(node.value)) return super.evaluate(node, scope);
        this.#assign(assignee, this.evaluate(node.value, scope), scope);
        return runtimeValue(null);
      }
      case "BinaryExpression":
        return this.#binary(node, scope);
      case "FilterExpression":
        return this.#filter(node, scope);
      case "TestExpression": {
        const given = ((node.args ?? []) as Node[]).map((argument) => this.evaluate(argument, scope));
        const value = this.evaluate(node.operand as Node, scope);
        return runtimeValue(testResult(String(identifierOf(node.test)), value, given) !== (node.negate === true));
      }
      case "CallExpression":
        return this.#call(node, scope);
      case "MemberExpression":
        return this.#member(node, scope);
      default:
        return super.evaluate(node, scope);
    }
  }

  /** Assigns the items of a value to several names, which may be nested: `a, (b, c)`. */
  #assign(target: Node, value: Value, scope: Scope): void {
    if (target.type !== "TupleLiteral") {
      super.evaluate({ type: "Set", assignee: target, value: constant(value) }, scope);
      return;
    }
    const [names, items] = [target.value as Node[], itemsOf(value)];
    if (items?.length !== names.length) throw new Error(`${names.length} names need ${names.length} values`);
    for (const [i, name] of names.entries()) this.#assign(name, items[i]!, scope);
  }

  #binary(node: Node, scope: Scope): Value {
    const { operator, left, right } = node as Binary;
    if (operator.value === "and" || operator.value === "or") return super.evaluate(node, scope);
    if (isComparison(operator.value)) return this.#comparison(node as Binary, scope).result;
    return this.#operation(operator, this.evaluate(left, scope), this.evaluate(right, scope), scope);
  }

  /** `a < b < c` is `a < b and b < c`. */
  #comparison({ operator, left, right }: Binary, scope: Scope): { readonly result: Value; readonly last: Value } {
    let first: Value;
    if (left.type === "BinaryExpression" && isComparison((left as Binary).operator.value)) {
      const before = this.#comparison(left as Binary, scope);
      if (!pythonTruth(before.result)) return before;
      first = before.last;
    } else first = this.evaluate(left, scope);
    const last = this.evaluate(right, scope);
    return { result: this.#operation(operator, first, last, scope), last };
  }

  #operation(operator: Binary["operator"], left: Value, right: Value, scope: Scope): Value {
    if (operator.value === "%" && typeof left.value === "string") {
      const values = right.type === "TupleValue" ? (right.value as Value[]) : [right];
      return runtimeValue(percentFormat(left.value, values));
    }
    const node = { type: "BinaryExpression", operator, left: constant(left), right: constant(right) };
    return operatorValue(operator.value, left, right) ?? super.evaluate(node, scope);
  }

  #filter(node: Node, scope: Scope): Value {
    const filter = node.filter as Node;
    const call = filter.type === "CallExpression" ? filter : { callee: filter, args: [] };
    const name = identifierOf(call.callee);
    const operand = this.evaluate(node.operand as Node, scope);
    if (name === groupMark) return operand;
    const given = this.#arguments(call.args as Node[], scope);
    const apply = (applied: string, item: Value, more: Arguments): Value =>
      this.evaluate({ type: "FilterExpression", operand: constant(item), filter: filterCall(applied, more) }, scope);
    const value =
      typeof name === "string" && given !== undefined ? filterValue(name, operand, given, apply) : undefined;
    return value ?? super.evaluate({ ...node, operand: constant(operand) }, scope);
  }

  #call(node: Node, scope: Scope): Value {
    const callee = node.callee as Node;
    if (callee.type !== "MemberExpression" || callee.computed === true) return super.evaluate(node, scope);
    const object = this.evaluate(callee.object as Node, scope);
    const name = identifierOf(callee.property);
    if (typeof object.value === "string" && typeof name === "string" && Object.hasOwn(textMethods, name)) {
      const given = this.#arguments(node.args as Node[], scope);
      if (given !== undefined) {
        const positional = name === "format" ? given.positional.map(pythonText) : given.positional.map(plainValue);
        return runtimeValue(textMethods[name]!(object.value, ...withNamed(name, positional, given.named)));
      }
    }
    if (object.type === "ObjectValue" && name === "items") {
      return runtimeList(pairsOf(object.value as Map<string, Value>));
    }
    return super.evaluate({ ...node, callee: { ...callee, object: constant(object) } }, scope);
  }

  #member(node: Node, scope: Scope): Value {
    const object = this.evaluate(node.object as Node, scope);
    if (object.type === "UndefinedValue") throw new Error("an undefined value has no attributes");
    const property = node.property as Node;
    const name = node.computed === true ? undefined : identifierOf(property);
    if (object.type === "ObjectValue" && typeof name === "string" && objectMethods.has(name)) {
      // `schema.items` is the method, also if the schema has the key "items".
      return (object as Value & { readonly builtins: ReadonlyMap<string, Value> }).builtins.get(name)!;
    }
    if (property.type === "SliceExpression" && object.type === "TupleValue") {
      const list = super.evaluate({ ...node, object: constant(object) }, scope);
      return runtimeTuple(list.value as Value[]);
    }
    if (typeof object.value === "string" && node.computed === true && property.type !== "SliceExpression") {
      const index = this.evaluate(property, scope);
      const characters = index.type === "IntegerValue" ? [...object.value] : undefined;
      if (characters !== undefined) return runtimeValue(characters.at(index.value as number));
      return super.evaluate({ ...node, object: constant(object), property: constant(index) }, scope);
    }
    return super.evaluate({ ...node, object: constant(object) }, scope);
  }

  /** Returns undefined for arguments that are unpacked from a list or an object. */
  #arguments(nodes: readonly Node[], scope: Scope): Arguments | undefined {
    if (nodes.some(({ type }) => type === "SpreadExpression" || type === "KeywordSpreadExpression")) return undefined;
    const isNamed = ({ type }: Node): boolean => type === "KeywordArgumentExpression";
    return {
      positional: nodes.filter((node) => !isNamed(node)).map((node) => this.evaluate(node, scope)),
      named: new Map(
        nodes.filter(isNamed).map((node) => [String(identifierOf(node.key)), this.evaluate(node.value as Node, scope)]),
      ),
    };
  }
}

interface Binary extends Node {
  readonly operator: { readonly value: string };
  readonly left: Node;
  readonly right: Node;
}

/** The methods of an object that a template may call. Jinja's sandbox refuses those that change it. */
const objectMethods: ReadonlySet<string> = new Set(["items", "keys", "values", "get"]);

function constant(value: Value): Node {
  return { type: "Constant", value };
}

function filterCall(name: string, { positional, named }: Arguments): Node {
  const callee = { type: "Identifier", value: name };
  const options = [...named].map(([key, value]) => ({
    type: "KeywordArgumentExpression",
    key: { type: "Identifier", value: key },
    value: constant(value),
  }));
  const args = [...positional.map(constant), ...options];
  return args.length === 0 ? callee : { type: "CallExpression", callee, args };
}

/** Returns the arguments of a text's method by position. Only splits have names for theirs. */
function withNamed(method: string, positional: readonly unknown[], named: ReadonlyMap<string, Value>): unknown[] {
  const names = /split$/.test(method) ? ["sep", "maxsplit"] : method === "replace" ? ["old", "new", "count"] : [];
  const unknown = [...named.keys()].find((name) => !names.includes(name));
  if (unknown !== undefined) throw new Error(`the method ${method} has no argument ${unknown}`);
  if (named.size === 0) return [...positional];
  return names.map((name, i) => (i < positional.length ? positional[i] : named.get(name)?.value));
}

/** Returns a runtime value as plain texts, numbers and lists. */
function plainValue({ value }: Value): unknown {
  return Array.isArray(value) ? (value as Value[]).map(plainValue) : value;
}
