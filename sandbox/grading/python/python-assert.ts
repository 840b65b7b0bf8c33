import { match } from "ts-pattern";
import type { PlainValue } from "../../plain-value.ts";
import { readFloat } from "../../plain-value-conversion.ts";
import type { Comparator } from "../comparator.ts";
import type { CallTest } from "../test-suite.ts";
import { pythonConstant } from "./python-constant.ts";
import {
  type BinaryExpression,
  type CallExpression,
  type PythonExpression,
  parsePythonExpression,
} from "./python-expression.ts";
import type { PythonStatement } from "./python-statements.ts";

/** The meaning of an assert: a statement about a call, or nothing. */
export type AssertedCall =
  | { readonly kind: "call"; readonly function: string; readonly test: CallTest }
  /** `assert True`. */
  | { readonly kind: "nothing" };

/**
 * Converts an assert to a call and its expected result. The verdict is the same for every plain value that the call may
 * return. Undefined for other statements, and for asserts that no comparator can express. Supported forms: `f(...) ==
 * constant` in either order, `f(...) is` True, False or None, `f(...)`, `not f(...)`, `abs(f(...) - constant) <
 * constant`, and `math.isclose(f(...), constant, ...)`. Arguments are constants. f is any name, so the caller must
 * check that it is the function under test.
 */
export function readPythonAssert(statement: PythonStatement): AssertedCall | undefined {
  const [keyword, ...tokens] = statement.tokens;
  if (keyword?.text !== "assert" || statement.body.length > 0) return undefined;
  const parsed = parsePythonExpression(tokens);
  if (parsed === undefined) return undefined;
  // A message may follow.
  const after = tokens[parsed.length];
  if (after !== undefined && after.text !== ",") return undefined;
  return readCondition(parsed.expression);
}

function readCondition(condition: PythonExpression): AssertedCall | undefined {
  return match(condition)
    .returnType<AssertedCall | undefined>()
    .with({ kind: "name", name: "True" }, () => ({ kind: "nothing" }))
    .with({ kind: "call" }, (call) => readCloseness(call) ?? asserted(call, null, { kind: "truthy" }))
    .with({ kind: "unary", operator: "not" }, ({ operand }) => asserted(operand, null, { kind: "falsy" }))
    .with({ kind: "compare" }, readComparison)
    .otherwise(() => undefined);
}

function readComparison({ operator, left, right }: BinaryExpression): AssertedCall | undefined {
  const [a, b] = [pythonConstant(left), pythonConstant(right)];
  const [call, expected] = a === undefined ? [left, b] : [right, a];
  if (expected === undefined) return undefined;
  if (operator === "==") return asserted(call, expected);
  if (operator === "is") {
    const isSingle = expected === null || typeof expected === "boolean";
    return isSingle ? asserted(call, expected, { kind: "strict" }) : undefined;
  }
  return a === undefined && (operator === "<" || operator === "<=")
    ? readDistance(left, operator, expected)
    : undefined;
}

/** `abs(f(...) - constant) < limit`, or `constant - f(...)`. */
function readDistance(left: PythonExpression, operator: "<" | "<=", limit: PlainValue): AssertedCall | undefined {
  const absolute = numberOf(limit);
  if (left.kind !== "call" || !isNamed(left.callee, ["abs"], ["math", "fabs"])) return undefined;
  const [difference, ...others] = left.args;
  if (difference?.kind !== "binary" || difference.operator !== "-" || others.length + left.kwargs.length > 0) {
    return undefined;
  }
  const [a, b] = [pythonConstant(difference.left), pythonConstant(difference.right)];
  const [call, expected] = a === undefined ? [difference.left, b] : [difference.right, a];
  if (absolute === undefined || !(absolute > 0) || expected === undefined || numberOf(expected) === undefined) {
    return undefined;
  }
  return asserted(call, expected, { kind: "close", absolute: operator === "<" ? below(absolute) : absolute });
}

/** `math.isclose(f(...), constant, rel_tol=..., abs_tol=...)`. */
function readCloseness({ callee, args, kwargs }: CallExpression): AssertedCall | undefined {
  if (!isNamed(callee, ["math", "isclose"], ["isclose"]) || args.length !== 2) return undefined;
  const [left, right] = args as [PythonExpression, PythonExpression];
  const [a, b] = [pythonConstant(left), pythonConstant(right)];
  const [call, expected] = a === undefined ? [left, b] : [right, a];
  if (expected === undefined || numberOf(expected) === undefined) return undefined;
  const tolerances = { rel_tol: 1e-9, abs_tol: 0 };
  for (const [name, value] of kwargs) {
    const constant = pythonConstant(value);
    const number = constant === undefined ? undefined : numberOf(constant);
    if (number === undefined || !(number >= 0) || !(name in tolerances)) return undefined;
    tolerances[name as keyof typeof tolerances] = number;
  }
  return asserted(call, expected, { kind: "close", relative: tolerances.rel_tol, absolute: tolerances.abs_tol });
}

function asserted(call: PythonExpression, expected: PlainValue, comparator?: Comparator): AssertedCall | undefined {
  if (call.kind !== "call" || call.callee.kind !== "name") return undefined;
  const args = call.args.map(pythonConstant);
  const kwargs = call.kwargs.map(([name, value]) => [name, pythonConstant(value)] as const);
  if (args.includes(undefined) || kwargs.some(([, value]) => value === undefined)) return undefined;
  const test: CallTest = {
    args: args as PlainValue[],
    ...(kwargs.length === 0 ? {} : { kwargs: Object.fromEntries(kwargs as [string, PlainValue][]) }),
    expected,
    ...(comparator === undefined ? {} : { comparator }),
  };
  return { kind: "call", function: call.callee.name, test };
}

/** True if an expression is one of these dotted names. */
function isNamed(expression: PythonExpression, ...names: readonly (readonly string[])[]): boolean {
  const path: string[] = [];
  let at = expression;
  for (; at.kind === "attribute"; at = at.of) path.unshift(at.name);
  if (at.kind !== "name") return false;
  path.unshift(at.name);
  return names.some((name) => name.join(".") === path.join("."));
}

function numberOf(value: PlainValue): number | undefined {
  if (value === null || typeof value !== "object") return undefined;
  const number = "int" in value ? Number(value.int) : "float" in value ? readFloat(value.float) : undefined;
  return Number.isFinite(number) ? number : undefined;
}

/** Returns the largest float below a positive one. A number less than `limit` is at most that float. */
function below(limit: number): number {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, limit);
  view.setBigUint64(0, view.getBigUint64(0) - 1n);
  return view.getFloat64(0);
}
