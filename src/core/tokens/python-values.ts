/** A value of `@huggingface/jinja`. Items of lists and entries of objects (Maps) are such values too. */
export interface Value {
  readonly type: string;
  readonly value: unknown;
}

/** Returns Python's `str` of a value, which templates write. An undefined value is an empty text. */
export function pythonText(value: Value): string {
  if (value.type === "UndefinedValue") return "";
  return typeof value.value === "string" ? value.value : pythonRepr(value);
}

function pythonRepr({ type, value }: Value): string {
  if (type === "UndefinedValue") return "Undefined";
  if (type === "NullValue") return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "number") return type === "FloatValue" ? pythonFloat(value) : String(value);
  if (typeof value === "string") return quoted(value);
  if (Array.isArray(value)) {
    const items = (value as Value[]).map(pythonRepr).join(", ");
    if (type !== "TupleValue") return `[${items}]`;
    return value.length === 1 ? `(${items},)` : `(${items})`;
  }
  if (!(value instanceof Map)) return String(value);
  return `{${[...(value as Map<string, Value>)].map(([key, item]) => `${quoted(key)}: ${pythonRepr(item)}`).join(", ")}}`;
}

/** Returns the shortest decimal form of a float, with an exponent where Python writes one. */
export function pythonFloat(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e16)) {
    return value.toExponential().replace(/e([+-])(\d)$/, "e$10$2");
  }
  if (Object.is(value, -0)) return "-0.0";
  return Number.isInteger(value) ? `${value}.0` : String(value);
}

/** Private-use characters stay: they mark content. */
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu;

function quoted(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const names: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };
  const escaped = text
    .replaceAll("\\", "\\\\")
    .replaceAll(quote, `\\${quote}`)
    .replace(unprintable, (character) => {
      const code = character.codePointAt(0)!;
      const hex = code.toString(16);
      return names[character] ?? (code < 256 ? `\\x${hex.padStart(2, "0")}` : `\\u${hex.padStart(4, "0")}`);
    });
  return quote + escaped + quote;
}

/** Returns the value of a number. A boolean is 0 or 1. Undefined for other values. */
export function pythonNumber({ value }: Value): number | bigint | undefined {
  if (typeof value === "boolean") return Number(value);
  return typeof value === "number" || typeof value === "bigint" ? value : undefined;
}

/** Returns the value of an integer or a boolean. Undefined for floats and other values. */
export function pythonInteger(value: Value): bigint | undefined {
  const number = value.type === "FloatValue" ? undefined : pythonNumber(value);
  return number === undefined ? undefined : BigInt(number);
}

/** True for a value that a condition takes for true. */
export function pythonTruth({ type, value }: Value): boolean {
  if (Array.isArray(value)) return value.length > 0;
  return value instanceof Map ? value.size > 0 || type !== "ObjectValue" : Boolean(value);
}

/** True if the values are equal in Python: numbers and booleans by value, lists and objects by content. */
export function pythonEquals(left: Value, right: Value): boolean {
  const [a, b] = [left.value, right.value];
  if (left.type === "UndefinedValue" || right.type === "UndefinedValue") return left.type === right.type;
  const [number, other] = [pythonNumber(left), pythonNumber(right)];
  if (number !== undefined && other !== undefined) return number <= other && number >= other;
  if (Array.isArray(a) && Array.isArray(b)) {
    const isSameType = (left.type === "TupleValue") === (right.type === "TupleValue");
    return isSameType && a.length === b.length && (a as Value[]).every((item, i) => pythonEquals(item, b[i] as Value));
  }
  if (a instanceof Map && b instanceof Map) {
    return a.size === b.size && [...a].every(([key, item]) => b.has(key) && pythonEquals(item, b.get(key)));
  }
  return left.type === "NullValue" || right.type === "NullValue" ? left.type === right.type : a === b;
}

/**
 * Returns a negative number, 0 or a positive number for the order of two numbers, two texts, two lists or two tuples in
 * Python, and `NaN` for numbers without an order. Throws for other pairs.
 */
export function pythonCompare(left: Value, right: Value): number {
  const [number, other] = [pythonNumber(left), pythonNumber(right)];
  if (number !== undefined && other !== undefined) {
    if (number < other) return -1;
    if (number > other) return 1;
    return number <= other ? 0 : Number.NaN;
  }
  const [a, b] = [left.value, right.value];
  if (typeof a === "string" && typeof b === "string") return compareTexts(a, b);
  if (!Array.isArray(a) || !Array.isArray(b) || left.type !== right.type) {
    throw new Error(`no order between ${left.type} and ${right.type}`);
  }
  const at = (a as Value[]).findIndex((item, i) => i >= b.length || !pythonEquals(item, b[i] as Value));
  return at < 0 || at >= b.length ? a.length - b.length : pythonCompare(a[at] as Value, b[at] as Value);
}

/** By code points. JavaScript compares halves of surrogate pairs. */
function compareTexts(a: string, b: string): number {
  const [left, right] = [[...a], [...b]];
  const at = left.findIndex((character, i) => character !== right[i]);
  return at < 0 || at >= right.length
    ? left.length - right.length
    : left[at]!.codePointAt(0)! - right[at]!.codePointAt(0)!;
}

/** The options of {@link pythonJson}. */
export interface PythonJsonOptions {
  readonly ensureAscii: boolean;
  readonly indent: number | string | null | undefined;
  readonly separators: readonly [item: string, key: string] | undefined;
  readonly sortKeys: boolean;
}

/** Returns Python's `json.dumps` of a value. Throws for a value that JSON cannot represent. */
export function pythonJson(value: Value, options: PythonJsonOptions): string {
  const { ensureAscii, indent = null, sortKeys } = options;
  const step = typeof indent === "number" ? " ".repeat(indent) : indent;
  const [itemSeparator, keySeparator] = options.separators ?? [step === null ? ", " : ",", ": "];
  const text = (written: string): string => {
    const json = JSON.stringify(written);
    if (!ensureAscii) return json;
    return json.replace(/[\x7f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
  };
  const wrap = (items: readonly string[], [open, close]: readonly [string, string], depth: number): string => {
    if (items.length === 0) return open + close;
    const line = (level: number): string => (step === null ? "" : `\n${step.repeat(level)}`);
    return open + line(depth + 1) + items.join(itemSeparator + line(depth + 1)) + line(depth) + close;
  };
  const write = ({ type, value: inner }: Value, depth: number): string => {
    if (typeof inner === "string") return text(inner);
    if (type === "NullValue") return "null";
    if (typeof inner === "boolean") return String(inner);
    if (typeof inner === "bigint") return String(inner);
    if (typeof inner === "number") return type === "FloatValue" ? jsonFloat(inner) : String(inner);
    if (Array.isArray(inner))
      return wrap(
        (inner as Value[]).map((item) => write(item, depth + 1)),
        ["[", "]"],
        depth,
      );
    if (type !== "ObjectValue") throw new Error(`a value of type ${type} is not JSON`);
    const entries = [...(inner as Map<string, Value>)];
    if (sortKeys) entries.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
    const items = entries.map(([key, item]) => text(key) + keySeparator + write(item, depth + 1));
    return wrap(items, ["{", "}"], depth);
  };
  return write(value, 0);
}

function jsonFloat(value: number): string {
  if (Number.isFinite(value)) return pythonFloat(value);
  return Number.isNaN(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
}
