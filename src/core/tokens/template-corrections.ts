import * as jinja from "@huggingface/jinja";
import { isJsonObject } from "../../contract/json.ts";
import { JsonNumber } from "../text/exact-json.ts";
import { capitalized, strip, textMethods } from "./python-text-methods.ts";
import { pythonEquals, pythonJson, pythonText, type Value } from "./python-values.ts";

import { correctTokens, negatedTestPrefix, type Token, testPrefix, tupleEnd } from "./template-tokens.ts";

export type { Value } from "./python-values.ts";

/**
 * Corrections where `@huggingface/jinja` renders a different text than Jinja in Python. The interop suite finds the
 * differences. Delete a correction when the suite passes without it.
 *
 * `strip`, `lstrip`, `rstrip` and the filter `trim` ignore their characters argument (Qwen's templates strip only
 * newlines). They also use JavaScript's white space instead of Python's (with U+FEFF, but without U+001C to U+001F and
 * U+0085).
 *
 * {@link PythonInterpreter} has the other corrections: texts of values (`True`, `None`, lists), equality, operators,
 * loops, filters, tests and methods.
 */

/** Parses a template with the corrections of its source and of its nodes. Throws a `SyntaxError`. */
export function parseTemplate(source: string): jinja.Template["parsed"] {
  // Jinja reads all line ends as `\n`.
  const tokens = tokenize(source.replace(/\r\n?/g, "\n"), { lstrip_blocks: true, trim_blocks: true });
  const parsed = parse(correctTokens(tokens));
  correctTemplate(parsed);
  return parsed;
}

/** The functions that a corrected template calls. Pass them as variables when rendering. */
export const templateFunctions: Readonly<Record<string, (text: unknown, characters?: unknown) => string>> = {
  __strip: (text, characters) => strip(text, characters, { start: true, end: true }),
  __lstrip: (text, characters) => strip(text, characters, { start: true, end: false }),
  __rstrip: (text, characters) => strip(text, characters, { start: false, end: true }),
};

/** Rewrites nodes of a parsed template in place. Strip calls become calls of {@link templateFunctions}. */
function correctTemplate(node: unknown): void {
  if (Array.isArray(node)) node.forEach(correctTemplate);
  else if (node instanceof Map) correctTemplate([...node].flat());
  else if (isJsonObject(node)) {
    Object.values(node).forEach(correctTemplate);
    for (const block of ["body", "alternate", "defaultBlock"]) {
      if (Array.isArray(node[block])) Object.assign(node, { [block]: (node[block] as Node[]).map(asOutput) });
    }
    if (node.type === "For") {
      const { iterable, loopvar } = node as { iterable: Node; loopvar: Node };
      const isUnpacked = loopvar.type === "TupleLiteral";
      const lhs = (part: unknown): Node => ({ type: "Iterable", expression: part, isUnpacked });
      Object.assign(node, {
        iterable: iterable.type === "SelectExpression" ? { ...iterable, lhs: lhs(iterable.lhs) } : lhs(iterable),
      });
    }
    if (node.type === "TupleLiteral") {
      const items = (node.value as Node[]).filter((item) => identifierOf(item) !== tupleEnd);
      Object.assign(node, { value: items });
    }
    const changed = strippingCall(node) ?? testOf(node);
    if (changed !== undefined) Object.assign(node, changed);
  }
}

/** Returns the replacement for `text.strip(...)` or `text | trim(...)`. Undefined for all other nodes. */
function strippingCall(node: Readonly<Record<string, unknown>>): object | undefined {
  const { callee, operand, filter } = node;
  if (node.type === "CallExpression" && isJsonObject(callee) && callee.type === "MemberExpression") {
    const method = callee.computed === true ? undefined : identifierOf(callee.property);
    if (method === undefined || !Object.hasOwn(templateFunctions, `__${method}`)) return undefined;
    return callOf(`__${method}`, [callee.object, ...(node.args as unknown[])]);
  }
  if (node.type !== "FilterExpression") return undefined;
  if (identifierOf(filter) === "trim") return callOf("__strip", [operand]);
  if (isJsonObject(filter) && filter.type === "CallExpression" && identifierOf(filter.callee) === "trim") {
    return callOf("__strip", [operand, ...(filter.args as unknown[])]);
  }
  return undefined;
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

function callOf(name: string, callArguments: readonly unknown[]): object {
  return { type: "CallExpression", callee: { type: "Identifier", value: name }, args: callArguments };
}

function identifierOf(node: unknown): unknown {
  return isJsonObject(node) && node.type === "Identifier" ? node.value : undefined;
}

/** A node of a parsed template, with the fields of its type. */
export type Node = Readonly<Record<string, unknown>>;

/** The variables of a template. */
export interface Scope {
  set(name: string, value: unknown): Value;
  setVariable(name: string, value: Value): Value;
}

/**
 * The used part of `@huggingface/jinja`. It is declared here because its own types become `any` under `nodenext`
 * resolution.
 */
interface Runtime {
  readonly tokenize: (source: string, options: object) => Token[];
  readonly parse: (tokens: readonly Token[]) => jinja.Template["parsed"];
  readonly Environment: new () => Scope;
  readonly Interpreter: new (
    scope: Scope,
  ) => { run(program: jinja.Template["parsed"]): Value; evaluate(node: Node | undefined, scope: Scope): Value };
}

const { Environment, Interpreter, tokenize, parse } = jinja as unknown as Runtime;

export { Environment };

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
  return statements.includes(node.type) ? node : { type: "Output", expression: node };
}

/** Arguments of a filter or a method. */
interface Arguments {
  readonly positional: readonly Value[];
  readonly named: ReadonlyMap<string, Value>;
}

/** Returns the runtime value of a plain value or of exact JSON. */
export function runtimeValue(value: unknown): Value {
  if (value instanceof JsonNumber) return runtimeNumber(value.text);
  if (Array.isArray(value)) return runtimeList(value.map(runtimeValue));
  if (!isJsonObject(value)) return new Environment().set("value", value);
  const object = new Environment().set("value", {});
  const entries = value instanceof Map ? (value as ReadonlyMap<string, unknown>) : Object.entries(value);
  for (const [key, item] of entries) (object.value as Map<string, Value>).set(key, runtimeValue(item));
  return object;
}

/** A float of a whole value, such as `5.0`, is not taken for an integer. */
function runtimeNumber(text: string): Value {
  const value = Number(text);
  const isInteger = /^-?\d+$/.test(text);
  const example = new Environment().set("value", isInteger ? 1 : 0.5);
  const type = example.constructor as new (value: number | bigint) => Value;
  return new type(isInteger && !Number.isSafeInteger(value) ? BigInt(text) : value);
}

/** Returns a runtime list of runtime values. */
function runtimeList(values: readonly Value[]): Value {
  const list = new Environment().set("value", []);
  (list.value as Value[]).push(...values);
  return list;
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
        const items = iterableOf(this.evaluate(node.expression as Node, scope));
        const isUnpacked = node.isUnpacked === true && Array.isArray(items.value);
        return isUnpacked ? runtimeList((items.value as Value[]).map(listOf)) : items;
      }
      case "BinaryExpression":
        return this.#binary(node, scope);
      case "FilterExpression":
        return this.#filter(node, scope);
      case "TestExpression":
        return this.#test(node, scope);
      case "CallExpression":
        return this.#method(node, scope);
      case "MemberExpression": {
        const object = this.evaluate(node.object as Node, scope);
        if (object.type === "UndefinedValue") throw new Error("an undefined value has no attributes");
        return super.evaluate({ ...node, object: constant(object) }, scope);
      }
      default:
        return super.evaluate(node, scope);
    }
  }

  #binary(node: Node, scope: Scope): Value {
    const operator = (node.operator as { readonly value: string }).value;
    if (operator === "and" || operator === "or") return super.evaluate(node, scope);
    const left = this.evaluate(node.left as Node, scope);
    const right = this.evaluate(node.right as Node, scope);
    const corrected = binaryValue(operator, left, right);
    if (corrected !== undefined) return runtimeValue(corrected);
    return super.evaluate({ ...node, left: constant(left), right: constant(right) }, scope);
  }

  #filter(node: Node, scope: Scope): Value {
    const filter = node.filter as Node;
    const call = filter.type === "CallExpression" ? filter : { callee: filter, args: [] };
    const name = identifierOf(call.callee);
    const operand = this.evaluate(node.operand as Node, scope);
    const given = this.#arguments(call.args as Node[], scope);
    const value = typeof name === "string" && given !== undefined ? filterValue(name, operand, given) : undefined;
    return value ?? super.evaluate({ ...node, operand: constant(operand) }, scope);
  }

  #test(node: Node, scope: Scope): Value {
    const operand = this.evaluate(node.operand as Node, scope);
    const [argument, ...more] = (node.args ?? []) as Node[];
    if (more.length > 0) throw new Error("a test has at most one argument");
    if (argument !== undefined) {
      const isTrue = this.#testWith(String(identifierOf(node.test)), [operand, this.evaluate(argument, scope)], scope);
      return runtimeValue(isTrue !== node.negate);
    }
    const isIterable =
      identifierOf(node.test) === "iterable" && /Array|Tuple|Object|String|Undefined/.test(operand.type);
    if (isIterable) return runtimeValue(node.negate !== true);
    return super.evaluate({ ...node, operand: constant(operand) }, scope);
  }

  /** A test with an argument. */
  #testWith(name: string, [left, right]: readonly [Value, Value], scope: Scope): boolean {
    if (name === "sameas") return left.type === right.type && left.value === right.value;
    const operator = testOperators[name];
    if (operator === undefined) throw new Error(`the test "${name}" with an argument is not known`);
    if (operator === "%" && right.value === 0) throw new Error("division by zero");
    const operation = { type: "BinaryExpression", left: constant(left), right: constant(right) };
    const { value } = this.#binary({ ...operation, operator: { value: operator } }, scope);
    return operator === "%" ? value === 0 : value === true;
  }

  #method(node: Node, scope: Scope): Value {
    const callee = node.callee as Node;
    if (callee.type !== "MemberExpression" || callee.computed === true) return super.evaluate(node, scope);
    const object = this.evaluate(callee.object as Node, scope);
    const name = identifierOf(callee.property);
    if (typeof object.value === "string" && typeof name === "string" && Object.hasOwn(textMethods, name)) {
      const given = this.#arguments(node.args as Node[], scope);
      if (given !== undefined)
        return runtimeValue(textMethods[name]!(object.value, ...given.positional.map(plainValue)));
    }
    return super.evaluate({ ...node, callee: { ...callee, object: constant(object) } }, scope);
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

/** The operators of tests with an argument. The remainder is compared with 0. */
const testOperators: Readonly<Record<string, string>> = {
  divisibleby: "%",
  in: "in",
  eq: "==",
  equalto: "==",
  ne: "!=",
  gt: ">",
  greaterthan: ">",
  ge: ">=",
  lt: "<",
  lessthan: "<",
  le: "<=",
};

function constant(value: Value): Node {
  return { type: "Constant", value };
}

/** A text is iterated by characters, and nothing is iterated for an undefined value. */
function iterableOf(value: Value): Value {
  if (typeof value.value === "string") return runtimeValue([...value.value]);
  return value.type === "UndefinedValue" ? runtimeValue([]) : value;
}

/** In a loop, `@huggingface/jinja` assigns the items of lists, but not of tuples, to several names. */
function listOf(value: Value): Value {
  return value.type === "TupleValue" ? runtimeList(value.value as Value[]) : value;
}

/** Returns the value of an operator that needs a correction. Undefined for the others. */
function binaryValue(operator: string, left: Value, right: Value): unknown {
  if (operator === "==") return pythonEquals(left, right);
  if (operator === "!=") return !pythonEquals(left, right);
  if (operator === "~") return pythonText(left) + pythonText(right);
  if ((operator === "in" || operator === "not in") && Array.isArray(right.value)) {
    return (right.value as Value[]).some((item) => pythonEquals(left, item)) === (operator === "in");
  }
  if (operator === "%" && left.type === "IntegerValue" && right.type === "IntegerValue" && right.value !== 0) {
    const divisor = right.value as number;
    return (((left.value as number) % divisor) + divisor) % divisor;
  }
  if (operator === "+" && (typeof left.value === "string") !== (typeof right.value === "string")) {
    throw new Error("can only concatenate a text to a text");
  }
  const [text, count] = typeof left.value === "string" ? [left, right] : [right, left];
  if (operator === "*" && typeof text.value === "string" && count.type === "IntegerValue") {
    return text.value.repeat(Math.max(0, count.value as number));
  }
  return undefined;
}

const lengthOf = ({ value }: Value): number | undefined => {
  if (typeof value === "string") return /[\ud800-\udfff]/.test(value) ? [...value].length : value.length;
  if (Array.isArray(value)) return value.length;
  return value instanceof Map ? value.size : undefined;
};

/** Returns the value of a filter that needs a correction. Undefined for the others. */
function filterValue(name: string, operand: Value, { positional, named }: Arguments): Value | undefined {
  const argument = (index: number, key: string): Value | undefined => positional[index] ?? named.get(key);
  const items = ["list", "first", "last", "join"].includes(name) ? itemsOf(operand) : undefined;
  switch (name) {
    case "string":
      return runtimeValue(pythonText(operand));
    case "upper":
      return runtimeValue(pythonText(operand).toUpperCase());
    case "lower":
      return runtimeValue(pythonText(operand).toLowerCase());
    case "capitalize":
      return runtimeValue(capitalized(pythonText(operand)));
    case "length":
    case "count": {
      const length = operand.type === "UndefinedValue" ? 0 : lengthOf(operand);
      return length === undefined ? undefined : runtimeValue(length);
    }
    case "d":
    case "default": {
      const isEmpty = isTrue(argument(1, "boolean")) && !isTrue(operand);
      return operand.type === "UndefinedValue" || isEmpty
        ? (argument(0, "default_value") ?? runtimeValue(""))
        : operand;
    }
    case "list":
      return items === undefined ? undefined : runtimeList(items);
    case "first":
      return items === undefined ? undefined : (items[0] ?? runtimeValue(undefined));
    case "last":
      return items === undefined ? undefined : (items.at(-1) ?? runtimeValue(undefined));
    case "join": {
      if (items === undefined || named.has("attribute") || positional.length > 1) return undefined;
      const separator = argument(0, "d");
      return runtimeValue(items.map(pythonText).join(separator === undefined ? "" : pythonText(separator)));
    }
    case "items":
      return operand.type === "UndefinedValue" ? runtimeValue([]) : undefined;
    case "selectattr":
    case "rejectattr":
      // No character of a text has an attribute.
      return typeof operand.value === "string"
        ? runtimeValue(name === "selectattr" ? [] : [...operand.value])
        : undefined;
    case "tojson":
      return runtimeValue(
        pythonJson(operand, {
          ensureAscii: isTrue(argument(0, "ensure_ascii")),
          indent: argument(1, "indent")?.value as number | string | null | undefined,
          separators: separatorsOf(argument(2, "separators")),
          sortKeys: isTrue(argument(3, "sort_keys")),
        }),
      );
    default:
      return undefined;
  }
}

function itemsOf(value: Value): readonly Value[] | undefined {
  const { value: inner } = iterableOf(value);
  if (Array.isArray(inner)) return inner as Value[];
  return inner instanceof Map ? [...(inner.keys() as Iterable<string>)].map((key) => runtimeValue(key)) : undefined;
}

function isTrue(value: Value | undefined): boolean {
  if (value === undefined) return false;
  if (Array.isArray(value.value)) return value.value.length > 0;
  return value.value instanceof Map ? value.value.size > 0 : Boolean(value.value);
}

function separatorsOf(value: Value | undefined): readonly [string, string] | undefined {
  if (value === undefined || value.type === "NullValue") return undefined;
  const [item, key] = value.value as Value[];
  return [String(item?.value), String(key?.value)];
}

/** Returns a runtime value as plain texts, numbers and lists. */
function plainValue({ value }: Value): unknown {
  return Array.isArray(value) ? (value as Value[]).map(plainValue) : value;
}
