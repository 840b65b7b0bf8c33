import type { createAssert } from "./assert.ts";
import type { createConsoleTable } from "./console-table.ts";
import type { createInspect } from "./inspect.ts";
import type { createNodeCrypto } from "./node-crypto.ts";
import type { createNodeInput } from "./node-input.ts";
import type { createNodeTypes } from "./node-types.ts";
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
  readonly createConsoleTable: typeof createConsoleTable;
  readonly createNodeCrypto: typeof createNodeCrypto;
  readonly createNodeInput: typeof createNodeInput;
  readonly createNodeTypes: typeof createNodeTypes;
}

/** A Buffer. */
export type NodeBytes = Uint8Array & { toString(encoding?: string): string };

/** A callback or a listener of the code under test. */
export type NodeCallback = (...args: unknown[]) => void;

/**
 * Node's modules, globals, and additions to `process` and `console`. Each member is a function that makes the value.
 */
export interface NodeModules {
  /** By name, without `node:`. */
  readonly modules: Readonly<Record<string, () => unknown>>;
  readonly globals: Readonly<Record<string, () => unknown>>;
  readonly process: Readonly<Record<string, () => unknown>>;
  readonly console: {
    readonly table: (rows: unknown, columns?: readonly string[]) => void;
    readonly dir: (value: unknown, choices?: object) => void;
  };
}

/**
 * Creates the modules of Node that a pure program may use. They are for the code under test only: neither the guest nor
 * a judge uses them. Sent to an isolate as source text if the code asks for a module, so it refers to nothing but its
 * argument.
 */
export function createNodeModules(options: NodeModulesOptions): NodeModules {
  type BufferClass = {
    from(value: unknown, encoding?: unknown): NodeBytes;
    alloc(size: number): NodeBytes;
    isBuffer(value: unknown): boolean;
  };
  const { output, timers, random } = options;
  const once = <T>(make: () => T): (() => T) => {
    let made: { readonly value: T } | undefined;
    let isMaking = false;
    return () => {
      // While the library loads, it looks for the global that it implements. It must not find itself.
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
  const later = (work: NodeCallback, ...args: unknown[]): number => timers.schedule(work, 0, args);

  const buffer = library<{ Buffer: BufferClass }>("buffer");
  const bytesOf = (value: unknown, encoding?: unknown): NodeBytes => {
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

  const { crypto, webcrypto } = options.createNodeCrypto({ hashes: library("hashes"), bytesOf, random, later });
  const events = library<object>("events");
  const { stdin, readline } = options.createNodeInput({ ...options, events, bytesOf, later });
  const assert = once(
    () => options.createAssert(options.createInspect) as NodeCallback & { strict: { deepEqual: NodeCallback } },
  );
  const inspection = library<{ inspect: (value: unknown, choices?: object) => string }>("inspect");

  const types = once(options.createNodeTypes);
  const custom = Symbol.for("nodejs.util.promisify.custom");
  const promisify = (work: NodeCallback & { [custom]?: unknown }): unknown => {
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
      const done = args.pop() as NodeCallback;
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

  /** Calls a function whose errors lack the codes of Node's. */
  const withCode = <T>(code: string, work: () => T): T => {
    try {
      return work();
    } catch (error) {
      throw Object.assign(error instanceof TypeError ? error : new TypeError((error as Error).message), { code });
    }
  };
  type PathFunction = (...args: unknown[]) => unknown;
  const path = once(() => {
    const library = options.library("path") as Record<string, unknown> & { format: PathFunction };
    // Since Node 19, an extension may lack its point.
    const format: PathFunction = (parts) => {
      const { base, ext } = Object(parts) as { readonly base?: string; readonly ext?: string };
      return library.format(base || !ext || ext[0] === "." ? parts : { ...(parts as object), ext: `.${ext}` });
    };
    const coded = (work: unknown): unknown =>
      typeof work !== "function"
        ? work
        : (...args: unknown[]) => withCode("ERR_INVALID_ARG_TYPE", () => (work as PathFunction)(...args));
    const named = Object.entries({ ...library, format }).map(([name, value]) => [name, coded(value)]);
    const posix = Object.fromEntries(named) as object;
    const toNamespacedPath = (name: unknown): unknown => name;
    return Object.assign(posix, { posix, toNamespacedPath, _makeLong: toNamespacedPath });
  });
  type Decoder = new (
    encoding?: unknown,
  ) => {
    readonly encoding: string;
    write(data: unknown): string;
    end(data?: unknown): string;
  };
  const stringDecoder = once(() => {
    const { StringDecoder: Package } = options.library("stringDecoder") as { readonly StringDecoder: Decoder };
    class StringDecoder {
      readonly encoding: string;
      #inner: InstanceType<Decoder>;
      constructor(encoding?: unknown) {
        const isUrl = String(encoding).toLowerCase() === "base64url";
        this.#inner = withCode("ERR_UNKNOWN_ENCODING", () => new Package(isUrl ? "base64" : encoding));
        this.encoding = isUrl ? "base64url" : this.#inner.encoding;
      }
      write(data: unknown): string {
        // The package reads Buffers only.
        if (typeof data === "string") return data;
        return this.#written(this.#inner.write(withCode("ERR_INVALID_ARG_TYPE", () => bytesOf(data))));
      }
      end(data?: unknown): string {
        const text = (data === undefined ? "" : this.write(data)) + this.#written(this.#inner.end());
        // The package keeps the bytes of a character that has not ended.
        this.#inner = new Package(this.#inner.encoding);
        return text;
      }
      #written(text: string): string {
        return this.encoding === "base64url"
          ? text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")
          : text;
      }
    }
    return { StringDecoder };
  });

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
    path,
    "path/posix": path,
    perf_hooks: () => ({ performance }),
    process: () => scope.process,
    readline: () => readline,
    "readline/promises": () => readline.promises,
    string_decoder: stringDecoder,
    timers: () =>
      timersOf(["setTimeout", "setInterval", "setImmediate", "clearTimeout", "clearInterval", "clearImmediate"]),
    "timers/promises": () => ({ setTimeout: delayed, setImmediate: (value: unknown) => delayed(0, value) }),
    url: urls,
    util,
    "util/types": types,
  };

  const table = options.createConsoleTable({
    inspect: (value, choices) => inspection().inspect(value, choices),
    log: (value) => (scope.console as Console).log(value),
  });
  const dir = (value: unknown, choices?: object): void =>
    output.writeLines("stdout", inspection().inspect(value, { customInspect: false, ...choices }));
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
    console: { table, dir },
    process: { stdin, hrtime: () => hrtime, uptime: () => () => (now() - origin) / 1000 },
  };
}
