import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { ExecuteResult, ExecuteStatus } from "../../sandbox/execution.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { shareOf } from "../tier.ts";
import { callsOf, float, runJavaScript } from "./isolated-vm-sandbox.ts";

/** Hostile JavaScript, run against a sandbox with one worker and one spare on this machine. */
export function describeAdversaries(options: {
  readonly name: string;
  /** The number of this sandbox of the two that run these tests, from 0. In the full tier each has a third of the cases. */
  readonly engine: 0 | 1;
  readonly open: (options: { readonly workers: number; readonly spares: number }) => Promise<Sandbox> | Sandbox;
  /** Returns the ids of the worker processes. */
  readonly pids: () => Promise<readonly (number | string)[]>;
  /** The reason why this machine has none. Its tests are then skipped. */
  readonly missing?: string | undefined;
}): void {
  const { name, engine, open, pids, missing } = options;
  const share = <T>(cases: readonly T[]): T[] => shareOf(cases, { engine, of: 3 });
  const title = missing === undefined ? name : `${name} (skipped: ${missing})`;
  describe.skipIf(missing !== undefined)(title, () => {
    const workers = 1;
    const secret = "not to be seen";
    let sandbox: Sandbox;
    beforeAll(async () => {
      process.env.LYCEUM_TEST_SECRET = secret;
      sandbox = await open({ workers, spares: 1 });
    });
    afterAll(async () => {
      await sandbox[Symbol.asyncDispose]();
      await vi.waitFor(async () => expect(await pids()).toEqual([]), { timeout: 60_000 });
    });

    const attack = async (body: string): Promise<ExecuteResult> => {
      const limits = { cpuMs: 500, memoryMb: 64 };
      const result = await runJavaScript(sandbox, body, callsOf("f", [float(1)]), { limits });
      // Checks that the next execution is clean: the built-ins are unchanged, and nothing is left of earlier code.
      const honest = `function f(list) { return [...list].sort((a, b) => a - b).concat([typeof leftOver, Object.keys({}).length]); }`;
      const next = await runJavaScript(sandbox, honest, callsOf("f", [{ list: [float(2), float(1)] }]));
      expect(next.status).toBe("ok");
      expect(next.attempts).toBe(1);
      expect(next.cases[0]!.value).toEqual({ list: [float(1), float(2), "undefined", float(0)] });
      await sandbox.warmUp();
      await expect.poll(pids).toHaveLength(workers + 1);
      return result;
    };

    describe("code that exceeds its limits", () => {
      const memory: ExecuteStatus[] = ["memory", "signal"];
      const cpu: ExecuteStatus[] = ["timeout_cpu"];
      const either: ExecuteStatus[] = [...memory, ...cpu];
      const table: [name: string, statuses: ExecuteStatus[], code: string][] = [
        ["a loop", cpu, "function f() { while (1); }"],
        ["a loop at the top level", cpu, "function f() {} while (1);"],
        ["a loop that catches everything", cpu, "function f() { for (;;) try { f(); } catch {} }"],
        ["a loop of microtasks", cpu, "async function f() { for (;;) await 0; }"],
        [
          "a thenable that never ends",
          cpu,
          "function f() { const t = { then(r) { r(t); } }; return Promise.resolve(t); }",
        ],
        ["endless timers", cpu, "async function f() { await new Promise(() => setInterval(() => 0, 1)); }"],
        ["a regular expression", cpu, 'function f() { return /^(a+)+$/.test("a".repeat(40) + "b"); }'],
        ["a comparator that loops", cpu, "function f() { return [2, 1].sort(() => { while (1); }); }"],
        ["a proxy that loops", cpu, "function f() { return new Proxy({}, { ownKeys() { while (1); } }); }"],
        ["an error whose stack loops", cpu, "function f() { throw { get stack() { while (1); } }; }"],
        ["an error whose message loops", cpu, "function f() { throw { get message() { while (1); } }; }"],
        ["an error whose name loops", cpu, "function f() { throw { get name() { while (1); } }; }"],
        [
          "Error.prepareStackTrace",
          cpu,
          "function f() { Error.prepareStackTrace = () => { while (1); }; throw new Error(); }",
        ],
        ["a module whose error loops", cpu, "export function f() {} throw { get stack() { while (1); } };"],
        ["endless new Function", cpu, 'function f() { for (;;) new Function("return " + Math.random())(); }'],
        ["BigInt squaring", either, "function f() { let x = 3n; for (;;) x = x * x; }"],
        ["a fill that cannot be stopped", either, "function f() { new Array(2 ** 28).fill(0); }"],
        ["an array that grows", either, "function f() { const a = []; for (;;) a.push({}); }"],
        ["a map that grows", either, "function f() { const m = new Map(); for (let i = 0; ; i++) m.set(i, { i }); }"],
        ["a split that V8 refuses", memory, 'function f() { return "x".repeat(2 ** 29 - 24).split(""); }'],
        ["endless symbols", either, "function f() { const a = []; for (;;) a.push(Symbol(a.length)); }"],
        [
          "endless promises",
          either,
          "function f() { let p = Promise.resolve(); const a = []; for (;;) a.push((p = p.then(() => a))); }",
        ],
        ["a string that doubles", ["ok", ...either], 'function f() { let s = "x"; for (;;) s += s; }'],
        [
          "a buffer that is resized",
          ["ok", ...either],
          "function f() { const b = new ArrayBuffer(8, { maxByteLength: 2 ** 31 }); b.resize(2 ** 31 - 8); new Uint8Array(b).fill(1); }",
        ],
        ["nested JSON", ["ok", ...either], 'function f() { return JSON.parse("[".repeat(1e7)); }'],
        [
          "endless buffers",
          ["ok", ...either],
          "function f() { const a = []; for (;;) a.push(new ArrayBuffer(2 ** 24)); }",
        ],
        ["a value of 20 MB", ["result_limit"], 'function f() { return "x".repeat(2e7); }'],
        [
          "a list of 2 ** 32 - 1 holes",
          ["result_limit"],
          "function f() { const a = []; a.length = 2 ** 32 - 1; return a; }",
        ],
        [
          "a value that is 100,000 deep",
          ["result_limit"],
          "function f() { let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return a; }",
        ],
        ["a value that contains itself", ["result_limit"], "function f() { const a = []; a.push(a); return a; }"],
        ["the end of the process", ["exited"], "function f() { process.exit(0); }"],
        ["the end of the process while it loads", ["exited"], "process.exit(0); function f() { return 1; }"],
      ];

      test.each(share(table))("%s", async (_, statuses, code) => {
        const { status, cases } = await attack(code);
        expect(statuses).toContain(status);
        expect(cases).toHaveLength(1);
        expect(cases[0]!.outcome).not.toBe("returned");
      });
    });

    describe("unhandled errors", () => {
      const rejected: [name: string, code: string][] = [
        ["an Error", "Promise.reject(new Error('x'));"],
        ["undefined", "Promise.reject();"],
        ["null", "Promise.reject(null);"],
        ["a number", "Promise.reject(7);"],
        ["a symbol", "Promise.reject(Symbol('x'));"],
        ["a function", "Promise.reject(() => 1);"],
        [
          "a proxy that throws",
          "Promise.reject(new Proxy({}, { get() { throw 1; }, getPrototypeOf() { throw 2; } }));",
        ],
        ["an error without a message", "const e = new Error(); delete e.message; delete e.stack; Promise.reject(e);"],
        ["a forgotten await", "(async () => { await 0; throw new TypeError('x'); })();"],
        ["a microtask", "queueMicrotask(() => { throw new Error('x'); });"],
        ["a chain", "Promise.resolve().then(() => { throw 1; }).finally(() => { throw 2; });"],
        ["ten thousand promises", "for (let i = 0; i < 1e4; i++) Promise.reject(i);"],
        ["an error that is replaced", "Promise.prototype.then = null; Promise.reject(1);"],
      ];
      const modes: [name: string, code: (rejection: string) => string][] = [
        ["while a script loads", (rejection) => `${rejection} function f() { return 5; }`],
        ["while a module loads", (rejection) => `export function f() { return 5; }\n${rejection}`],
        ["in the call", (rejection) => `function f() { ${rejection} return 5; }`],
      ];
      const table = modes.flatMap(([mode, code]) => rejected.map(([name, text]) => [name, mode, code(text)] as const));

      test.each(share(table))("%s %s does not change the answer", async (_, __, code) => {
        const { status, cases, attempts, stderr } = await attack(code);
        expect({ status, attempts, value: cases[0]!.value }).toEqual({ status: "ok", attempts: 1, value: float(5) });
        expect(stderr.text).toMatch(/^Uncaught /);
      });

      test("end a program with an error, and fail only the test in which they happen", async () => {
        const main = "async function main() { console.log(1); throw new RangeError('x'); } main();";
        const program = await runJavaScript(sandbox, main, { kind: "program", stdin: [""] });
        expect(program.cases).toMatchObject([{ outcome: "raised", value: "1\n", error: { type: "RangeError" } }]);
        const code = "function f() { Promise.reject(1); return 5; } async function g() { throw undefined; }";
        const tests = ["if (f() !== 5) throw new Error()", "g()", "if (f() !== 5) throw new Error()"];
        const judged = await runJavaScript(sandbox, code, { kind: "judge", exports: ["f", "g"], tests });
        expect(judged).toMatchObject({ status: "ok", attempts: 1 });
        expect(judged.cases.map(({ outcome }) => outcome)).toEqual(["returned", "raised", "returned"]);
      });

      const endless: [name: string, code: string][] = [
        ["whose stack loops", "throw Object.defineProperty(new Error(), 'stack', { get() { for (;;); } });"],
        ["that comes back each time", "(function again() { Promise.reject(1).finally(again); })();"],
      ];
      test.each(endless)("a rejection %s reaches a limit", async (_, text) => {
        const { status, attempts } = await attack(`async function g() { ${text} } g(); function f() { return 5; }`);
        expect({ status, attempts }).toEqual({ status: "timeout_cpu", attempts: 1 });
      });
    });

    describe("code that fakes values", () => {
      /** A value that must not come out as the plain value that it imitates. */
      const refused: [name: string, code: string][] = [
        ["a getter", "function f() { return { get a() { return 1; } }; }"],
        [
          "a getter in a list",
          "function f() { const a = [1]; Object.defineProperty(a, 0, { get: () => 1, enumerable: true }); return a; }",
        ],
        ["a subclass of Array", "class A extends Array {} function f() { return A.of(1); }"],
        ["a subclass of Map", "class M extends Map {} function f() { return new M([[1, 1]]); }"],
        ["a class with toJSON", "class T { toJSON() { return 1; } } function f() { return new T(); }"],
        ["a class with valueOf", "class T { valueOf() { return 1; } } function f() { return new T(); }"],
        ["a boxed number", "function f() { return new Number(1); }"],
        ["a boxed string", 'function f() { return new String("1"); }'],
        ["a function", "function f() { return f; }"],
        ["a symbol", "function f() { return Symbol.iterator; }"],
        ["a key that is a symbol", "function f() { return { [Symbol.toStringTag]: 1 }; }"],
        ["a date", "function f() { return new Date(0); }"],
        ["an error", 'function f() { return new Error("x"); }'],
        ["a list whose prototype was changed", "function f() { return Object.setPrototypeOf([1], {}); }"],
        ["an object made to look like a map", "function f() { return Object.setPrototypeOf({}, Map.prototype); }"],
        [
          "an object made to look like bytes",
          "function f() { return Object.setPrototypeOf({}, Uint8Array.prototype); }",
        ],
        ["a list from another realm's prototype", "function f() { return Object.create(Array.prototype); }"],
        [
          "a revoked proxy",
          "function f() { const { proxy, revoke } = Proxy.revocable([], {}); revoke(); return proxy; }",
        ],
        ["a proxy that throws", "function f() { return new Proxy({}, { ownKeys() { throw null; } }); }"],
      ];

      test.each(share(refused))("%s is not a plain value", async (_, code) => {
        const { status, cases } = await attack(code);
        expect(status).toBe("ok");
        expect(cases[0]!.outcome).toBe("unsupported");
        expect(cases[0]!.value).toBeUndefined();
      });

      /** The returned value stays the same if code patches built-ins: 2, not 1. */
      const patches: [name: string, code: string][] = [
        ["JSON.stringify", 'JSON.stringify = () => "1"; JSON.parse = () => 1;'],
        [
          "toJSON on prototypes",
          "for (const p of [Object, Array, Number, String, BigInt]) p.prototype.toJSON = () => 1;",
        ],
        [
          "Array.prototype",
          'Array.prototype.push = Array.prototype.join = Array.prototype.map = () => "1"; Array.prototype[Symbol.iterator] = () => 1;',
        ],
        [
          "Object.prototype",
          'for (const k of ["value", "get", "enumerable", "list", "float", "outcome", "then", "reason", "stack"]) Object.defineProperty(Object.prototype, k, { __proto__: null, get: () => "1", set() {}, configurable: true });',
        ],
        [
          "numbers of Array.prototype",
          "for (let i = 0; i < 9; i++) Object.defineProperty(Array.prototype, i, { set() {}, get: () => 1, configurable: true });",
        ],
        ["Reflect", "for (const k of Reflect.ownKeys(Reflect)) if (k !== Symbol.toStringTag) Reflect[k] = () => 1;"],
        ["Object", "for (const k of Object.getOwnPropertyNames(Object)) try { Object[k] = () => 1; } catch {}"],
        [
          "Function.prototype",
          "Function.prototype.call = Function.prototype.apply = Function.prototype.bind = () => 1;",
        ],
        [
          "Promise",
          "Promise.prototype.then = function (ok) { ok(1); }; Promise.resolve = () => 1; globalThis.Promise = class {};",
        ],
        [
          "String",
          'String.prototype.toString = () => "1"; Number.prototype.toString = () => "1"; globalThis.String = () => "1";',
        ],
        ["Number", "globalThis.Number = () => 1; globalThis.isNaN = () => true; Symbol.toPrimitive;"],
        [
          "Map and Set",
          "Map.prototype.forEach = Map.prototype.set = Map.prototype.get = Set.prototype.has = WeakSet.prototype.has = () => 1;",
        ],
        ["console", "globalThis.console = { log() { throw 1; } };"],
        ["eval", "globalThis.eval = () => () => 1; globalThis.Function = () => () => 1;"],
        [
          "everything global",
          'for (const k of Object.getOwnPropertyNames(globalThis)) if (k !== "f" && k !== "globalThis") try { globalThis[k] = undefined; } catch {}',
        ],
      ];

      test.each(share(patches))("a patched %s changes no value", async (_, code) => {
        const { status, cases } = await attack(`function f(x) { return x + 1; } ${code}`);
        expect(status).toBe("ok");
        expect(cases[0]).toMatchObject({ outcome: "returned", value: float(2) });
        const thrown = await attack(`function f(x) { throw new TypeError("x"); } ${code}`);
        expect(thrown.cases[0]!.outcome).toBe("raised");
        const later = await attack(`async function f(x) { return x + 1; } ${code}`);
        expect(later.cases[0]!.value ?? float(2)).toEqual(float(2));
      });

      test("arguments are those of the case, whatever prototypes say about items and keys", async () => {
        const code = `const given = [];
          for (const key of [0, 1, 2, "float", "list", "dict", "a"]) {
            for (const { prototype } of [Array, Object]) {
              const lie = { set(value) { given.push(value); }, get: () => 1, configurable: true };
              Object.defineProperty(prototype, key, { __proto__: null, ...lie });
            }
          }
          function f(x) { return [x, given.length]; }`;
        const values = [
          { list: [float(1), "a", { list: [float("nan"), float("-inf"), float("inf"), float("-0.0"), null] }] },
          { dict: [["a", { set: [{ list: [true] }] }]] as const },
        ];
        const { status, cases } = await runJavaScript(sandbox, code, callsOf("f", ...values.map((value) => [value])));
        expect(status).toBe("ok");
        expect(cases.map(({ value }) => value)).toEqual(values.map((value) => ({ list: [value, float(0)] })));
      });

      test("rarely used functions still work and leak nothing, whatever was patched before", async () => {
        const patches = `
          const given = [];
          const map = new Map([["k", new Set([1])]]);
          Function.prototype.toString = Object.prototype.toString = function () { given.push(this); return "stolen"; };
          for (const object of [Reflect, JSON, Object, Array, Map.prototype, Set.prototype, Date.prototype, Function.prototype]) {
            for (const key of Object.getOwnPropertyNames(object)) {
              const { value } = Object.getOwnPropertyDescriptor(object, key);
              if (typeof value !== "function" || /^(constructor|getOwnProperty.*|toString)$/.test(key)) continue;
              object[key] = function (...args) { given.push(this, ...args); return "stolen"; };
            }
          }
          globalThis.eval = globalThis.Function = (...texts) => { given.push(...texts); return () => "stolen"; };`;
        const code = `${patches}
          function f() {
            console.log({ a: [1, "x"] }, map, new RangeError("no").message);
            const { n } = require("./other.js");
            setTimeout(() => console.log("later"), 1);
            return [n, new Uint8Array([1, 2]), given.length];
          }`;
        const files = { "other.js": "exports.n = 7;" };
        const { cases, stdout } = await runJavaScript(sandbox, code, callsOf("f", [], []), { files });
        const value = { list: [float(7), { bytes: "AQI=" }, float(0)] };
        expect(cases).toMatchObject([
          { outcome: "returned", value },
          { outcome: "returned", value },
        ]);
        const line = "{ a: [ 1, 'x' ] } Map(1) { 'k' => Set(1) { 1 } } no\n";
        expect(stdout.text).toBe(line + line);
        await attack(code);
      });

      test("values are the returned ones, and thrown values become text", async () => {
        const values: [code: string, value: unknown][] = [
          ["-0", float("-0.0")],
          ["NaN", float("nan")],
          ["-Infinity", float("-inf")],
          ["2n ** 70n", { int: String(2n ** 70n) }],
          ["undefined", { undefined: true }],
          ["null", null],
          ["new Map([[1, 2]])", { dict: [[float(1), float(2)]] }],
          ["new Set([1])", { set: [float(1)] }],
          ["new Uint8Array([255, 0, 7])", { bytes: Buffer.from([255, 0, 7]).toString("base64") }],
          ["[1, , 2]", { list: [float(1), { undefined: true }, float(2)] }],
          [
            '({ b: 1, a: 2, __proto__: null, ["__proto__"]: 3 })',
            {
              dict: [
                ["b", float(1)],
                ["a", float(2)],
                ["__proto__", float(3)],
              ],
            },
          ],
          ['"\\ud800\\0"', "\ud800\0"],
          ["Promise.resolve([true])", { list: [true] }],
          ["new Proxy([1], {})", { list: [float(1)] }],
        ];
        for (const [code, value] of values) {
          const { cases } = await runJavaScript(sandbox, `function f() { return ${code}; }`, callsOf("f", []));
          expect(cases[0], code).toMatchObject({ outcome: "returned", value });
        }
        const errors: [code: string, type: string, message: string][] = [
          ["null", "null", "null"],
          ["undefined", "undefined", "undefined"],
          ["Symbol('x')", "symbol", "Symbol(x)"],
          ["Object.freeze({})", "Object", ""],
          ["Object.create(null)", "Object", ""],
          ["new (class Mine extends Error {})('m')", "Mine", "m"],
          ["new Proxy({}, { get() { throw 1; } })", "Object", ""],
          ["({ name: {}, message: 5, stack: [] })", "Object", ""],
          ["new Error('x'.repeat(1e6))", "Error", "x".repeat(1000)],
        ];
        for (const [code, type, message] of errors) {
          const { status, cases } = await runJavaScript(sandbox, `function f() { throw ${code}; }`, callsOf("f", []));
          expect(status).toBe("ok");
          expect(cases[0], code).toMatchObject({ outcome: "raised", error: { type, message } });
        }
      });

      test("deep recursion is an error of the code", async () => {
        const { status, cases } = await attack("function f(x) { return f(x) + 1; }");
        expect(status).toBe("ok");
        expect(cases[0]).toMatchObject({ outcome: "raised", error: { type: "RangeError" } });
      });

      test("a promise that never settles is an error of its case, and the other cases run", async () => {
        const code = "function f(x) { return x === 1 ? new Promise(() => 0) : x; }";
        const { status, cases } = await runJavaScript(sandbox, code, callsOf("f", [float(1)], [float(2)]));
        expect(status).toBe("ok");
        expect(cases).toMatchObject([{ outcome: "raised" }, { outcome: "returned", value: float(2) }]);
      });

      test("a promise that settles twice answers its case once", async () => {
        const code = `function f(x) {
      const p = Promise.resolve(x);
      p.constructor = { [Symbol.species]: function (run) { run((v) => 0, (e) => 0); return {}; } };
      p.then = (ok) => { ok(1); ok(2); };
      return p;
    }`;
        const { status, cases } = await runJavaScript(sandbox, code, callsOf("f", [float(7)], [float(8)]));
        expect(status).toBe("ok");
        expect(cases.map(({ value }) => value)).toEqual([float(7), float(8)]);
      });
    });

    describe("code that explores its surroundings", () => {
      const reach: [name: string, expression: string][] = [
        [
          "process of Node",
          'this.constructor.constructor("return typeof process.binding + typeof process.mainModule")()',
        ],
        [
          "shared memory",
          'typeof SharedArrayBuffer + typeof Atomics + typeof WebAssembly === "undefinedundefinedundefined" ? "undefinedundefined" : "there"',
        ],
        [
          "Node's modules",
          '["child_process", "net", "http", "os", "vm", "worker_threads"].map((m) => { try { require(m); return "there"; } catch { return ""; } }).join("") + "undefinedundefined"',
        ],
        [
          "files",
          '(() => { try { return require("fs").readFileSync("/etc/passwd"); } catch { return "undefinedundefined"; } })()',
        ],
        ["the environment", 'Object.keys(process.env).join() + "undefinedundefined"'],
        ["the network", "typeof fetch + typeof XMLHttpRequest"],
        [
          "the caller's function",
          '(() => { Error.prepareStackTrace = (_, sites) => sites.map((s) => typeof s.getFunction() + typeof s.getThis()); const s = new Error().stack; return s.filter((t) => t !== "undefinedundefined" && t !== "functionobject" && t !== "functionundefined").length === 0 ? "undefinedundefined" : s.join(); })()',
        ],
        ["the callers of the call", "f.caller === null ? 'undefinedundefined' : 'there'"],
        ["isolated-vm", "typeof ivm + typeof $0"],
      ];

      test.each(share(reach))("finds nothing of %s", async (_, expression) => {
        const { cases } = await attack(`function f() { return ${expression}; }`);
        expect(cases[0]).toMatchObject({ outcome: "returned", value: "undefinedundefined" });
      });

      test("the frames of the calling code have no function except its own", async () => {
        const code = `function f() {
      const own = new Set([f, probe]);
      function probe() {
        Error.prepareStackTrace = (_, sites) => sites;
        return new Error().stack.map((site) => site.getFunction()).filter((g) => g !== undefined && !own.has(g)).map(String);
      }
      own.add(probe);
      return probe();
    }`;
        const { cases } = await runJavaScript(sandbox, code, callsOf("f", []));
        expect(cases[0]).toMatchObject({ outcome: "returned", value: { list: [] } });
      });

      test("import() of anything fails", async () => {
        const code =
          'async function f() { try { await import("node:fs"); return "there"; } catch { return "refused"; } }';
        const { cases } = await runJavaScript(sandbox, code, callsOf("f", []));
        expect(cases[0]!.value).toBe("refused");
      });

      test("a process has no environment variables of its parent", async () => {
        await sandbox.warmUp();
        for (const pid of await pids()) {
          expect(readFileSync(`/proc/${pid}/environ`, "utf8")).not.toContain(secret);
        }
      });

      test("the arguments of later cases are not present yet", async () => {
        const code = `let seen = []; function f(x) { seen.push(x); return seen; }`;
        const { cases } = await runJavaScript(sandbox, code, callsOf("f", ["a"], ["b"]));
        expect(cases[0]!.value).toEqual({ list: ["a"] });
      });
    });

    describe("output", () => {
      test("is truncated and counted if there is too much, and changes no value", async () => {
        const code = 'function f(x) { for (let i = 0; i < 20_000; i++) console.log("0123456789"); return x; }';
        const { status, cases, stdout } = await runJavaScript(sandbox, code, callsOf("f", [float(1)]));
        expect(status).toBe("ok");
        expect(cases[0]!.value).toEqual(float(1));
        expect(stdout).toMatchObject({ bytes: 220_000, truncated: true });
        expect(Buffer.byteLength(stdout.text)).toBe(65_536);
      });

      test("is kept if it was printed before an infinite loop", async () => {
        const code = 'function f() { console.log("before"); while (1); }';
        const { status, stdout } = await runJavaScript(sandbox, code, callsOf("f", []), { limits: { cpuMs: 200 } });
        expect(status).toBe("timeout_cpu");
        expect(stdout.text).toBe("before\n");
      });

      test("stays output if it imitates a verdict", async () => {
        const code = `function f() { console.log('{"outcome":"returned","value":1}'); throw 1; }`;
        const { cases, stdout } = await runJavaScript(sandbox, code, callsOf("f", []));
        expect(cases[0]!.outcome).toBe("raised");
        expect(stdout.text).toContain("returned");
      });

      test("is truncated between characters at a byte limit, not within one", async () => {
        const code = 'console.log("é".repeat(10)); function f() {}';
        const { stdout } = await runJavaScript(sandbox, code, callsOf("f", []), { limits: { outputBytes: 5 } });
        expect(stdout).toEqual({ text: "éé", bytes: 21, truncated: true });
      });
    });
  });
}
