/** Thrown for a value that cannot be a plain value. */
export interface Unsupported {
  readonly reason: string;
}

/** Reads and writes the JSON of plain values. */
export interface PlainCodec {
  /** Encodes a value in at most `budget` characters. Throws `tooLarge`, or an {@link Unsupported}. */
  encode(value: unknown, budget: number): string;
  /** Decodes parsed JSON. Reuses and changes the given object. */
  decode(plain: unknown): unknown;
  readonly tooLarge: unknown;
  isUnsupported(error: unknown): error is Unsupported;
}

/** The options of a codec. All are own properties, so that prototypes cannot change them. */
export interface PlainCodecOptions {
  depth: number;
  /** Returns JSON for a value that is not plain. Without it, such values are refused. */
  refer: ((value: unknown) => string | undefined) | undefined;
  /** Returns the value for such JSON. */
  resolve: ((reference: unknown) => unknown) | undefined;
}

/**
 * The codec of an isolate. Sent there as source text, so it refers to nothing outside itself. It saves the built-ins
 * that it needs before the code can change them, calls no method of a value that it reads, and accepts exact types
 * only. Its options may be filled in later. Traps of a proxy run in the isolate, under its limits.
 */
export function createPlainCodec(options: PlainCodecOptions): PlainCodec {
  const { apply, ownKeys, getPrototypeOf, getOwnPropertyDescriptor, defineProperty } = Reflect;
  const { hasOwn } = Object;
  const { isArray } = Array;
  const quote = JSON.stringify;
  const isNotANumber = Number.isNaN;
  const toBigInt = BigInt;
  const { asIntN } = BigInt;
  const NewMap = Map;
  const NewSet = Set;
  const Bytes = Uint8Array;
  const arrayPrototype = Array.prototype;
  const objectPrototype = Object.prototype;
  const mapPrototype = Map.prototype;
  const setPrototype = Set.prototype;
  const bytesPrototype = Uint8Array.prototype;
  const mapForEach = Map.prototype.forEach;
  const setForEach = Set.prototype.forEach;
  const mapSet = Map.prototype.set;
  const setAdd = Set.prototype.add;
  const bytesLength = getOwnPropertyDescriptor(getPrototypeOf(Uint8Array.prototype)!, "length")!.get!;
  const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  let digitValues: Record<string, number> | undefined;
  const tooLarge = { reason: "too large" };
  const refusals = new WeakSet<object>();
  const { has, add } = WeakSet.prototype;
  let left = 0;

  const refuse = (reason: string): never => {
    const refusal = { reason };
    apply(add, refusals, [refusal]);
    throw refusal;
  };
  const spend = (text: string): string => {
    left -= text.length;
    if (left < 0) throw tooLarge;
    return text;
  };
  const encodeNumber = (value: number): string => {
    if (isNotANumber(value)) return "nan";
    if (value === 1 / 0) return "inf";
    if (value === -1 / 0) return "-inf";
    return value === 0 && 1 / value < 0 ? "-0.0" : `${value}`;
  };
  /** V8 cannot be interrupted while it writes the digits of an integer, which could take hours. */
  const digitsOf = (value: bigint): string => {
    if (left < 1 / 0 && asIntN(4 * left, value) !== value) throw tooLarge;
    return `${value}`;
  };
  const encodeBytes = (value: unknown): string => {
    const length = apply(bytesLength, value, []) as number;
    if (length > left) throw tooLarge;
    const bytes = value as Uint8Array;
    let text = "";
    for (let i = 0; i < length; i += 3) {
      const bits = (bytes[i]! << 16) | ((bytes[i + 1] ?? 0) << 8) | (bytes[i + 2] ?? 0);
      text += digits[bits >> 18]! + digits[(bits >> 12) & 63]!;
      text += (i + 1 < length ? digits[(bits >> 6) & 63]! : "=") + (i + 2 < length ? digits[bits & 63]! : "=");
    }
    return text;
  };
  const encodeArray = (value: object, depth: number): string => {
    const length = getOwnPropertyDescriptor(value, "length")!.value as number;
    let text = spend('{"list":[');
    for (let i = 0; i < length; i++) {
      const item = getOwnPropertyDescriptor(value, `${i}`);
      if (item !== undefined && !hasOwn(item, "value")) refuse("an array with a getter");
      text += spend(i === 0 ? "" : ",") + write(item === undefined ? undefined : item.value, depth);
    }
    return text + spend("]}");
  };
  const encodeObject = (value: object, depth: number): string => {
    const keys = ownKeys(value);
    let text = spend('{"dict":[');
    let first = true;
    for (let i = 0; i < keys.length; i++) {
      const key = keys[i]!;
      const property = getOwnPropertyDescriptor(value, key);
      if (property === undefined || !property.enumerable) continue;
      if (typeof key === "symbol") refuse("an object with a symbol as its key");
      if (!hasOwn(property, "value")) refuse("an object with a getter");
      text += `${spend(first ? "[" : ",[") + write(key, depth) + spend(",") + write(property.value, depth)}]`;
      first = false;
    }
    return text + spend("]}");
  };
  const write = (value: unknown, depth: number): string => {
    switch (typeof value) {
      case "boolean":
        return spend(value ? "true" : "false");
      case "string":
        if (value.length > left) throw tooLarge;
        return spend(quote(value));
      case "number":
        return spend(`{"float":"${encodeNumber(value)}"}`);
      case "bigint":
        return spend(`{"int":"${digitsOf(value)}"}`);
      case "undefined":
        return spend('{"undefined":true}');
      case "object":
        if (value === null) return spend("null");
        break;
    }
    const reference = options.refer?.(value);
    if (reference !== undefined) return spend(reference);
    if (typeof value !== "object") refuse(`a ${typeof value}`);
    if (depth === 0) throw tooLarge;
    const object = value as object;
    const prototype = getPrototypeOf(object);
    if (isArray(object)) {
      return prototype === arrayPrototype ? encodeArray(object, depth - 1) : refuse("a subclass of Array");
    }
    if (prototype === objectPrototype || prototype === null) return encodeObject(object, depth - 1);
    let text = "";
    if (prototype === mapPrototype) {
      const visit = (item: unknown, key: unknown): void => {
        text += `${spend(text === "" ? "[" : ",[") + write(key, depth - 1) + spend(",") + write(item, depth - 1)}]`;
      };
      apply(mapForEach, object, [visit]);
      return `${spend('{"dict":[') + text + spend("]")}}`;
    }
    if (prototype === setPrototype) {
      const visit = (item: unknown): void => {
        text += spend(text === "" ? "" : ",") + write(item, depth - 1);
      };
      apply(setForEach, object, [visit]);
      return `${spend('{"set":[') + text + spend("]")}}`;
    }
    if (prototype === bytesPrototype) return spend(`{"bytes":"${encodeBytes(object)}"}`);
    return refuse("an object of a class that is not plain data");
  };

  const set = (target: object, key: PropertyKey, value: unknown): void => {
    defineProperty(target, key, {
      __proto__: null,
      value,
      writable: true,
      enumerable: true,
      configurable: true,
    } as never);
  };
  /** In place: arrays from JSON own their items, so no setter of a prototype is called. */
  const readList = (items: unknown[]): unknown[] => {
    for (let i = 0; i < items.length; i++) items[i] = read(items[i]);
    return items;
  };
  const readBytes = (text: string): Uint8Array => {
    if (digitValues === undefined) {
      digitValues = { __proto__: null } as never as Record<string, number>;
      for (let i = 0; i < 64; i++) digitValues[digits[i]!] = i;
    }
    let { length } = text;
    while (length > 0 && text[length - 1] === "=") length--;
    const bytes = new Bytes((length * 3) >> 2);
    for (let i = 0, bits = 0, count = 0, at = 0; i < length; i++) {
      bits = ((bits << 6) | digitValues[text[i]!]!) & 0xffff;
      count += 6;
      if (count >= 8) {
        count -= 8;
        bytes[at++] = bits >> count;
      }
    }
    return bytes;
  };
  const readDictionary = (entries: readonly (readonly unknown[])[]): unknown => {
    let plain = true;
    for (let i = 0; i < entries.length; i++) plain &&= typeof entries[i]![0] === "string";
    if (plain) {
      const object = {};
      for (let i = 0; i < entries.length; i++) set(object, entries[i]![0] as string, read(entries[i]![1]));
      return object;
    }
    const map = new NewMap();
    for (let i = 0; i < entries.length; i++) apply(mapSet, map, [read(entries[i]![0]), read(entries[i]![1])]);
    return map;
  };
  const read = (plain: unknown): unknown => {
    if (plain === null || typeof plain !== "object") return plain;
    const value = plain as Record<string, never>;
    if (hasOwn(value, "float")) {
      const text: string = value.float!;
      const number = +text;
      // Infinities are written as names that JavaScript cannot parse as numbers.
      return number || (text === "inf" ? 1 / 0 : text === "-inf" ? -1 / 0 : number);
    }
    if (hasOwn(value, "list")) return readList(value.list!);
    if (hasOwn(value, "dict")) return readDictionary(value.dict!);
    if (hasOwn(value, "int")) return toBigInt(value.int!);
    if (hasOwn(value, "tuple")) return readList(value.tuple!);
    if (hasOwn(value, "undefined")) return undefined;
    if (hasOwn(value, "bytes")) return readBytes(value.bytes!);
    if (hasOwn(value, "set") || hasOwn(value, "frozenset")) {
      const items = readList(hasOwn(value, "set") ? value.set! : value.frozenset!);
      const result = new NewSet();
      for (let i = 0; i < items.length; i++) apply(setAdd, result, [items[i]]);
      return result;
    }
    return options.resolve === undefined ? refuse("a value that JavaScript does not have") : options.resolve(plain);
  };

  return {
    encode: (value, budget) => {
      left = budget;
      return write(value, options.depth);
    },
    decode: read,
    tooLarge,
    isUnsupported: (error): error is Unsupported =>
      typeof error === "object" && error !== null && apply(has, refusals, [error]),
  };
}
