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

/** True if the values are equal in Python: numbers and booleans by value, lists and objects by content. */
export function pythonEquals(left: Value, right: Value): boolean {
  const [a, b] = [left.value, right.value];
  if (left.type === "UndefinedValue" || right.type === "UndefinedValue") return left.type === right.type;
  const isNumber = (value: unknown): value is number | boolean =>
    typeof value === "number" || typeof value === "boolean";
  if (isNumber(a) && isNumber(b)) return Number(a) === Number(b);
  if (Array.isArray(a) && Array.isArray(b)) {
    const isSameType = (left.type === "TupleValue") === (right.type === "TupleValue");
    return isSameType && a.length === b.length && (a as Value[]).every((item, i) => pythonEquals(item, b[i] as Value));
  }
  if (a instanceof Map && b instanceof Map) {
    return a.size === b.size && [...a].every(([key, item]) => b.has(key) && pythonEquals(item, b.get(key)));
  }
  return left.type === "NullValue" || right.type === "NullValue" ? left.type === right.type : a === b;
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
