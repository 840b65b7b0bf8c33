import { pythonCompare, pythonEquals, pythonInteger, pythonNumber, pythonText, type Value } from "./python-values.ts";
import { runtimeFloat, runtimeInteger, runtimeList, runtimeTuple, runtimeValue } from "./template-runtime.ts";

const ordering: Readonly<Record<string, (order: number) => boolean>> = {
  "<": (order) => order < 0,
  "<=": (order) => order <= 0,
  ">": (order) => order > 0,
  ">=": (order) => order >= 0,
};

/** True for `<`, `==`, `in` and so on, which Python chains: `1 < x < 5`. */
export function isComparison(operator: string): boolean {
  return operator in ordering || ["==", "!=", "in", "not in"].includes(operator);
}

/** Returns Python's value of an operator. Undefined for operands that only `@huggingface/jinja` knows. */
export function operatorValue(operator: string, left: Value, right: Value): Value | undefined {
  if (operator === "==") return runtimeValue(pythonEquals(left, right));
  if (operator === "!=") return runtimeValue(!pythonEquals(left, right));
  if (operator === "~") return runtimeValue(pythonText(left) + pythonText(right));
  if (operator in ordering) return runtimeValue(ordering[operator]!(pythonCompare(left, right)));
  if (operator === "in" || operator === "not in") return runtimeValue(isMember(left, right) === (operator === "in"));
  if (pythonNumber(left) !== undefined && pythonNumber(right) !== undefined) return arithmetic(operator, left, right);
  if (operator === "*") return repeated(left, right) ?? repeated(right, left);
  if (operator === "+" && (typeof left.value === "string") !== (typeof right.value === "string")) {
    throw new Error("can only concatenate a text to a text");
  }
  if (operator === "+" && Array.isArray(left.value) && Array.isArray(right.value)) {
    if (left.type !== right.type) throw new Error("can only concatenate a list to a list, and a tuple to a tuple");
    return sequence(left, [...(left.value as Value[]), ...(right.value as Value[])]);
  }
  return undefined;
}

function isMember({ type, value }: Value, container: Value): boolean {
  const { value: items } = container;
  if (Array.isArray(items)) return (items as Value[]).some((item) => pythonEquals({ type, value }, item));
  if (items instanceof Map) return items.has(value);
  if (typeof items === "string" && typeof value === "string") return items.includes(value);
  if (container.type === "UndefinedValue") return false;
  throw new Error(`no ${type} is in a value of type ${container.type}`);
}

/** Returns a list or a tuple, as `like` is. */
function sequence(like: Value, values: readonly Value[]): Value {
  return like.type === "TupleValue" ? runtimeTuple(values) : runtimeList(values);
}

function repeated(sequenceOrText: Value, times: Value): Value | undefined {
  const { value } = sequenceOrText;
  const count = Math.max(0, Number(pythonInteger(times)));
  if (Number.isNaN(count)) return undefined;
  if (typeof value === "string") return runtimeValue(value.repeat(count));
  if (!Array.isArray(value)) return undefined;
  if (value.length * count > 100_000) throw new Error("it creates a list of more than 100000 items");
  return sequence(sequenceOrText, Array.from({ length: count }, () => value as Value[]).flat());
}

/** Python writes no integer of more digits. */
const mostBits = 14_000;

function arithmetic(operator: string, left: Value, right: Value): Value | undefined {
  const [a, b] = [pythonInteger(left), pythonInteger(right)];
  const isDivision = operator === "/" || operator === "//" || operator === "%";
  if (isDivision && Number(pythonNumber(right)) === 0) throw new Error("division by zero");
  if (a === undefined || b === undefined || operator === "/" || (operator === "**" && b < 0n)) {
    return floatArithmetic(operator, Number(pythonNumber(left)), Number(pythonNumber(right)));
  }
  switch (operator) {
    case "+":
      return runtimeInteger(a + b);
    case "-":
      return runtimeInteger(a - b);
    case "*":
      return runtimeInteger(a * b);
    case "//":
      return runtimeInteger((a - floorModulo(a, b)) / b);
    case "%":
      return runtimeInteger(floorModulo(a, b));
    case "**":
      if (BigInt(a.toString(2).length) * b > mostBits) throw new Error("the power is too large");
      return runtimeInteger(a ** b);
    default:
      return undefined;
  }
}

/** The remainder has the sign of the divisor. */
function floorModulo(a: bigint, b: bigint): bigint {
  const remainder = a % b;
  return remainder !== 0n && remainder < 0n !== b < 0n ? remainder + b : remainder;
}

function floatArithmetic(operator: string, a: number, b: number): Value | undefined {
  switch (operator) {
    case "+":
      return runtimeFloat(a + b);
    case "-":
      return runtimeFloat(a - b);
    case "*":
      return runtimeFloat(a * b);
    case "/":
      return runtimeFloat(a / b);
    case "//":
      return runtimeFloat(Math.floor(a / b));
    case "%": {
      const remainder = a % b;
      return runtimeFloat(remainder !== 0 && remainder < 0 !== b < 0 ? remainder + b : remainder);
    }
    default:
      // A power of floats, whose errors `@huggingface/jinja` has.
      return undefined;
  }
}
