import type { createAssert } from "./assert.ts";
import type { GuestCall, GuestReply } from "./guest.ts";
import type { createInspect } from "./inspect.ts";
import type { createPlainCodec } from "./plain-codec.ts";

/** The options of stand-ins, as JSON. */
export interface StandInOptions {
  readonly exports: readonly string[];
  readonly depth: number;
  readonly resultBytes: number;
}

/** The functions that stand-ins are made with. Each is sent as source text. */
export interface JudgeMakers {
  readonly createAssert: typeof createAssert;
  readonly createInspect: typeof createInspect;
  readonly createPlainCodec: typeof createPlainCodec;
  /** The global name of this function in its isolate. */
  readonly global: string;
}

/**
 * Defines, in the isolate of a judge, stand-ins for the exports of the code under test, and `require` of Node's
 * `assert`. Calls, constructions, reads and writes on a stand-in happen in the other isolate. Plain values are copied.
 * Others become stand-ins too. Sent to the isolate as source text, so it refers to nothing but its arguments.
 */
export function createStandIns(
  ask: { applySyncPromise(receiver: undefined, args: [string]): string },
  text: string,
  makers: JudgeMakers,
): void {
  const options = JSON.parse(text) as StandInOptions;
  delete (globalThis as Record<string, unknown>)[makers.global];
  const targets = new WeakMap<object, string | number>();
  const codec = makers.createPlainCodec({
    depth: options.depth,
    refer: (value) => {
      const target =
        typeof value === "object" || typeof value === "function" ? targets.get(value as object) : undefined;
      return target === undefined ? undefined : `{"reference":${JSON.stringify(target)}}`;
    },
    resolve: (value) => standIn((value as { reference: number }).reference),
  });
  const errors: Record<string, ErrorConstructor> = {
    __proto__: null,
    TypeError,
    RangeError,
    SyntaxError,
    ReferenceError,
  } as never;

  /** The values read since the code last ran. If a test reads a value twice, both reads are the same. */
  const known = new Map<string, unknown>();
  const remember = (place: readonly unknown[], read: () => unknown): unknown => {
    const key = JSON.stringify(place);
    if (!known.has(key)) known.set(key, read());
    return known.get(key);
  };
  const request = (call: Omit<GuestCall, "args">, args: unknown[]): unknown => {
    if (call.kind !== "get") known.clear();
    const sent = args.map((arg) => JSON.parse(codec.encode(arg, options.resultBytes)) as unknown);
    const reply = JSON.parse(ask.applySyncPromise(undefined, [JSON.stringify({ ...call, args: sent })])) as GuestReply;
    reply.changedArgs?.forEach((changed, index) => {
      change(args[index], codec.decode(changed));
    });
    if (reply.outcome === "returned") {
      const value = codec.decode(reply.value);
      return reply.promise === true ? Promise.resolve(value) : value;
    }
    const { type, message } = reply.error ?? { type: "Error", message: reply.outcome };
    const error = new (errors[type] ?? Error)(message);
    error.name = type;
    if (reply.promise === true) return Promise.reject(error);
    throw error;
  };
  /** Gives an argument the content that the code gave its copy. */
  const change = (arg: unknown, changed: unknown): void => {
    if (Array.isArray(arg) && Array.isArray(changed)) arg.splice(0, arg.length, ...changed);
    else if (arg instanceof Map && changed instanceof Map) {
      arg.clear();
      for (const [key, value] of changed) arg.set(key, value);
    } else if (arg instanceof Set && changed instanceof Set) {
      arg.clear();
      for (const value of changed) arg.add(value);
    } else if (typeof arg === "object" && arg !== null && typeof changed === "object" && changed !== null) {
      for (const key of Object.keys(arg))
        if (!Object.hasOwn(changed, key)) delete (arg as Record<string, unknown>)[key];
      // Not by assignment: a key may be "__proto__".
      Object.defineProperties(arg, Object.getOwnPropertyDescriptors(changed));
    }
  };
  const standIn = (target: string | number): unknown => {
    // biome-ignore lint/complexity/useArrowFunction: an arrow function cannot be constructed.
    const callable = function (): void {};
    const proxy: object = new Proxy(callable, {
      apply: (_, self, args) => {
        const receiver = typeof self === "function" ? targets.get(self) : undefined;
        return request({ kind: "call", target, ...(typeof receiver === "number" && { self: receiver }) }, args);
      },
      construct: (_, args) => request({ kind: "construct", target }, args) as object,
      get: (_, property) => {
        if (property === Symbol.toPrimitive) return primitive;
        if (typeof property === "symbol") return undefined;
        return remember([target, property], () => request({ kind: "get", target, property }, []));
      },
      set: (_, property, value) => {
        request({ kind: "set", target, property: String(property) }, [value]);
        return true;
      },
    });
    /** What the language does with objects that are compared or concatenated with others. */
    const primitive = (hint: string): unknown =>
      remember([target, hint, "primitive"], () => {
        for (const name of hint === "string" ? ["toString", "valueOf"] : ["valueOf", "toString"]) {
          const method: unknown = Reflect.get(proxy, name);
          const value: unknown = typeof method === "function" ? Reflect.apply(method, proxy, []) : proxy;
          if ((typeof value !== "object" && typeof value !== "function") || value === null) return value;
        }
        throw new TypeError("Cannot convert object to primitive value");
      });
    targets.set(proxy, target);
    return proxy;
  };
  const isStandIn = (value: object): boolean => targets.has(value);
  const assert = makers.createAssert(makers.createInspect, isStandIn) as ReturnType<typeof createAssert> & {
    strict: unknown;
  };
  (globalThis as Record<string, unknown>).require = (specifier: string): unknown => {
    const name = specifier.replace(/^node:/, "");
    if (name === "assert") return assert;
    if (name === "assert/strict") return assert.strict;
    throw new Error(`Cannot find module '${specifier}'`);
  };
  for (const name of options.exports) (globalThis as Record<string, unknown>)[name] = standIn(name);
}
