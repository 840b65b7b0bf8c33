import { capitalized, strip } from "./python-text-methods.ts";
import {
  pythonCompare,
  pythonEquals,
  pythonInteger,
  pythonJson,
  pythonNumber,
  pythonText,
  pythonTruth,
  type Value,
} from "./python-values.ts";
import { operatorValue } from "./template-operators.ts";
import { runtimeFloat, runtimeInteger, runtimeList, runtimeTuple, runtimeValue } from "./template-runtime.ts";
import { testResult } from "./template-tests.ts";

/** Arguments of a filter or a method. */
export interface Arguments {
  readonly positional: readonly Value[];
  readonly named: ReadonlyMap<string, Value>;
}

/** Applies a filter by its name, as `map("upper")` does. */
export type ApplyFilter = (name: string, operand: Value, given: Arguments) => Value;

/** Returns an argument by position or by name. */
type Read = (index: number, key: string) => Value | undefined;

type Filter = (operand: Value, read: Read, given: Arguments, apply: ApplyFilter) => Value | undefined;

/** A filter of the text of a value. */
const ofText =
  (change: (text: string) => string): Filter =>
  (operand) =>
    runtimeValue(change(pythonText(operand)));

const length: Filter = (operand) => {
  const { value } = operand;
  if (typeof value === "string") return runtimeValue([...value].length);
  if (Array.isArray(value)) return runtimeValue(value.length);
  if (value instanceof Map) return runtimeValue(value.size);
  return operand.type === "UndefinedValue" ? runtimeValue(0) : undefined;
};

const defaultOf: Filter = (operand, read) => {
  const isEmpty = isTrue(read(1, "boolean")) && !pythonTruth(operand);
  return operand.type === "UndefinedValue" || isEmpty ? (read(0, "default_value") ?? runtimeValue("")) : operand;
};

/** The filters that `@huggingface/jinja` lacks, or that differ there. */
const filters: Readonly<Record<string, Filter>> = {
  abs: (operand) => {
    const number = pythonNumber(operand);
    if (number === undefined) return undefined;
    return number < 0 ? operatorValue("*", operand, runtimeValue(-1)) : operatorValue("+", operand, runtimeValue(0));
  },
  capitalize: ofText(capitalized),
  count: length,
  d: defaultOf,
  default: defaultOf,
  dictsort: (operand, read) => {
    if (!(operand.value instanceof Map)) return undefined;
    const at = read(1, "by")?.value === "value" ? 1 : 0;
    const pairs = pairsOf(operand.value as ReadonlyMap<string, Value>);
    return sorted(
      pairs,
      (pair) => (pair.value as Value[])[at]!,
      isTrue(read(0, "case_sensitive")),
      isTrue(read(2, "reverse")),
    );
  },
  first: (operand) => at(itemsOf(operand), 0),
  float: (operand, read) => {
    const number = decimal(operand);
    return number === undefined ? (read(0, "default") ?? runtimeFloat(0)) : runtimeFloat(number);
  },
  format: (operand, _read, { positional }) => runtimeValue(percentFormat(pythonText(operand), positional)),
  int: (operand, read) => integer(operand, read(1, "base")) ?? read(0, "default") ?? runtimeValue(0),
  items: (operand) => {
    if (operand.type === "UndefinedValue") return runtimeList([]);
    return operand.value instanceof Map ? runtimeList(pairsOf(operand.value as ReadonlyMap<string, Value>)) : undefined;
  },
  join: (operand, read) => {
    const separator = read(0, "d");
    const texts = itemsOf(operand)
      ?.map(attributeReader(read(1, "attribute")))
      .map(pythonText);
    return texts && runtimeValue(texts.join(separator === undefined ? "" : pythonText(separator)));
  },
  last: (operand) => at(itemsOf(operand), -1),
  length,
  list: (operand) => {
    const items = itemsOf(operand);
    return items && runtimeList(items);
  },
  lower: ofText((text) => text.toLowerCase()),
  map: (operand, read, { positional: [name, ...positional], named }, apply) => {
    const items = itemsOf(operand);
    if (name === undefined) {
      const attribute = read(0, "attribute");
      if (attribute === undefined) throw new Error("map has no filter and no attribute");
      const value = attributeReader(attribute, named.get("default"));
      return items && runtimeList(items.map(value));
    }
    return items && runtimeList(items.map((item) => apply(String(name.value), item, { positional, named })));
  },
  max: (operand, read) => extreme(operand, read, -1),
  min: (operand, read) => extreme(operand, read, 0),
  reject: (operand, _read, given) => selected(operand, given.positional, false),
  rejectattr: (operand, _read, given) => selectedByAttribute(operand, given.positional, false),
  replace: (operand, read) => {
    const [from, to, count] = [read(0, "old"), read(1, "new"), read(2, "count")];
    if (from === undefined || to === undefined || pythonText(from) === "") return undefined;
    const parts = pythonText(operand).split(pythonText(from));
    const most = count === undefined || count.type === "NullValue" ? parts.length : Number(count.value);
    if (most < 0 || most >= parts.length - 1) return runtimeValue(parts.join(pythonText(to)));
    const kept = parts.slice(most).join(pythonText(from));
    return runtimeValue([...parts.slice(0, most), kept].join(pythonText(to)));
  },
  reverse: (operand) => {
    if (typeof operand.value === "string") return runtimeValue([...operand.value].reverse().join(""));
    const items = itemsOf(operand);
    return items && runtimeList([...items].reverse());
  },
  round: (operand, read) => rounded(operand, Number(read(0, "precision")?.value ?? 0), read(1, "method")?.value),
  select: (operand, _read, given) => selected(operand, given.positional, true),
  selectattr: (operand, _read, given) => selectedByAttribute(operand, given.positional, true),
  sort: (operand, read) => {
    const items = itemsOf(operand);
    const key = attributeReader(read(2, "attribute"));
    return items && sorted(items, key, isTrue(read(1, "case_sensitive")), isTrue(read(0, "reverse")));
  },
  string: ofText((text) => text),
  sum: (operand, read) => {
    const items = itemsOf(operand)?.map(attributeReader(read(0, "attribute")));
    const add = (total: Value, item: Value): Value => operatorValue("+", total, item) ?? cannot("sum");
    return items?.reduce(add, read(1, "start") ?? runtimeValue(0));
  },
  title: ofText((text) => text.replace(/[^-\s({[<]+/gu, capitalized)),
  tojson: (operand, read) =>
    runtimeValue(
      pythonJson(operand, {
        ensureAscii: isTrue(read(0, "ensure_ascii")),
        indent: read(1, "indent")?.value as number | string | null | undefined,
        separators: separatorsOf(read(2, "separators")),
        sortKeys: isTrue(read(3, "sort_keys")),
      }),
    ),
  trim: (operand, read) => runtimeValue(strip(pythonText(operand), read(0, "chars")?.value)),
  unique: (operand, read) => {
    const key = attributeReader(read(1, "attribute"));
    const keyOf = (item: Value): Value => folded(key(item), isTrue(read(0, "case_sensitive")));
    const kept: Value[] = [];
    for (const item of itemsOf(operand) ?? cannot("unique")) {
      if (!kept.some((other) => pythonEquals(keyOf(other), keyOf(item)))) kept.push(item);
    }
    return runtimeList(kept);
  },
  upper: ofText((text) => text.toUpperCase()),
};

/** Returns Jinja's value of a filter. Undefined for filters and operands that only `@huggingface/jinja` knows. */
export function filterValue(name: string, operand: Value, given: Arguments, apply: ApplyFilter): Value | undefined {
  if (!Object.hasOwn(filters, name)) return undefined;
  const read: Read = (index, key) => given.positional[index] ?? given.named.get(key);
  return filters[name]!(operand, read, given, apply);
}

function cannot(what: string): never {
  throw new Error(`the filter ${what} cannot read this value`);
}

function isTrue(value: Value | undefined): boolean {
  return value !== undefined && pythonTruth(value);
}

/** Returns the characters of a text, the keys of an object, and nothing for an undefined value. */
export function itemsOf({ type, value }: Value): readonly Value[] | undefined {
  if (type === "UndefinedValue") return [];
  if (typeof value === "string") return [...value].map((character) => runtimeValue(character));
  if (Array.isArray(value)) return value as Value[];
  return type === "ObjectValue" ? [...(value as Map<string, Value>).keys()].map((key) => runtimeValue(key)) : undefined;
}

function at(items: readonly Value[] | undefined, index: number): Value | undefined {
  return items && (items.at(index) ?? runtimeValue(undefined));
}

/** Returns the entries of an object as tuples. */
export function pairsOf(entries: ReadonlyMap<string, Value>): Value[] {
  return [...entries].map(([key, item]) => runtimeTuple([runtimeValue(key), item]));
}

/** Returns a function that reads an attribute such as `a.b` or `0` of an item. */
function attributeReader(attribute: Value | undefined, missing?: Value): (item: Value) => Value {
  if (attribute === undefined || attribute.type === "NullValue") return (item) => item;
  const path = String(attribute.value).split(".");
  return (item) => {
    const read = (value: Value, key: string): Value => {
      const found: unknown = Array.isArray(value.value)
        ? value.value[/^\d+$/.test(key) ? Number(key) : -1]
        : value.value instanceof Map && value.value.get(key);
      return found ? (found as Value) : runtimeValue(undefined);
    };
    const value = path.reduce(read, item);
    return value.type === "UndefinedValue" ? (missing ?? value) : value;
  };
}

function passes(value: Value, [test, ...given]: readonly Value[]): boolean {
  return test === undefined ? pythonTruth(value) : testResult(String(test.value), value, given);
}

function selected(operand: Value, test: readonly Value[], isKept: boolean): Value | undefined {
  const items = itemsOf(operand);
  return items && runtimeList(items.filter((item) => passes(item, test) === isKept));
}

function selectedByAttribute(
  operand: Value,
  [attribute, ...test]: readonly Value[],
  isKept: boolean,
): Value | undefined {
  if (attribute === undefined) throw new Error("selectattr has no attribute");
  const read = attributeReader(attribute);
  return runtimeList((itemsOf(operand) ?? cannot("selectattr")).filter((item) => passes(read(item), test) === isKept));
}

/** Texts are compared without case, as Jinja does by default. */
function folded(value: Value, isCaseSensitive: boolean): Value {
  return typeof value.value === "string" && !isCaseSensitive ? runtimeValue(value.value.toLowerCase()) : value;
}

function sorted(
  items: readonly Value[],
  keyOf: (item: Value) => Value,
  isCaseSensitive: boolean,
  reverse: boolean,
): Value {
  const key = (item: Value): Value => folded(keyOf(item), isCaseSensitive);
  const order = (a: Value, b: Value): number => pythonCompare(key(a), key(b));
  // Equal items keep their order in both directions.
  return runtimeList([...items].sort(reverse ? (a, b) => order(b, a) : order));
}

function extreme(operand: Value, read: Read, index: 0 | -1): Value | undefined {
  const items = itemsOf(operand) ?? cannot("min or max");
  const key = attributeReader(read(1, "attribute"));
  const { value } = sorted(items, key, isTrue(read(0, "case_sensitive")), index === -1);
  return at(value as readonly Value[], 0);
}

/** Python's `float` of a number or a text. */
function decimal(operand: Value): number | undefined {
  const number = pythonNumber(operand);
  if (number !== undefined) return Number(number);
  const text = strip(pythonText(operand)).replaceAll(/(?<=\d)_(?=\d)/g, "");
  if (/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text)) return Number(text);
  const special = /^([+-]?)(inf|infinity|nan)$/i.exec(text);
  if (special === null || typeof operand.value !== "string") return undefined;
  return special[2]!.toLowerCase() === "nan" ? Number.NaN : special[1] === "-" ? -Infinity : Infinity;
}

/** Python's `int` of a number or a text. */
function integer(operand: Value, base: Value | undefined): Value | undefined {
  const whole = pythonInteger(operand);
  if (whole !== undefined) return runtimeInteger(whole);
  const radix = Number(base?.value ?? 10);
  if (typeof operand.value === "string") {
    const [, sign, prefix = "", digits = ""] =
      /^([+-]?)(0[xob])?_?([0-9a-z]+(?:_[0-9a-z]+)*)$/i.exec(strip(operand.value)) ?? [];
    const named = { "0b": 2, "0o": 8, "0x": 16 }[prefix.toLowerCase()];
    const plain = digits.replaceAll("_", "");
    const isInRadix = [...plain].every((digit) => Number.parseInt(digit, 36) < radix);
    if (plain !== "" && isInRadix && (prefix === "" || named === radix)) {
      const value = [...plain].reduce((sum, digit) => sum * BigInt(radix) + BigInt(Number.parseInt(digit, 36)), 0n);
      return runtimeInteger(sign === "-" ? -value : value);
    }
  }
  const number = decimal(operand);
  return number === undefined || !Number.isFinite(number) ? undefined : runtimeInteger(BigInt(Math.trunc(number)));
}

/** Rounds to an even digit if the number is exactly in the middle. */
function rounded(operand: Value, precision: number, method: unknown): Value | undefined {
  const number = pythonNumber(operand);
  if (number === undefined || precision < 0) return undefined;
  const scale = 10 ** precision;
  if (method === "ceil" || method === "floor") return runtimeFloat(Math[method](Number(number) * scale) / scale);
  if (operand.type !== "FloatValue") return operatorValue("+", operand, runtimeValue(0));
  if (!Number.isFinite(number as number) || Math.abs(number as number) >= 1e21) return operand;
  const exact = (number as number).toFixed(100);
  const digits = exact.slice(0, exact.indexOf(".") + 1 + precision);
  const isMiddle = /^50*$/.test(exact.slice(digits.length));
  const isEven = /[02468]\.?$/.test(digits);
  return runtimeFloat(Number(isMiddle && isEven ? digits : (number as number).toFixed(precision)));
}

function separatorsOf(value: Value | undefined): readonly [string, string] | undefined {
  if (value === undefined || value.type === "NullValue") return undefined;
  const [item, key] = value.value as Value[];
  return [String(item?.value), String(key?.value)];
}

/** Python's `%` of a text with `%s` and `%d`. Other fields are refused. */
export function percentFormat(text: string, values: readonly Value[]): string {
  let next = 0;
  const result = text.replace(/%(.?)/gsu, (field, kind: string) => {
    if (kind === "%") return "%";
    const value = values[next++];
    const number = value && pythonNumber(value);
    if (value !== undefined && kind === "s") return pythonText(value);
    if (number !== undefined && kind === "d") return String(typeof number === "number" ? Math.trunc(number) : number);
    throw new Error(`the field ${field} of a format is not known or has no value`);
  });
  if (next < values.length) throw new Error("a format has fewer fields than values");
  return result;
}
