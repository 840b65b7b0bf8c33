import { textMethods } from "./python-text-methods.ts";
import { pythonText, type Value } from "./python-values.ts";
import { operatorValue } from "./template-operators.ts";
import { runtimeValue } from "./template-runtime.ts";

/** Operators that are tests with an argument. */
const operators: Readonly<Record<string, string>> = {
  in: "in",
  eq: "==",
  "==": "==",
  equalto: "==",
  ne: "!=",
  "!=": "!=",
  gt: ">",
  ">": ">",
  greaterthan: ">",
  ge: ">=",
  ">=": ">=",
  lt: "<",
  "<": "<",
  lessthan: "<",
  le: "<=",
  "<=": "<=",
};

const remainder = (value: Value, divisor: number): unknown =>
  operatorValue("%", value, runtimeValue(divisor))?.value ?? notANumber();

function notANumber(): never {
  throw new Error("only a number has a remainder");
}

const types: Readonly<Record<string, RegExp>> = {
  boolean: /^Boolean/,
  callable: /^Function/,
  false: /^Boolean/,
  float: /^Float/,
  integer: /^Integer/,
  iterable: /^(Array|Tuple|Object|String|Undefined)/,
  mapping: /^Object/,
  none: /^Null/,
  number: /^(Integer|Float|Boolean)/,
  sequence: /^(Array|Tuple|Object|String|Undefined)/,
  string: /^String/,
  true: /^Boolean/,
  undefined: /^Undefined/,
};

/** Returns Jinja's result of a test such as `is defined` or `is divisibleby(3)`. Throws for an unknown test. */
export function testResult(name: string, value: Value, given: readonly Value[]): boolean {
  const [argument, ...more] = given;
  if (argument !== undefined && more.length === 0) {
    if (name === "divisibleby") return operatorValue("%", value, argument)?.value === 0;
    if (name === "sameas") return value.type === argument.type && value.value === argument.value;
    const operator = Object.hasOwn(operators, name) ? operatorValue(operators[name]!, value, argument) : undefined;
    if (operator !== undefined) return operator.value === true;
  }
  if (given.length === 0) {
    if (name === "defined") return value.type !== "UndefinedValue";
    if (name === "odd") return remainder(value, 2) === 1;
    if (name === "even") return remainder(value, 2) === 0;
    if (name === "lower") return textMethods.islower!(pythonText(value)) === true;
    if (name === "upper") return textMethods.isupper!(pythonText(value)) === true;
    const type = Object.hasOwn(types, name) ? types[name]! : undefined;
    if (type !== undefined)
      return type.test(value.type) && !(/^(true|false)$/.test(name) && String(value.value) !== name);
  }
  throw new Error(`the test "${name}" with ${given.length} arguments is not known for ${value.type}`);
}
