import { match } from "ts-pattern";
import type { PlainValue } from "../../plain-value.ts";
import { plainFloat, readFloat } from "../../plain-value-conversion.ts";
import { pythonKey } from "../../plain-value-equality.ts";
import type { CallExpression, PythonExpression } from "./python-expression.ts";
import { readPythonString } from "./python-string.ts";

/**
 * Evaluates an expression of constants: literals, signs, arithmetic of ints and floats, joined and repeated strings and
 * lists, and `set`, `frozenset`, `tuple`, `list`, `dict`, `float` of constants. Undefined if Python would raise an
 * error, or if its result is not certain to the bit.
 */
export function pythonConstant(expression: PythonExpression): PlainValue | undefined {
  return match(expression)
    .returnType<PlainValue | undefined>()
    .with({ kind: "number" }, ({ text }) => readNumber(text))
    .with({ kind: "string" }, ({ text }) => readPythonString(text))
    .with({ kind: "name" }, ({ name }) => (name === "None" ? null : { True: true, False: false }[name]))
    .with({ kind: "list" }, ({ items }) => mapped(constants(items), (list) => ({ list })))
    .with({ kind: "tuple" }, ({ items }) => mapped(constants(items), (tuple) => ({ tuple })))
    .with({ kind: "set" }, ({ items }) => mapped(constants(items), asSet))
    .with({ kind: "dict" }, ({ entries }) =>
      asDict(constants(entries.map(([key]) => key)), constants(entries.map(([, value]) => value))),
    )
    .with({ kind: "unary" }, ({ operator, operand }) =>
      mapped(pythonConstant(operand), (value) => signed(operator, value)),
    )
    .with({ kind: "binary" }, ({ operator, left, right }) => {
      const [a, b] = [pythonConstant(left), pythonConstant(right)];
      return a === undefined || b === undefined ? undefined : combined(a, operator, b);
    })
    .with({ kind: "call" }, constructed)
    .otherwise(() => undefined);
}

function mapped<T, R>(value: T | undefined, change: (value: T) => R): R | undefined {
  return value === undefined ? undefined : change(value);
}

/** The maximum length of a string or a collection. Real tests are shorter. */
const maxLength = 1_000_000;

function constants(expressions: readonly PythonExpression[]): PlainValue[] | undefined {
  const values = expressions.map(pythonConstant);
  return values.includes(undefined) ? undefined : (values as PlainValue[]);
}

function readNumber(text: string): PlainValue | undefined {
  const plain = text.replaceAll("_", "").toLowerCase();
  if (/^0[xob]/.test(plain)) return { int: String(BigInt(plain)) };
  if (plain.endsWith("j")) {
    const imaginary = finite(Number(plain.slice(0, -1)));
    return imaginary && { complex: ["0.0", imaginary.float] };
  }
  if (/[.e]/.test(plain)) return finite(Number(plain));
  return /^0+[1-9]/.test(plain) ? undefined : { int: String(BigInt(plain)) };
}

/** Returns a number as a plain float. Undefined if it is infinite or NaN. */
function finite(number: number): { readonly float: string } | undefined {
  return Number.isFinite(number) ? (plainFloat(number) as { readonly float: string }) : undefined;
}

function signed(operator: string, operand: PlainValue): PlainValue | undefined {
  if (operator === "not") return undefined;
  const number = numberOf(operand);
  if (typeof number === "bigint") {
    return { int: String({ "-": -number, "+": number, "~": ~number }[operator]) };
  }
  if (operator === "~") return undefined;
  if (number !== undefined) return plainFloat(operator === "-" ? -number : number);
  if (operand === null || typeof operand !== "object" || !("complex" in operand)) return undefined;
  if (operator === "+") return operand;
  const [real, imaginary] = operand.complex.map((part) => plainFloat(-readFloat(part)) as { readonly float: string });
  return { complex: [real!.float, imaginary!.float] };
}

/** Returns the number of an int, a bool or a float. */
function numberOf(value: PlainValue): bigint | number | undefined {
  if (typeof value === "boolean") return value ? 1n : 0n;
  if (value === null || typeof value !== "object") return undefined;
  if ("int" in value) return BigInt(value.int);
  return "float" in value ? readFloat(value.float) : undefined;
}

function combined(left: PlainValue, operator: string, right: PlainValue): PlainValue | undefined {
  const [a, b] = [numberOf(left), numberOf(right)];
  if (a !== undefined && b !== undefined) return calculated(a, operator, b);
  if (operator === "+") return joined(left, right) ?? complexSum(left, right);
  if (operator === "-") {
    const negated = signed("-", right);
    return negated && complexSum(left, negated);
  }
  if (operator !== "*") return undefined;
  if (typeof b === "bigint") return repeated(left, b);
  return typeof a === "bigint" ? repeated(right, a) : undefined;
}

function calculated(a: bigint | number, operator: string, b: bigint | number): PlainValue | undefined {
  if (typeof a === "bigint" && typeof b === "bigint" && operator !== "/") {
    const result = integerResult(a, operator, b);
    return result === undefined ? undefined : { int: String(result) };
  }
  // If no float represents an int exactly, each operation rounds it differently.
  const [x, y] = [Number(a), Number(b)];
  if (!isExact(a) || !isExact(b)) return undefined;
  switch (operator) {
    case "+":
      return finite(x + y);
    case "-":
      return finite(x - y);
    case "*":
      return finite(x * y);
    case "/":
      return y === 0 ? undefined : finite(x / y);
    default:
      return undefined;
  }
}

function isExact(number: bigint | number): boolean {
  if (typeof number !== "bigint") return true;
  const float = Number(number);
  return Number.isFinite(float) && BigInt(float) === number;
}

function integerResult(a: bigint, operator: string, b: bigint): bigint | undefined {
  switch (operator) {
    case "+":
      return a + b;
    case "-":
      return a - b;
    case "*":
      return a * b;
    case "**":
      return b < 0n || b > 10_000n || (b > 100n && (a > 1_000n || a < -1_000n)) ? undefined : a ** b;
    case "//":
    case "%": {
      if (b === 0n) return undefined;
      // Python rounds down, JavaScript towards zero.
      const below = a % b !== 0n && a < 0n !== b < 0n;
      return operator === "//" ? a / b - (below ? 1n : 0n) : (a % b) + (below ? b : 0n);
    }
    default:
      return undefined;
  }
}

function joined(left: PlainValue, right: PlainValue): PlainValue | undefined {
  if (typeof left === "string" && typeof right === "string") return left + right;
  if (left === null || right === null || typeof left !== "object" || typeof right !== "object") return undefined;
  if ("list" in left && "list" in right) return { list: [...left.list, ...right.list] };
  if ("tuple" in left && "tuple" in right) return { tuple: [...left.tuple, ...right.tuple] };
  if (!("bytes" in left && "bytes" in right)) return undefined;
  const parts = [left.bytes, right.bytes].map((bytes) => Buffer.from(bytes, "base64"));
  return { bytes: Buffer.concat(parts).toString("base64") };
}

function complexSum(left: PlainValue, right: PlainValue): PlainValue | undefined {
  const [a, b] = [complexOf(left), complexOf(right)];
  if (a === undefined || b === undefined) return undefined;
  // Versions of Python differ in the sign of an imaginary zero.
  if (a[1] + b[1] === 0) return undefined;
  const [real, imaginary] = [finite(a[0] + b[0]), finite(a[1] + b[1])];
  return real && imaginary && { complex: [real.float, imaginary.float] };
}

function complexOf(value: PlainValue): readonly [number, number] | undefined {
  const number = numberOf(value);
  if (number !== undefined) return [Number(number), 0];
  if (value === null || typeof value !== "object" || !("complex" in value)) return undefined;
  return [readFloat(value.complex[0]), readFloat(value.complex[1])];
}

function repeated(value: PlainValue, times: bigint): PlainValue | undefined {
  if (times > maxLength || times < -maxLength) return undefined;
  const count = Math.max(0, Number(times));
  const repeat = (items: readonly PlainValue[]): PlainValue[] | undefined =>
    items.length === 0
      ? []
      : items.length * count > maxLength
        ? undefined
        : Array.from({ length: count }, () => items).flat();
  if (typeof value === "string") return value.length * count > maxLength ? undefined : value.repeat(count);
  if (value === null || typeof value !== "object") return undefined;
  if ("list" in value) {
    const list = repeat(value.list);
    return list && { list };
  }
  if (!("tuple" in value)) return undefined;
  const tuple = repeat(value.tuple);
  return tuple && { tuple };
}

function constructed({ callee, args, kwargs }: CallExpression): PlainValue | undefined {
  if (callee.kind !== "name" || kwargs.length > 0 || args.length > 1) return undefined;
  const [argument] = args;
  const value = argument === undefined ? undefined : pythonConstant(argument);
  if (argument !== undefined && value === undefined) return undefined;
  const items = value === undefined ? [] : itemsOf(value);
  switch (callee.name) {
    case "set":
      return items && asSet(items);
    case "frozenset": {
      const set = items && asSet(items);
      return set && { frozenset: set.set };
    }
    case "list":
      return items && { list: items };
    case "tuple":
      return items && { tuple: items };
    case "dict":
      if (value === undefined) return { dict: [] };
      return value !== null && typeof value === "object" && "dict" in value ? value : undefined;
    case "float": {
      if (value === undefined) return { float: "0.0" };
      const special = typeof value === "string" ? /^([+-]?)(inf|nan)(?:inity)?$/i.exec(value.trim()) : null;
      if (special !== null) {
        const isNan = special[2]!.toLowerCase() === "nan";
        return { float: isNan ? "nan" : special[1] === "-" ? "-inf" : "inf" };
      }
      const number = numberOf(value);
      return number === undefined ? undefined : calculated(number, "+", -0);
    }
    default:
      return undefined;
  }
}

/** Returns the items of an iteration over a constant. Undefined for a set, whose order is unknown. */
function itemsOf(value: PlainValue): readonly PlainValue[] | undefined {
  if (typeof value === "string") return Array.from(value);
  if (value === null || typeof value !== "object") return undefined;
  if ("list" in value) return value.list;
  if ("tuple" in value) return value.tuple;
  return "dict" in value ? value.dict.map(([key]) => key) : undefined;
}

/** Removes equal items and keeps the first. Undefined if an item is unhashable or nan, whose equality is unknown. */
function asSet(items: readonly PlainValue[]): { readonly set: readonly PlainValue[] } | undefined {
  const byKey = new Map<string, PlainValue>();
  for (const item of items) {
    const key = hashKey(item);
    if (key === undefined) return undefined;
    if (!byKey.has(key)) byKey.set(key, item);
  }
  return { set: [...byKey.values()] };
}

/** Of equal keys, keeps the first key with the last value. */
function asDict(keys: PlainValue[] | undefined, values: PlainValue[] | undefined): PlainValue | undefined {
  if (keys === undefined || values === undefined) return undefined;
  const byKey = new Map<string, readonly [PlainValue, PlainValue]>();
  for (const [i, key] of keys.entries()) {
    const text = hashKey(key);
    if (text === undefined) return undefined;
    byKey.set(text, [byKey.get(text)?.[0] ?? key, values[i]!]);
  }
  return { dict: [...byKey.values()] };
}

function hashKey(value: PlainValue): string | undefined {
  return isHashable(value) ? pythonKey(value) : undefined;
}

function isHashable(value: PlainValue): boolean {
  if (value === null || typeof value !== "object") return true;
  if ("tuple" in value) return value.tuple.every(isHashable);
  return !("list" in value || "set" in value || "dict" in value);
}
