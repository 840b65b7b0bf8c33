import type { createErrors } from "./errors.ts";
import type { createInspect } from "./inspect.ts";
import type { createModules } from "./modules.ts";
import type { NodeModules, NodeModulesOptions } from "./node-modules.ts";
import type { createOutput, Send } from "./output.ts";
import type { createPlainCodec, PlainCodec, PlainCodecOptions } from "./plain-codec.ts";
import type { createTimers } from "./timers.ts";

/** The options with which a guest starts, as JSON. */
export interface GuestOptions {
  readonly depth: number;
  readonly outputBytes: number;
  readonly resultBytes: number;
  readonly seed: number;
  readonly stdin: string;
  readonly entry: string;
  /** JavaScript by path, for `require`. */
  readonly files: Readonly<Record<string, string>>;
  /** True if values that are not plain may leave as references, for judges. */
  readonly references: boolean;
}

/** A request to {@link Guest.call}, as JSON. */
export interface GuestCall {
  readonly kind: "call" | "construct" | "get" | "set" | "keys";
  /** A name of the entry, `Class.method`, or the number of a reference. */
  readonly target: string | number;
  /** The property of `get` and `set`. For `call`, the reference that becomes `this`. */
  readonly property?: string;
  readonly self?: number;
  /** Plain values. */
  readonly args: readonly unknown[];
}

/** The cases of a job, as JSON: calls of one function with plain values. */
export interface GuestCases {
  /** A name of the entry, or `Class.method`. */
  readonly target: string;
  readonly cases: readonly (readonly unknown[])[];
}

/**
 * The result of a call, as JSON. If it is `pending`, {@link Guest.pump} returns it later. The reply to each case is
 * sent. After all cases, this is `none` or `too-large`.
 */
export interface GuestReply {
  readonly outcome: "returned" | "raised" | "unsupported" | "too-large" | "pending" | "none";
  readonly value?: unknown;
  readonly changedArgs?: readonly unknown[];
  readonly error?: { readonly type: string; readonly message: string; readonly line?: number };
  /** True if the result comes from a promise. */
  readonly promise?: boolean;
}

/** The functions of a guest. They take primitives and return text, and no code can make them throw. */
export interface Guest {
  /**
   * Called first, with {@link GuestOptions} and a function that returns the text of a library for Node's modules. Then
   * calls another function, if given, to save a call from outside.
   */
  start(send: Send, library: (name: string) => string, options: string, name?: keyof Guest, ...args: unknown[]): string;
  /** Runs a script, keeps its functions and classes with these names, and calls them for the cases, if any. */
  loadScript(source: string, names: string, cases?: string): string;
  /** Keeps the functions and classes of a module's namespace, and continues like `loadScript`. */
  loadModule(namespace: Record<string, unknown>, kept: string, cases?: string): string;
  call(text: string): string;
  /** Runs the next timer. Returns the result of the pending call, or `none` if nothing is left to run. */
  pump(): string;
  /** Writes a text to stderr, and returns the last reply again. */
  again(text: string): string;
}

/** Calls a function of a guest. */
export type Enter = (name: keyof Guest, ...args: unknown[]) => string;

/** The functions that a guest is made of. Each is sent as source text. */
export interface GuestMakers {
  readonly createErrors: typeof createErrors;
  readonly createInspect: typeof createInspect;
  readonly createModules: typeof createModules;
  readonly createOutput: typeof createOutput;
  readonly createPlainCodec: typeof createPlainCodec;
  readonly createTimers: typeof createTimers;
  /** The globals of Node that are made when they are first read. */
  readonly nodeGlobals: readonly string[];
  /** The name of the guest's global in its isolate. */
  readonly global: string;
}

/**
 * The part that runs inside an isolate next to the code under test. Sent there as source text, so it refers to nothing
 * but its argument. It saves the built-ins that it needs before the code under test can change them. A snapshot is made
 * of it: work that all jobs share is done here, and the work of one job in `start`.
 */
export function createGuest(makers: GuestMakers): Enter {
  const unset = (): void => undefined;
  const options = {
    send: unset as Send,
    library: (_name: string) => "",
    depth: 0,
    outputBytes: 0,
    resultBytes: 0,
    stdin: "",
    entry: "",
    files: {} as Readonly<Record<string, string>>,
  };
  const { apply, construct, ownKeys, getPrototypeOf } = Reflect;
  const { parse } = JSON;
  const quote = JSON.stringify;
  const stringOf = String;
  // biome-ignore lint/security/noGlobalEval: running code is what an isolate is for.
  const evaluate = globalThis.eval;
  const promiseThen = Promise.prototype.then;
  const { indexOf } = String.prototype;
  const MissingName = ReferenceError;
  const { defineProperty, hasOwn } = Object;
  const scope = globalThis as Record<string, unknown>;
  const output = makers.createOutput(options, makers.createInspect);
  const timers = makers.createTimers();
  const builtIn = (name: string): readonly [unknown] | undefined => {
    let short = name;
    if (apply(indexOf, name, ["node:"]) === 0) {
      short = "";
      for (let i = 5; i < name.length; i++) short += name[i];
    }
    const known = node().modules;
    return hasOwn(known, short) ? [known[short]!()] : undefined;
  };
  const modules = makers.createModules(options, builtIn);
  const describe = makers.createErrors(options);

  // Values that are not plain may leave as numbers, for judges.
  const referred = new Map<number, unknown>();
  const { get: mapGet, set: mapSet } = Map.prototype;
  const setHas = Set.prototype.has;
  const plainPrototypes = new Set<unknown>([null, Object.prototype, Array.prototype, Map.prototype, Set.prototype]);
  plainPrototypes.add(Uint8Array.prototype);
  const isPlainShape = (value: unknown): boolean =>
    typeof value === "object" && apply(setHas, plainPrototypes, [getPrototypeOf(value as object)]);
  let references = 0;
  const reference = (value: unknown): string => {
    references++;
    apply(mapSet, referred, [references, value]);
    return `{"reference":${references},"type":"${typeof value}"}`;
  };
  const codecOptions: PlainCodecOptions = { depth: 0, refer: undefined, resolve: undefined };
  const codec: PlainCodec = makers.createPlainCodec(codecOptions);
  let resultBytes = 0;

  // The globals that programs expect.
  const define = (name: string, value: unknown): void => {
    defineProperty(scope, name, { value, writable: true, enumerable: false, configurable: true });
  };
  define("console", output.console);
  const exit = (code?: unknown): never => {
    output.flush();
    options.send("exit", typeof code === "number" ? code : 0, "");
    // The process outside ends the isolate.
    for (;;);
  };
  const writer = (name: "stdout" | "stderr"): unknown => ({
    write: (piece: unknown) => {
      output.write(name, stringOf(piece));
      return true;
    },
  });
  const argv = ["node", ""];
  const process = {
    argv,
    env: {},
    exit,
    stdout: writer("stdout"),
    stderr: writer("stderr"),
    nextTick: (work: (...args: unknown[]) => void, ...args: unknown[]) => queue(() => work(...args)),
    platform: "linux",
    cwd: () => "/",
  };
  define("process", process);
  define("readStdin", () => options.stdin);
  const { imul } = Math;
  let randomState = 0;
  const random = (): number => {
    randomState = (randomState + 0x6d2b79f5) >>> 0;
    let bits = randomState;
    bits = imul(bits ^ (bits >>> 15), bits | 1);
    bits ^= bits + imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 4_294_967_296;
  };
  Math.random = random;
  define("setTimeout", (work: unknown, delay?: unknown, ...args: unknown[]) => timers.schedule(work, delay, args));
  define("setInterval", (work: unknown, delay?: unknown, ...args: unknown[]) =>
    timers.schedule(work, delay, args, true),
  );
  define("setImmediate", (work: unknown, ...args: unknown[]) => timers.schedule(work, 0, args));
  define("clearTimeout", timers.cancel);
  define("clearInterval", timers.cancel);
  define("clearImmediate", timers.cancel);
  const resolved = Promise.resolve();
  const queue = (work: () => void): void => {
    apply(promiseThen, resolved, [() => work()]);
  };
  define("queueMicrotask", queue);
  define("require", modules.require);
  define("module", modules.entry);
  define("exports", modules.entry.exports);

  // What is made of libraries, if the code asks for it. Only the code uses it.
  const loadLibrary = (name: string): unknown =>
    evaluate(`(${options.library(name)}\n)\n//# sourceURL=node:${name}`) as unknown;
  let loadedNode: NodeModules | undefined;
  const node = (): NodeModules => {
    loadedNode ??= (loadLibrary("node") as (options: Partial<NodeModulesOptions>) => NodeModules)({
      library: loadLibrary,
      output,
      timers,
      readStdin: () => options.stdin,
      random,
    });
    return loadedNode;
  };
  const defineLazily = (object: object, name: string, make: () => unknown): void => {
    const set = (value: unknown): void => {
      defineProperty(object, name, { value, writable: true, enumerable: false, configurable: true });
    };
    const get = (): unknown => {
      const value = make();
      if (value !== undefined) set(value);
      return value;
    };
    defineProperty(object, name, { get, set, enumerable: false, configurable: true });
  };
  for (const name of makers.nodeGlobals) defineLazily(scope, name, () => node().globals[name]!());
  for (const name of ["stdin", "hrtime", "uptime"]) defineLazily(process, name, () => node().process[name]!());
  for (const name of ["table", "dir"] as const) defineLazily(output.console, name, () => node().console[name]);

  const problem = (reason: string): string => `"error":{"type":"unsupported","message":${quote(reason)}}`;
  const raised = (error: unknown): string => {
    if (codec.isUnsupported(error)) return `{"outcome":"unsupported",${problem(error.reason)}`;
    return `{"outcome":"raised","error":${describe(error)}`;
  };

  // Calls run one at a time. If a call returned a promise, `reply` is set after the promise settles.
  const kept: Record<string, unknown> = { __proto__: null } as never;
  const pending = '{"outcome":"pending"}';
  const none = '{"outcome":"none"}';
  const tooLarge = '{"outcome":"too-large"}';
  const neverSettles =
    '{"outcome":"raised","error":{"type":"Error","message":"The promise never settles: nothing is left to run."}}';
  let calls = 0;
  let waiting = false;
  let reply: string | undefined;

  const answer = (value: unknown, args: unknown, before: string, promise: boolean): string => {
    let encoded: string;
    try {
      encoded = codec.encode(value, resultBytes);
    } catch (error) {
      if (error === codec.tooLarge) return tooLarge;
      return `{"outcome":"unsupported",${problem(codec.isUnsupported(error) ? error.reason : "an object that cannot be read")}}`;
    }
    resultBytes -= encoded.length;
    return `{"outcome":"returned","value":${encoded}${promise ? ',"promise":true' : ""}${changes(args, before)}}`;
  };
  /** Returns the arguments if the call has changed them and they are still plain. */
  const changes = (args: unknown, before: string): string => {
    try {
      const after = codec.encode(args, options.resultBytes);
      if (after === before) return "";
      // Only the items, without `{"list":` and `}`.
      let items = "";
      for (let i = '{"list":'.length; i < after.length - 1; i++) items += after[i];
      return `,"changedArgs":${items}`;
    } catch {
      return "";
    }
  };
  /** Reads own properties only: a getter on a prototype would receive the request. */
  const own = <Key extends keyof GuestCall>(request: GuestCall, key: Key): GuestCall[Key] | undefined =>
    hasOwn(request, key) ? request[key] : undefined;
  const perform = (request: GuestCall, args: unknown[]): unknown => {
    const { kind, target } = request;
    const property = own(request, "property");
    const self = own(request, "self");
    const object = typeof target === "number" ? apply(mapGet, referred, [target]) : find(target);
    switch (kind) {
      case "construct":
        return construct(object as never, args);
      case "get":
        return (object as Record<string, unknown>)[property!];
      case "set":
        (object as Record<string, unknown>)[property!] = args[0];
        return undefined;
      case "keys":
        return ownKeys(object as object);
      case "call":
        break;
    }
    if (self !== undefined) return apply(object as never, apply(mapGet, referred, [self]), args);
    const dot: number = typeof target === "string" ? apply(indexOf, target, ["."]) : -1;
    if (dot === -1) return apply(object as never, undefined, args);
    let method = "";
    for (let i = dot + 1; i < (target as string).length; i++) method += (target as string)[i];
    const instance = construct(object as never, []) as Record<string, (...args: unknown[]) => unknown>;
    return apply(instance[method]!, instance, args);
  };
  const find = (target: string): unknown => {
    let name = "";
    for (let i = 0; i < target.length && target[i] !== "."; i++) name += target[i];
    return kept[name];
  };
  const call = (request: GuestCall): string => {
    const number = ++calls;
    reply = undefined;
    let args: unknown[];
    let before: string;
    try {
      args = codec.decode({ list: request.args }) as unknown[];
      before = codec.encode(args, 1 / 0);
    } catch (error) {
      return `{"outcome":"unsupported",${problem(codec.isUnsupported(error) ? error.reason : "an argument")}}`;
    }
    let value: unknown;
    try {
      value = perform(request, args);
    } catch (error) {
      return `${raised(error)}${changes(args, before)}}`;
    }
    let settled = false;
    const settle = (text: () => string): void => {
      // Ignores the result of a call that is no longer the current one.
      if (settled || number !== calls) return;
      settled = true;
      reply = text();
    };
    let isPromise = typeof value === "object" && value !== null;
    try {
      // Traps of a proxy run here. Calling `then` on a value that is not a promise throws, which takes time.
      isPromise &&= !isPlainShape(value);
      if (isPromise) {
        apply(promiseThen, value, [
          (result: unknown) => settle(() => answer(result, args, before, true)),
          (error: unknown) => settle(() => `${raised(error)}${changes(args, before)},"promise":true}`),
        ]);
      }
    } catch {
      isPromise = false;
    }
    waiting = isPromise;
    if (isPromise) return pending;
    return answer(value, args, before, false);
  };
  const keep = (values: Record<string, unknown>): void => {
    const names = ownKeys(values) as string[];
    for (let i = 0; i < names.length; i++) {
      const name = names[i]!;
      let value = values[name];
      const { exports } = modules.entry;
      if (value === undefined && exports !== null && (typeof exports === "object" || typeof exports === "function")) {
        value = (exports as Record<string, unknown>)[name];
        if (value === undefined && typeof exports === "function" && exports.name === name) value = exports;
      }
      if (value === undefined) throw new MissingName(`${name} is not defined`);
      kept[name] = value;
    }
  };

  // The cases of a job. Each reply is sent at once, so that it is not lost if a later case never ends.
  let job: (GuestCases & { next: number }) | undefined;
  /** Sends the reply to the last case, and runs the following cases until one is pending. */
  const goOn = (text: string | undefined): string => {
    const { target, cases } = job!;
    for (let last = text; ; ) {
      if (last === pending || last === tooLarge) return last;
      if (last !== undefined) {
        options.send("case", job!.next, last);
        job!.next++;
      }
      if (job!.next === cases.length) break;
      last = call({ kind: "call", target, args: cases[job!.next]! });
    }
    job = undefined;
    return none;
  };
  const begin = (cases: string | undefined): string => {
    if (cases === undefined) return '{"outcome":"returned"}';
    job = { ...(parse(cases) as GuestCases), next: 0 };
    return goOn(undefined);
  };

  /** Runs a call from outside. It throws nothing, and all output is sent. */
  const guarded = (work: () => string): string => {
    let result: string;
    try {
      result = work();
    } catch (error) {
      result = `${raised(error)}}`;
    }
    output.flush();
    return result;
  };
  const guest: Guest = {
    start: (send, library, text, name, ...args) => {
      // Not part of the snapshot: V8 adds some of these to each isolate.
      delete scope.WebAssembly;
      delete scope.SharedArrayBuffer;
      delete scope.Atomics;
      delete scope[makers.global];
      const given = parse(text) as GuestOptions;
      options.send = send;
      options.library = library;
      options.depth = codecOptions.depth = given.depth;
      options.outputBytes = given.outputBytes;
      options.resultBytes = resultBytes = given.resultBytes;
      options.stdin = given.stdin;
      options.entry = argv[1] = given.entry;
      options.files = given.files;
      randomState = given.seed >>> 0;
      if (given.references) {
        codecOptions.refer = (value) => (isPlainShape(value) ? undefined : reference(value));
        codecOptions.resolve = (value) => apply(mapGet, referred, [(value as { reference: number }).reference]);
      }
      return name === undefined ? none : enter(name, ...args);
    },
    loadScript: (source, names, cases) =>
      guarded(() => {
        keep(evaluate(`${source}\n;(${names})\n//# sourceURL=${options.entry}`));
        return begin(cases);
      }),
    loadModule: (namespace, name, cases) =>
      guarded(() => {
        const values = namespace[name] as Record<string, unknown>;
        const names = ownKeys(values) as string[];
        for (let i = 0; i < names.length; i++) values[names[i]!] ??= names.length === 1 ? namespace.default : undefined;
        keep(values);
        return begin(cases);
      }),
    call: (request) => guarded(() => call(parse(request) as GuestCall)),
    pump: () =>
      guarded(() => {
        const work = waiting && reply !== undefined ? undefined : timers.next();
        if (work !== undefined) {
          try {
            work();
          } catch (error) {
            output.write("stderr", `Uncaught ${describe(error)}\n`);
          }
          return pending;
        }
        if (!waiting) return none;
        waiting = false;
        const text = reply ?? neverSettles;
        return job === undefined ? text : goOn(text);
      }),
    again: (text) => {
      output.write("stderr", text);
      output.flush();
      return last;
    },
  };
  let last = none;
  const enter: Enter = (name, ...args) => {
    last = apply(guest[name] as (...args: unknown[]) => string, guest, args);
    return last;
  };
  return enter;
}
