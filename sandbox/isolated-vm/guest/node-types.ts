/**
 * Creates the functions of `util.types`. Sent to an isolate as source text, so it refers to nothing outside of itself.
 */
export function createNodeTypes(): Record<string, (value: unknown) => boolean> {
  // A method of a built-in class throws for a value of another class, even if that value has its prototype.
  const accepts = (method: (...args: never[]) => unknown, value: unknown): boolean => {
    try {
      Reflect.apply(method, value, []);
      return true;
    } catch {
      return false;
    }
  };
  const getter = (prototype: object, key: PropertyKey): ((...args: never[]) => unknown) =>
    Object.getOwnPropertyDescriptor(prototype, key)!.get as (...args: never[]) => unknown;
  const typedArrayName = getter(Object.getPrototypeOf(Uint8Array.prototype) as object, Symbol.toStringTag);
  const tagOf = (value: unknown): string => Object.prototype.toString.call(value).slice(8, -1);
  const tests: Record<string, (value: unknown) => boolean> = {
    isDate: (value) => accepts(Date.prototype.getTime, value),
    isRegExp: (value) => value !== RegExp.prototype && accepts(getter(RegExp.prototype, "source"), value),
    isMap: (value) => accepts(getter(Map.prototype, "size"), value),
    isSet: (value) => accepts(getter(Set.prototype, "size"), value),
    isWeakMap: (value) => accepts(WeakMap.prototype.has, value),
    isWeakSet: (value) => accepts(WeakSet.prototype.has, value),
    isArrayBuffer: (value) => accepts(getter(ArrayBuffer.prototype, "byteLength"), value),
    isAnyArrayBuffer: (value) => accepts(getter(ArrayBuffer.prototype, "byteLength"), value),
    isArrayBufferView: ArrayBuffer.isView,
    isTypedArray: (value) => Reflect.apply(typedArrayName, value, []) !== undefined,
    isDataView: (value) => ArrayBuffer.isView(value) && !tests.isTypedArray!(value),
    isPromise: (value) => value instanceof Promise,
    isNativeError: (value) => tagOf(value) === "Error" && value instanceof Error,
    isGeneratorFunction: (value) => typeof value === "function" && /GeneratorFunction$/.test(tagOf(value)),
    isAsyncFunction: (value) => typeof value === "function" && /^Async/.test(tagOf(value)),
    isGeneratorObject: (value) => /Generator$/.test(tagOf(value)),
    isMapIterator: (value) => tagOf(value) === "Map Iterator",
    isSetIterator: (value) => tagOf(value) === "Set Iterator",
    isNumberObject: (value) => typeof value === "object" && accepts(Number.prototype.valueOf, value),
    isStringObject: (value) => typeof value === "object" && accepts(String.prototype.valueOf, value),
    isBooleanObject: (value) => typeof value === "object" && accepts(Boolean.prototype.valueOf, value),
    isSymbolObject: (value) => typeof value === "object" && accepts(Symbol.prototype.valueOf, value),
    isBigIntObject: (value) => typeof value === "object" && accepts(BigInt.prototype.valueOf, value),
  };
  tests.isBoxedPrimitive = (value) =>
    ["Number", "String", "Boolean", "Symbol", "BigInt"].some((name) => tests[`is${name}Object`]!(value));
  for (const { name } of [
    Int8Array,
    Uint8Array,
    Uint8ClampedArray,
    Int16Array,
    Uint16Array,
    Int32Array,
    Uint32Array,
    Float32Array,
    Float64Array,
    BigInt64Array,
    BigUint64Array,
  ])
    tests[`is${name}`] = (value) => Reflect.apply(typedArrayName, value, []) === name;
  return tests;
}
