import type { createInspect } from "./inspect.ts";
import type { createPlainCodec, PlainCodec } from "./plain-codec.ts";

/** What a guest is made with; JSON. */
export interface GuestOptions {
  readonly depth: number;
  readonly outputBytes: number;
  readonly resultBytes: number;
  readonly seed: number;
  readonly stdin: string;
  readonly entry: string;
  /** JavaScript by path, for `require`. */
  readonly files: Readonly<Record<string, string>>;
  /** Whether values that are not plain may leave as references, for judges. */
  readonly references: boolean;
}

/** What {@link Guest.call} is asked for; JSON. */
export interface GuestCall {
  readonly kind: "call" | "construct" | "get" | "set" | "keys";
  /** A name of the entry, `Class.method`, or the number of a reference. */
  readonly target: string | number;
  /** The property of `get` and `set`; the reference that is `this` of `call`. */
  readonly property?: string;
  readonly self?: number;
  /** Plain values. */
  readonly args: readonly unknown[];
}

/** What a call came to, as JSON; {@link Guest.pump} gives it where it is `pending`. */
export interface GuestReply {
  readonly outcome: "returned" | "raised" | "unsupported" | "too-large" | "pending" | "none";
  readonly value?: unknown;
  readonly changedArgs?: readonly unknown[];
  readonly error?: { readonly type: string; readonly message: string; readonly line?: number };
  /** Whether it was a promise that came to this. */
  readonly promise?: boolean;
}

/** The functions of a guest; primitives go in, text comes out, and nothing that the code does makes them throw. */
export interface Guest {
  /** Runs a script and keeps the functions and classes of these names. */
  loadScript(source: string, names: string): string;
  /** Keeps the functions and classes of a module's namespace. */
  loadModule(namespace: Record<string, unknown>, kept: string): string;
  call(text: string): string;
  /** Runs the next timer; says what the pending call came to meanwhile, or `none` where nothing is left to run. */
  pump(): string;
}

/**
 * What runs inside an isolate beside the code under test. Sent there as source text, so it refers to nothing but its
 * arguments; `send` takes output away: kind, a number, text.
 */
export function createGuest(
  send: (kind: "stdout" | "stderr" | "exit", count: number, text: string) => void,
  text: string,
  makers: { readonly createPlainCodec: typeof createPlainCodec; readonly createInspect: typeof createInspect },
): Guest {
  const options = JSON.parse(text) as GuestOptions;
  const { apply, construct, ownKeys } = Reflect;
  const { hasOwn } = Object;
  const { parse } = JSON;
  const quote = JSON.stringify;
  const stringOf = String;
  // biome-ignore lint/security/noGlobalEval: running code is what an isolate is for.
  const evaluate = globalThis.eval;
  const promiseThen = Promise.prototype.then;
  const { indexOf } = String.prototype;
  const NewError = Error;
  const MissingName = ReferenceError;
  const { defineProperty } = Object;
  const scope = globalThis as Record<string, unknown>;
  const inspect = makers.createInspect();
  const longestMessage = 1000;

  const referred = new Map<number, unknown>();
  const { get: mapGet, set: mapSet } = Map.prototype;
  const codec: PlainCodec = makers.createPlainCodec({
    depth: options.depth,
    ...(options.references && {
      refer: (value: unknown) => (isPlainShape(value) ? undefined : reference(value)),
      resolve: (value: unknown) => apply(mapGet, referred, [(value as { reference: number }).reference]),
    }),
  });
  const { getPrototypeOf } = Reflect;
  const plainPrototypes = new Set<unknown>([null, Object.prototype, Array.prototype, Map.prototype, Set.prototype]);
  plainPrototypes.add(Uint8Array.prototype);
  const setHas = Set.prototype.has;
  let references = 0;
  const isPlainShape = (value: unknown): boolean =>
    typeof value === "object" && apply(setHas, plainPrototypes, [getPrototypeOf(value as object)]);
  const reference = (value: unknown): string => {
    references++;
    apply(mapSet, referred, [references, value]);
    return `{"reference":${references},"type":"${typeof value}"}`;
  };
  let resultBytes = options.resultBytes;

  // Output: the first pieces are sent as they come, so that they survive a loop without end; later ones are gathered.
  const prompt = 100;
  const gather = 4096;
  const streams = {
    stdout: { sent: 0, kept: 0, bytes: 0, held: "" },
    stderr: { sent: 0, kept: 0, bytes: 0, held: "" },
  };
  const flush = (name: "stdout" | "stderr"): void => {
    const stream = streams[name];
    stream.sent++;
    send(name, stream.bytes, stream.held);
    stream.held = "";
  };
  const write = (name: "stdout" | "stderr", piece: string): void => {
    const stream = streams[name];
    let end = piece.length;
    for (let i = 0; i < piece.length; i++) {
      const letter = piece[i]!;
      const wide = letter >= "\ud800" && letter <= "\udfff" ? 2 : 3;
      const size = letter <= "\x7f" ? 1 : letter <= "\u07ff" ? 2 : wide;
      stream.bytes += size;
      if (end === piece.length && stream.kept + size <= options.outputBytes) stream.kept += size;
      else if (end === piece.length) {
        end = i;
        stream.kept = options.outputBytes;
      }
    }
    if (end === piece.length) stream.held += piece;
    else for (let i = 0; i < end; i++) stream.held += piece[i];
    if (stream.held !== "" && (stream.sent < prompt || stream.held.length >= gather)) flush(name);
  };
  const flushAll = (): void => {
    flush("stdout");
    flush("stderr");
  };

  // What programs expect to find, and what they shall not find.
  for (const name of ["WebAssembly", "SharedArrayBuffer", "Atomics"]) delete scope[name];
  const define = (name: string, value: unknown): void => {
    defineProperty(scope, name, { value, writable: true, enumerable: false, configurable: true });
  };
  const logTo =
    (name: "stdout" | "stderr") =>
    (...values: unknown[]): void =>
      write(name, `${inspect(values)}\n`);
  const log = logTo("stdout");
  const warn = logTo("stderr");
  define("console", { log, info: log, debug: log, error: warn, warn, trace: warn, table: log, dir: log });
  const exit = (code?: unknown): never => {
    flushAll();
    send("exit", typeof code === "number" ? code : 0, "");
    // The process outside ends the isolate.
    for (;;);
  };
  const writer = (name: "stdout" | "stderr"): unknown => ({
    write: (piece: unknown) => {
      write(name, stringOf(piece));
      return true;
    },
  });
  define("process", {
    argv: ["node", options.entry],
    env: {},
    exit,
    stdout: writer("stdout"),
    stderr: writer("stderr"),
    nextTick: (work: (...args: unknown[]) => void, ...args: unknown[]) => schedule(work, 0, args),
  });
  define("readStdin", () => options.stdin);
  const { imul } = Math;
  let randomState = options.seed >>> 0;
  Math.random = (): number => {
    randomState = (randomState + 0x6d2b79f5) >>> 0;
    let bits = randomState;
    bits = imul(bits ^ (bits >>> 15), bits | 1);
    bits ^= bits + imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 4_294_967_296;
  };

  // Timers do not wait: when nothing else is left to run, the one that is due first runs.
  interface Timer {
    readonly id: number;
    readonly at: number;
    readonly every: number | undefined;
    readonly work: () => unknown;
    next: Timer | undefined;
  }
  let now = 0;
  let timers: Timer | undefined;
  let timerCount = 0;
  const insert = (timer: Timer): void => {
    if (timers === undefined || timer.at < timers.at) {
      timer.next = timers;
      timers = timer;
      return;
    }
    let before = timers;
    while (before.next !== undefined && before.next.at <= timer.at) before = before.next;
    timer.next = before.next;
    before.next = timer;
  };
  const schedule = (work: unknown, delay: unknown, args: unknown[], repeat = false): number => {
    if (typeof work !== "function") throw new NewError("A timer takes a function.");
    const wait = typeof delay === "number" && delay > 1 ? delay : 1;
    const id = ++timerCount;
    insert({
      id,
      at: now + wait,
      every: repeat ? wait : undefined,
      work: () => apply(work, undefined, args),
      next: undefined,
    });
    return id;
  };
  const cancel = (id: unknown): void => {
    if (timers?.id === id) timers = timers?.next;
    for (let at = timers; at !== undefined; at = at.next) if (at.next?.id === id) at.next = at.next?.next;
  };
  define("setTimeout", (work: unknown, delay?: unknown, ...args: unknown[]) => schedule(work, delay, args));
  define("setInterval", (work: unknown, delay?: unknown, ...args: unknown[]) => schedule(work, delay, args, true));
  define("setImmediate", (work: unknown, ...args: unknown[]) => schedule(work, 0, args));
  define("clearTimeout", cancel);
  define("clearInterval", cancel);
  const resolved = Promise.resolve();
  define("queueMicrotask", (work: () => void) => {
    apply(promiseThen, resolved, [() => work()]);
  });

  // Modules of plain scripts, and the two of Node's that programs read their input by.
  const fileSystem = {
    readFileSync: (path: unknown) => {
      if (path === 0 || path === "/dev/stdin") return options.stdin;
      const name = stringOf(path);
      if (hasOwn(options.files, name)) return options.files[name];
      throw new NewError(`ENOENT: no such file: ${name}`);
    },
  };
  const loaded: Record<string, { exports: unknown }> = { __proto__: null } as never;
  const requireFrom =
    (from: string) =>
    (specifier: unknown): unknown => {
      const name = stringOf(specifier);
      if (name === "fs" || name === "node:fs") return fileSystem;
      const file = resolve(from, name);
      if (file === undefined) throw new NewError(`Cannot find module '${name}'`);
      const known = loaded[file];
      if (known !== undefined) return known.exports;
      const module: { exports: unknown } = { exports: {} };
      loaded[file] = module;
      const source = options.files[file]!;
      if (file.endsWith(".json")) module.exports = parse(source);
      else {
        const run = evaluate(`(function (exports, require, module) {${source}\n})\n//# sourceURL=${file}`);
        apply(run, module.exports, [module.exports, requireFrom(file), module]);
      }
      return module.exports;
    };
  const resolve = (from: string, specifier: string): string | undefined => {
    const parts = from.split("/").slice(0, -1);
    for (const part of specifier.split("/")) {
      if (part === "..") parts.pop();
      else if (part !== ".") parts.push(part);
    }
    const path = parts.join("/");
    for (const name of [path, `${path}.js`, `${path}.ts`, `${path}.json`, path.replace(/\.js$/, ".ts")]) {
      if (hasOwn(options.files, name)) return name;
    }
    return undefined;
  };
  const entryModule: { exports: unknown } = { exports: {} };
  loaded[options.entry] = entryModule;
  define("require", requireFrom(options.entry));
  define("module", entryModule);
  define("exports", entryModule.exports);

  // Errors become text here, inside, where a getter or a hook that loops runs into the limits.
  const textOf = (object: object, key: string): string | undefined => {
    try {
      const value = (object as Record<string, unknown>)[key];
      return typeof value === "string" ? value : undefined;
    } catch {
      return undefined;
    }
  };
  const cut = (long: string): string => {
    let short = "";
    for (let i = 0; i < long.length && i < longestMessage; i++) short += long[i];
    return short;
  };
  const lineOf = (stack: string): number | undefined => {
    const mark = `${options.entry}:`;
    const at: number = apply(indexOf, stack, [mark]);
    if (at === -1) return undefined;
    let line = 0;
    for (let i = at + mark.length; stack[i]! >= "0" && stack[i]! <= "9"; i++) line = line * 10 + +stack[i]!;
    return line === 0 ? undefined : line;
  };
  const describe = (error: unknown): string => {
    if ((typeof error !== "object" && typeof error !== "function") || error === null) {
      return `{"type":"${error === null ? "null" : typeof error}","message":${quote(cut(stringOf(error)))}}`;
    }
    let type: string | undefined;
    try {
      const maker: unknown = (error as object).constructor;
      if (typeof maker === "function") type = textOf(maker, "name");
    } catch {}
    if (type === undefined || type === "" || type === "Object") type = textOf(error, "name") ?? "Object";
    const stack = textOf(error, "stack");
    const line = stack === undefined ? undefined : lineOf(stack);
    const message = cut(textOf(error, "message") ?? "");
    return `{"type":${quote(cut(type))},"message":${quote(message)}${line === undefined ? "" : `,"line":${line}`}}`;
  };
  const raised = (error: unknown): string => {
    if (codec.isUnsupported(error)) return `{"outcome":"unsupported",${problem(error.reason)}`;
    return `{"outcome":"raised","error":${describe(error)}`;
  };
  const problem = (reason: string): string => `"error":{"type":"unsupported","message":${quote(reason)}}`;

  // Calls. One at a time is under way; where it returned a promise, `reply` is set once that settles.
  const kept: Record<string, unknown> = { __proto__: null } as never;
  let reply: string | undefined;

  const answer = (value: unknown, args: unknown, before: string, promise: boolean): string => {
    let encoded: string;
    try {
      encoded = codec.encode(value, resultBytes);
    } catch (error) {
      if (error === codec.tooLarge) return '{"outcome":"too-large"}';
      return `{"outcome":"unsupported",${problem(codec.isUnsupported(error) ? error.reason : "an object that cannot be read")}}`;
    }
    resultBytes -= encoded.length;
    return `{"outcome":"returned","value":${encoded}${promise ? ',"promise":true' : ""}${changes(args, before)}}`;
  };
  /** The arguments, where the call has changed them and they are still plain. */
  const changes = (args: unknown, before: string): string => {
    try {
      const after = codec.encode(args, options.resultBytes);
      if (after === before) return "";
      // Without the list around them.
      let items = "";
      for (let i = '{"list":'.length; i < after.length - 1; i++) items += after[i];
      return `,"changedArgs":${items}`;
    } catch {
      return "";
    }
  };
  const perform = ({ kind, target, property, self }: GuestCall, args: unknown[]): unknown => {
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
      if (settled) return;
      settled = true;
      reply = text();
    };
    if (typeof value === "object" && value !== null) {
      let isPromise = true;
      try {
        apply(promiseThen, value, [
          (result: unknown) => settle(() => answer(result, args, before, true)),
          (error: unknown) => settle(() => `${raised(error)}${changes(args, before)},"promise":true}`),
        ]);
      } catch {
        isPromise = false;
      }
      if (isPromise) return '{"outcome":"pending"}';
    }
    return answer(value, args, before, false);
  };
  const keep = (values: Record<string, unknown>): void => {
    const names = ownKeys(values) as string[];
    for (let i = 0; i < names.length; i++) {
      const name = names[i]!;
      let value = values[name];
      const { exports } = entryModule;
      if (value === undefined && exports !== null && (typeof exports === "object" || typeof exports === "function")) {
        value = (exports as Record<string, unknown>)[name];
        if (value === undefined && typeof exports === "function" && exports.name === name) value = exports;
      }
      if (value === undefined) throw new MissingName(`${name} is not defined`);
      kept[name] = value;
    }
  };
  /** Runs what is called from outside, with nothing thrown and no output left behind. */
  const guarded = (work: () => string): string => {
    let result: string;
    try {
      result = work();
    } catch (error) {
      result = `${raised(error)}}`;
    }
    if (streams.stdout.held !== "" || streams.stdout.bytes > 0) flush("stdout");
    if (streams.stderr.held !== "" || streams.stderr.bytes > 0) flush("stderr");
    return result;
  };

  return {
    loadScript: (source, names) =>
      guarded(() => {
        keep(evaluate(`${source}\n;(${names})\n//# sourceURL=${options.entry}`));
        return '{"outcome":"returned"}';
      }),
    loadModule: (namespace, name) =>
      guarded(() => {
        const values = namespace[name] as Record<string, unknown>;
        const names = ownKeys(values) as string[];
        for (let i = 0; i < names.length; i++) values[names[i]!] ??= names.length === 1 ? namespace.default : undefined;
        keep(values);
        return '{"outcome":"returned"}';
      }),
    call: (request) =>
      guarded(() => {
        reply = undefined;
        return call(parse(request) as GuestCall);
      }),
    pump: () =>
      guarded(() => {
        if (reply !== undefined) {
          const text = reply;
          reply = undefined;
          return text;
        }
        const timer = timers;
        if (timer === undefined) return '{"outcome":"none"}';
        timers = timer.next;
        now = timer.at;
        if (timer.every !== undefined) insert({ ...timer, at: now + timer.every });
        try {
          timer.work();
        } catch (error) {
          write("stderr", `Uncaught ${describe(error)}\n`);
        }
        return '{"outcome":"pending"}';
      }),
  };
}
