import type { createAssert } from "./assert.ts";
import type { createInspect } from "./inspect.ts";
import type { Output } from "./output.ts";
import type { Timers } from "./timers.ts";

/** What Node's modules use of the guest. */
export interface NodeModulesOptions {
  /** Evaluates a library: see `node-libraries.ts`. */
  readonly library: (name: string) => unknown;
  readonly output: Output;
  readonly timers: Timers;
  readonly readStdin: () => string;
  /** A number from 0 to 1, from the seed of the job. */
  readonly random: () => number;
  readonly createAssert: typeof createAssert;
  readonly createInspect: typeof createInspect;
}

/** Node's modules, globals, and additions to `process` and `console`. Each member is a function that makes the value. */
export interface NodeModules {
  /** By name, without `node:`. */
  readonly modules: Readonly<Record<string, () => unknown>>;
  readonly globals: Readonly<Record<string, () => unknown>>;
  readonly process: Readonly<Record<string, () => unknown>>;
  readonly table: (rows: unknown, columns?: readonly string[]) => void;
}

/**
 * Creates the modules of Node that a pure program may use. They are for the code under test only: neither the guest nor
 * a judge uses them. Sent to an isolate as source text if the code asks for a module, so it refers to nothing but its
 * argument.
 */
export function createNodeModules(options: NodeModulesOptions): NodeModules {
  type Bytes = Uint8Array & { toString(encoding?: string): string };
  type BufferClass = {
    from(value: unknown, encoding?: unknown): Bytes;
    alloc(size: number): Bytes;
    isBuffer(value: unknown): boolean;
  };
  type Listener = (...args: unknown[]) => void;
  type Emitter = {
    on(name: string, listener: Listener): unknown;
    emit(name: string, ...args: unknown[]): boolean;
    listenerCount(name: string): number;
  };
  const { output, timers, random } = options;
  const once = <T>(make: () => T): (() => T) => {
    let made: { readonly value: T } | undefined;
    let isMaking = false;
    return () => {
      // A library looks for the global that it stands for. It finds nothing.
      if (isMaking) return undefined as T;
      isMaking = true;
      try {
        made ??= { value: make() };
      } finally {
        isMaking = false;
      }
      return made.value;
    };
  };
  const library = <T>(name: string): (() => T) => once(() => options.library(name) as T);
  const later = (work: Listener, ...args: unknown[]): number => timers.schedule(work, 0, args);

  const buffer = library<{ Buffer: BufferClass }>("buffer");
  const bytesOf = (value: unknown, encoding?: unknown): Bytes => {
    const { Buffer } = buffer();
    if (typeof value === "string") return Buffer.from(value, encoding);
    if (value instanceof ArrayBuffer) return Buffer.from(value);
    if (!ArrayBuffer.isView(value))
      throw new TypeError("The data must be a string, a Buffer, a TypedArray or a DataView.");
    return Buffer.from(value.buffer.slice(value.byteOffset, value.byteOffset + value.byteLength));
  };
  class TextEncoder {
    readonly encoding = "utf-8";
    encode(text: unknown = ""): Uint8Array {
      return new Uint8Array(bytesOf(String(text)));
    }
    encodeInto(text: unknown, target: Uint8Array): { read: number; written: number } {
      let read = 0;
      let written = 0;
      for (const letter of String(text)) {
        const bytes = bytesOf(letter);
        if (written + bytes.length > target.length) break;
        target.set(bytes, written);
        read += letter.length;
        written += bytes.length;
      }
      return { read, written };
    }
  }
  class TextDecoder {
    readonly encoding: string;
    readonly fatal: boolean;
    readonly ignoreBOM: boolean;
    constructor(label: unknown = "utf-8", choices: { fatal?: boolean; ignoreBOM?: boolean } = {}) {
      const encodings: Record<string, string> = { utf8: "utf-8", "utf-8": "utf-8", "utf-16le": "utf-16le" };
      const encoding = encodings[String(label).trim().toLowerCase()];
      if (encoding === undefined) throw new RangeError(`The "${String(label)}" encoding is not supported`);
      this.encoding = encoding;
      this.fatal = choices.fatal ?? false;
      this.ignoreBOM = choices.ignoreBOM ?? false;
    }
    decode(data?: unknown, choices: { stream?: boolean } = {}): string {
      if (choices.stream) throw new TypeError("Decoding in pieces is not supported here.");
      const bytes = data === undefined ? buffer().Buffer.alloc(0) : bytesOf(data);
      const text = bytes.toString(this.encoding === "utf-8" ? "utf8" : "utf16le");
      const isExact = (): boolean => {
        const again = bytesOf(text, this.encoding === "utf-8" ? "utf8" : "utf16le");
        return again.length === bytes.length && again.every((byte, index) => byte === bytes[index]);
      };
      if (this.fatal && !isExact()) throw new TypeError(`The encoded data was not valid for encoding ${this.encoding}`);
      return !this.ignoreBOM && text[0] === "\ufeff" ? text.slice(1) : text;
    }
  }

  // Hashes are computed in the isolate. Random bytes come from the seed.
  type Hasher = { update(data: Uint8Array): Hasher; digest(): Uint8Array; clone(): Hasher };
  type HashFunction = { create(): Hasher };
  const hashes = library<Record<string, HashFunction> & { hmac: { create(hash: unknown, key: Uint8Array): Hasher } }>(
    "hashes",
  );
  const hashNames =
    "md5 sha1 ripemd160 sha224 sha256 sha384 sha512 sha512-224 sha512-256 sha3-224 sha3-256 sha3-384 sha3-512".split(
      " ",
    );
  const hashOf = (algorithm: unknown): HashFunction => {
    const text = String(algorithm).toLowerCase();
    const name = text
      .replace(/^rsa-/, "")
      .replace(/^sha-(?=\d)/, "sha")
      .replace("/", "-")
      .replace(/^rmd160$/, "ripemd160");
    if (!hashNames.includes(name)) throw new Error("Digest method not supported");
    return hashes()[name.replace("-", "_")]!;
  };
  const hashing = (hasher: Hasher): object => {
    let isDone = false;
    const open = (): void => {
      if (isDone) throw Object.assign(new Error("Digest already called"), { code: "ERR_CRYPTO_HASH_FINALIZED" });
    };
    const hash = {
      update: (data: unknown, encoding?: unknown) => {
        open();
        hasher.update(new Uint8Array(bytesOf(data, encoding)));
        return hash;
      },
      digest: (encoding?: string) => {
        open();
        isDone = true;
        const digest = bytesOf(hasher.digest());
        return encoding === undefined || encoding === "buffer" ? digest : digest.toString(encoding);
      },
      copy: () => {
        open();
        return hashing(hasher.clone());
      },
    };
    return hash;
  };
  const fillRandom = <T extends ArrayBufferView>(view: T): T => {
    const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
    for (let i = 0; i < bytes.length; i++) bytes[i] = Math.floor(random() * 256);
    return view;
  };
  const randomUUID = (): string => {
    const bytes = fillRandom(new Uint8Array(16));
    bytes[6] = (bytes[6]! & 0x0f) | 0x40;
    bytes[8] = (bytes[8]! & 0x3f) | 0x80;
    return bytesOf(bytes)
      .toString("hex")
      .replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  };
  const webcrypto = {
    randomUUID,
    getRandomValues: fillRandom,
    subtle: {
      digest: async (algorithm: { name: string } | string, data: unknown) => {
        const name = typeof algorithm === "string" ? algorithm : algorithm.name;
        return new Uint8Array(
          hashOf(name)
            .create()
            .update(new Uint8Array(bytesOf(data)))
            .digest(),
        ).buffer;
      },
    },
  };
  const randomBytes = (size: number, done?: Listener): unknown => {
    const bytes = fillRandom(buffer().Buffer.alloc(size));
    return done === undefined ? bytes : void later(done, null, bytes);
  };
  const randomInt = (...args: unknown[]): unknown => {
    const done = typeof args.at(-1) === "function" ? (args.pop() as Listener) : undefined;
    const [from, to] = (args.length === 1 ? [0, args[0]] : args) as [number, number];
    if (!Number.isSafeInteger(from) || !Number.isSafeInteger(to) || to <= from)
      throw new RangeError(`The value of "max" is out of range. It must be an integer greater than ${from}.`);
    const value = from + Math.floor(random() * (to - from));
    return done === undefined ? value : void later(done, null, value);
  };
  const createHash = (algorithm: unknown): object => hashing(hashOf(algorithm).create());
  const crypto = {
    createHash,
    createHmac: (algorithm: unknown, key: unknown) =>
      hashing(hashes().hmac.create(hashOf(algorithm), new Uint8Array(bytesOf(key)))),
    hash: (algorithm: unknown, data: unknown, encoding = "hex") => {
      const hash = createHash(algorithm) as { update(data: unknown): { digest(encoding: string): unknown } };
      return hash.update(data).digest(encoding);
    },
    getHashes: () => [...hashNames],
    randomUUID,
    randomBytes,
    randomInt,
    randomFillSync: fillRandom,
    getRandomValues: fillRandom,
    timingSafeEqual: (a: unknown, b: unknown) => {
      const [left, right] = [bytesOf(a), bytesOf(b)];
      if (left.length !== right.length) throw new RangeError("Input buffers must have the same byte length");
      return left.every((byte, index) => byte === right[index]);
    },
    webcrypto,
    subtle: webcrypto.subtle,
  };

  const events = library<{ new (): Emitter; prototype: Emitter }>("events");
  const assert = once(
    () => options.createAssert(options.createInspect) as Listener & { strict: { deepEqual: Listener } },
  );
  const inspection = library<{ inspect: (value: unknown, choices?: object) => string }>("inspect");

  /** True if a method of a built-in class accepts a value: its class, whatever its prototype. */
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
  const typeTests = (): Record<string, (value: unknown) => boolean> => {
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
  };
  const types = once(typeTests);
  const custom = Symbol.for("nodejs.util.promisify.custom");
  const promisify = (work: Listener & { [custom]?: unknown }): unknown => {
    if (typeof work !== "function") throw new TypeError('The "original" argument must be of type function.');
    if (typeof work[custom] === "function") return work[custom];
    return function (this: unknown, ...args: unknown[]): Promise<unknown> {
      return new Promise((resolve, reject) => {
        const done = (error: unknown, value: unknown): void => (error ? reject(error) : resolve(value));
        Reflect.apply(work, this, [...args, done]);
      });
    };
  };
  promisify.custom = custom;
  const callbackify = (work: (...args: unknown[]) => Promise<unknown>) =>
    function (this: unknown, ...args: unknown[]): void {
      const done = args.pop() as Listener;
      Reflect.apply(work, this, args).then(
        (value) => later(done, null, value),
        (error: unknown) => later(done, error ?? new Error("Promise was rejected with a falsy value")),
      );
    };
  const isDeepStrictEqual = (a: unknown, b: unknown): boolean => {
    try {
      assert().strict.deepEqual(a, b);
      return true;
    } catch {
      return false;
    }
  };
  const util = once(() => ({
    ...inspection(),
    promisify,
    callbackify,
    isDeepStrictEqual,
    types: types(),
    isArray: Array.isArray,
    deprecate: (work: unknown) => work,
    inherits: (child: { prototype: object; super_?: unknown }, parent: { prototype: object }) => {
      Object.defineProperty(child, "super_", { value: parent, writable: true, configurable: true });
      Object.setPrototypeOf(child.prototype, parent.prototype);
    },
    TextEncoder,
    TextDecoder,
  }));

  // Input arrives after the code has run, so that all its listeners hear of it.
  const stdin = once(() => {
    let encoding: string | undefined;
    let isStarted = false;
    let rest: string | undefined = options.readStdin();
    const read = (): unknown => {
      const text = rest;
      rest = undefined;
      if (text === undefined || text === "") return null;
      return encoding === undefined ? bytesOf(text) : text;
    };
    const stream = new (events())();
    const { on } = stream;
    const start = (): void => {
      if (isStarted) return;
      isStarted = true;
      later(() => {
        if (stream.listenerCount("readable") > 0) {
          stream.emit("readable");
          stream.emit("readable");
        } else {
          const chunk = read();
          if (chunk !== null) stream.emit("data", chunk);
        }
        stream.emit("end");
        stream.emit("close");
      });
    };
    const listen = function (this: unknown, name: string, listener: Listener): unknown {
      if (name === "data" || name === "readable" || name === "end") start();
      return Reflect.apply(on, this, [name, listener]);
    };
    const same = (): unknown => stream;
    return Object.assign(stream, {
      fd: 0,
      on: listen,
      addListener: listen,
      read,
      resume: same,
      pause: same,
      unref: same,
      setEncoding: (name = "utf8") => {
        encoding = name;
        return stream;
      },
      async *[Symbol.asyncIterator]() {
        const chunk = read();
        if (chunk !== null) yield chunk;
      },
    });
  });

  const createInterface = (choices: { output?: { write(text: string): void } } = {}): object => {
    const text = options.readStdin();
    const lines = text === "" ? [] : text.replace(/\r?\n$/, "").split(/\r?\n/);
    const questions: ((line: string) => void)[] = [];
    let isClosed = false;
    let isRead = false;
    const lineReader = new (events())();
    const { on } = lineReader;
    // As in Node, lines that are there already are still read after `close`.
    const next = (): void => {
      if (isRead) return;
      while (lines.length > 0) {
        const asked = isClosed ? undefined : questions.shift();
        if (asked !== undefined) {
          asked(lines.shift()!);
          // Later, so that the code between two questions runs.
          later(next);
          return;
        }
        if (lineReader.listenerCount("line") === 0) {
          // Another question may follow. Timers do not wait.
          timers.schedule(close, 60_000, []);
          return;
        }
        lineReader.emit("line", lines.shift());
      }
      close();
    };
    const close = (): void => {
      if (isClosed) return;
      isClosed = true;
      lineReader.emit("close");
    };
    const listen = function (this: unknown, name: string, listener: Listener): unknown {
      if (name === "line" || name === "close") later(next);
      return Reflect.apply(on, this, [name, listener]);
    };
    const same = (): unknown => lineReader;
    const question = (query: unknown, ...rest: unknown[]): void => {
      choices.output?.write(String(query));
      questions.push(rest.at(-1) as (line: string) => void);
      later(next);
    };
    return Object.assign(lineReader, {
      on: listen,
      addListener: listen,
      close,
      question: Object.assign(question, {
        [custom]: (query: unknown) => new Promise((resolve) => question(query, resolve)),
      }),
      setPrompt: () => undefined,
      prompt: () => undefined,
      write: () => undefined,
      pause: same,
      resume: same,
      async *[Symbol.asyncIterator]() {
        isRead = true;
        while (lines.length > 0 && !isClosed) yield lines.shift();
        close();
      },
      [Symbol.dispose]: close,
    });
  };
  const readline = {
    createInterface,
    clearLine: () => true,
    cursorTo: () => true,
    promises: {
      createInterface: (choices?: object) => {
        const made = createInterface(choices) as { question: { [custom]: unknown } };
        return Object.assign(made, { question: made.question[custom] });
      },
    },
  };

  const { now } = Date;
  const origin = now();
  const performance = {
    timeOrigin: origin,
    now: () => now() - origin,
    mark: () => undefined,
    measure: () => undefined,
    toJSON: () => ({ timeOrigin: origin }),
  };
  const scope = globalThis as Record<string, unknown>;
  const timersOf = (names: readonly string[]): object => Object.fromEntries(names.map((name) => [name, scope[name]]));
  const delayed = (delay: unknown, value: unknown): Promise<unknown> =>
    new Promise((resolve) => timers.schedule(resolve, delay, [value]));

  const url = library<unknown>("url");
  const urls = once(() => ({ URL: url(), URLSearchParams: scope.URLSearchParams }));
  const globals: NodeModules["globals"] = {
    Buffer: () => buffer().Buffer,
    URL: url,
    URLSearchParams: () => {
      const one = new (url() as new (text: string) => { searchParams: object })("a:b");
      return one.searchParams.constructor;
    },
    TextEncoder: () => TextEncoder,
    TextDecoder: () => TextDecoder,
    structuredClone: library("structuredClone"),
    performance: () => performance,
    crypto: () => webcrypto,
    atob: () => (text: unknown) => bytesOf(String(text), "base64").toString("latin1"),
    btoa: () => (text: unknown) => bytesOf(String(text), "latin1").toString("base64"),
  };
  const strict = (): unknown => assert().strict;
  const modules: NodeModules["modules"] = {
    assert,
    "assert/strict": strict,
    buffer: once(() => ({ ...buffer(), atob: globals.atob!(), btoa: globals.btoa!() })),
    console: () => scope.console,
    crypto: () => crypto,
    events: once(() => Object.assign(events(), { EventEmitter: events() })),
    perf_hooks: () => ({ performance }),
    process: () => scope.process,
    readline: () => readline,
    "readline/promises": () => readline.promises,
    timers: () =>
      timersOf(["setTimeout", "setInterval", "setImmediate", "clearTimeout", "clearInterval", "clearImmediate"]),
    "timers/promises": () => ({ setTimeout: delayed, setImmediate: (value: unknown) => delayed(0, value) }),
    url: urls,
    util,
    "util/types": types,
  };

  /** Prints a table as Node does: one row for each item, one column for each key. */
  const table = (rows: unknown, columns?: readonly string[]): void => {
    if (typeof rows !== "object" || rows === null) {
      (scope.console as Console).log(rows);
      return;
    }
    const show = (value: unknown): string => inspection().inspect(value, { depth: 0, breakLength: Infinity });
    const isMap = rows instanceof Map;
    const isPlain = !isMap && !(rows instanceof Set);
    const entries: [string, unknown][] = isPlain
      ? Object.entries(rows)
      : [...rows].map((item, index) => [String(index), item]);
    const keys: string[] = [...(columns ?? [])];
    const values: string[] = [];
    const cells = entries.map(([, item]) => {
      const isRow = !isMap && typeof item === "object" && item !== null;
      if (isMap) return { Key: show((item as unknown[])[0]), Values: show((item as unknown[])[1]) };
      if (!isRow) {
        values.push("Values");
        return { Values: show(item) };
      }
      if (columns === undefined) for (const key of Object.keys(item)) if (!keys.includes(key)) keys.push(key);
      const own = keys.filter((key) => Object.hasOwn(item, key));
      return Object.fromEntries(own.map((key) => [key, show((item as Record<string, unknown>)[key])]));
    });
    const names = isMap ? ["Key", "Values"] : [...keys, ...(values.length > 0 ? ["Values"] : [])];
    const head = [isPlain ? "(index)" : "(iteration index)", ...names];
    const body = entries.map(([label], row) => [
      label,
      ...names.map((name) => (cells[row] as Record<string, string>)[name] ?? ""),
    ]);
    const widths = head.map(
      (name, column) => Math.max(...[head, ...body].map((row) => row[column]!.length), name.length) + 2,
    );
    const line = (row: readonly string[]): string => {
      return `│ ${row.map((cell, column) => cell.padEnd(widths[column]! - 1)).join("│ ")}│\n`;
    };
    const rule = (left: string, middle: string, right: string): string =>
      `${left}${widths.map((width) => "─".repeat(width)).join(middle)}${right}`;
    const text = `${rule("┌", "┬", "┐")}\n${line(head)}${rule("├", "┼", "┤")}\n${body.map(line).join("")}${rule("└", "┴", "┘")}\n`;
    output.write("stdout", text);
  };

  const elapsed = (): [number, number] => [Math.floor((now() - origin) / 1000), ((now() - origin) % 1000) * 1e6];
  const hrtime = (since: readonly [number, number] = [0, 0]): [number, number] => {
    const [seconds, nanoseconds] = elapsed();
    const isBefore = nanoseconds < since[1];
    return [seconds - since[0] - (isBefore ? 1 : 0), nanoseconds - since[1] + (isBefore ? 1e9 : 0)];
  };
  hrtime.bigint = () => BigInt(now() - origin) * 1_000_000n;
  return {
    modules,
    globals,
    table,
    process: { stdin, hrtime: () => hrtime, uptime: () => () => (now() - origin) / 1000 },
  };
}
