import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import type { ExecuteTask } from "../../sandbox/execution.ts";
import { createIsolatedVmSandbox } from "../../sandbox/isolated-vm/isolated-vm-sandbox.ts";
import type { PlainValue } from "../../sandbox/plain-value.ts";
import { callsOf, float, list, runJavaScript } from "./isolated-vm-sandbox.ts";

const sandbox = createIsolatedVmSandbox({ workers: 2 });
afterAll(() => sandbox[Symbol.asyncDispose]());

const program = (...stdin: string[]): ExecuteTask => ({ kind: "program", stdin });

describe("calls", () => {
  test("return one observation per case", async () => {
    const code = "const add = (a, b) => a + b;";
    const result = await runJavaScript(sandbox, code, callsOf("add", [float(1), float(2)], ["a", "b"]), { id: "mine" });
    expect(result).toMatchObject({ id: "mine", status: "ok", attempts: 1, integrity: { nonceOk: true } });
    expect(result.cases).toMatchObject([
      { index: 0, outcome: "returned", value: float(3) },
      { index: 1, outcome: "returned", value: "ab" },
    ]);
    expect(result.usage.cpuMs).toBeGreaterThan(0);
  });

  test("pass every plain value of JavaScript through unchanged", async () => {
    const { plain } = fc.letrec<{ plain: PlainValue }>((tie) => ({
      plain: fc.oneof(
        { depthSize: "small", withCrossShrink: true },
        fc.constant(null),
        fc.boolean(),
        fc.string({ unit: "binary" }),
        fc.constant({ undefined: true } as const),
        fc.double().map((number) => float(Number.isNaN(number) ? "nan" : infinite(number))),
        fc.bigInt().map((number) => ({ int: String(number) })),
        fc.uint8Array({ maxLength: 9 }).map((bytes) => ({ bytes: Buffer.from(bytes).toString("base64") })),
        fc.array(tie("plain"), { maxLength: 4 }).map((items) => ({ list: items })),
        fc.uniqueArray(fc.integer(), { maxLength: 4 }).map((items) => ({ set: items.map(float) })),
        fc
          .dictionary(fc.string().filter(isNoNumber), tie("plain"), { maxKeys: 4, noNullPrototype: true })
          .map((object) => ({
            dict: Object.entries(object),
          })),
        fc.uniqueArray(fc.bigInt(), { minLength: 1, maxLength: 3 }).map((keys) => ({
          dict: keys.map((key) => [{ int: String(key) }, null] as const),
        })),
      ),
    }));
    await fc.assert(
      fc.asyncProperty(fc.array(plain, { minLength: 1, maxLength: 8 }), async (values) => {
        const task = callsOf("same", ...values.map((value) => [value]));
        const { status, cases } = await runJavaScript(sandbox, "const same = (x) => x;", task);
        expect(status).toBe("ok");
        expect(cases.map(({ value }) => value)).toEqual(values);
        expect(cases.every(({ changedArgs }) => changedArgs === undefined)).toBe(true);
      }),
      { numRuns: 60 },
    );
    function infinite(number: number): number | string {
      if (Number.isFinite(number)) return number;
      return number > 0 ? "inf" : "-inf";
    }
    /** Keys that look like numbers come first in a JavaScript object, in any order. */
    function isNoNumber(key: string): boolean {
      return !/^\d+$/.test(key) && key !== "__proto__";
    }
  });

  test("load code in a scope without our own names, as a script and as a module", async () => {
    const hidden = ["lyceumProgram", "WebAssembly", "SharedArrayBuffer", "Atomics"];
    const look = `const found = ${JSON.stringify(hidden)}.filter((name) => name in globalThis);
      const random = Math.random();
      const f = () => [found.join(), typeof require, process.argv[1], random];`;
    const run = async (code: string, seed: number) =>
      (await runJavaScript(sandbox, code, callsOf("f", []), { seed })).cases[0]!.value;
    const first = await run(look, 1);
    expect(first).toMatchObject({ list: ["", "function", "main.js", expect.anything()] });
    expect(await run(`${look}\nexport { f };`, 1)).toEqual(first);
    expect(await run(look, 1)).toEqual(first);
    expect(await run(look, 2)).not.toEqual(first);
  });

  test("return changed arguments with their current content", async () => {
    const code = "function f(a, b) { a.push(1); return b; }";
    const { cases } = await runJavaScript(sandbox, code, callsOf("f", [list(), "b"], [list(), list()]));
    expect(cases[0]).toMatchObject({ value: "b", changedArgs: [list(float(1)), "b"] });
    const raised = await runJavaScript(sandbox, "function f(a) { a.pop(); throw 1; }", callsOf("f", [list("x")]));
    expect(raised.cases[0]).toMatchObject({ outcome: "raised", changedArgs: [list()] });
  });

  test("detect a change of an argument at any depth, and report no others", async () => {
    const one = list(float(1), float("nan"), "a", list(float(0)));
    const changed: [code: string, arg: PlainValue, now: PlainValue | undefined][] = [
      ["a[3][0] = 2", one, list(float(1), float("nan"), "a", list(float(2)))],
      ["a[3][0] = -0", one, list(float(1), float("nan"), "a", list(float(-0)))],
      ["a[0] = '1'", one, list("1", float("nan"), "a", list(float(0)))],
      ["a[0] = 1n", one, list({ int: "1" }, float("nan"), "a", list(float(0)))],
      ["a.length = 1", one, list(float(1))],
      ["a.push(null)", list(), list(null)],
      ["a.x = 2", { dict: [["x", float(1)]] }, { dict: [["x", float(2)]] }],
      ["a[0].x = [1]", list({ dict: [["x", list()]] }), list({ dict: [["x", list(float(1))]] })],
      ["a.add(2)", { set: [float(1)] }, { set: [float(1), float(2)] }],
      ["a[0] = 7", { bytes: "AAA=" }, { bytes: "BwA=" }],
      ["a.push(1); a.pop()", one, undefined],
      ["a[3] = new Proxy(a[3], {})", one, undefined],
      ["a.x = 1", one, undefined],
      ["a.x = 'x'.repeat(2e6)", { dict: [["x", float(1)]] }, undefined],
      ["a[0] = () => 1", one, undefined],
      ["a[0] = new Proxy([], { getPrototypeOf() { throw 1; } })", one, undefined],
    ];
    for (const [code, arg, now] of changed) {
      const { status, cases } = await runJavaScript(sandbox, `function f(a) { ${code}; }`, callsOf("f", [arg]));
      expect(status).toBe("ok");
      expect(cases[0], code).toMatchObject({ outcome: "returned" });
      expect(cases[0]!.changedArgs, code).toEqual(now === undefined ? undefined : [now]);
    }
  });

  test("share a process, or run each case in a fresh one", async () => {
    const code = "let count = 0; const next = () => ++count;";
    const task = callsOf("next", [], [], []);
    const shared = await runJavaScript(sandbox, code, task);
    expect(shared.cases.map(({ value }) => value)).toEqual([float(1), float(2), float(3)]);
    const apart = await runJavaScript(sandbox, code, { ...task, isolate: "case" } as ExecuteTask);
    expect(apart.cases.map(({ value }) => value)).toEqual([float(1), float(1), float(1)]);
  });

  test("find functions however they are declared", async () => {
    const ways = [
      "function f() { return 1; }",
      "const f = () => 1;",
      "let f = function () { return 1; };",
      "var f = async () => 1;",
      "module.exports = { f: () => 1 };",
      "exports.f = () => 1;",
      "module.exports = function f() { return 1; };",
      "globalThis.f = () => 1;",
      "'use strict'; function f() { return 1; } // the end",
      "export function f() { return 1; }",
      "export const f = () => 1;",
      "export default function f() { return 1; }",
      "export default () => 1;",
      "function f() { return 1; } export const other = 2;",
      "const one = await Promise.resolve(1); function f() { return one; }",
      "#!/usr/bin/env node\nfunction f() { return 1; }",
    ];
    for (const code of ways) {
      const { status, cases } = await runJavaScript(sandbox, code, callsOf("f", []));
      expect([code, status, cases[0]?.value]).toEqual([code, "ok", float(1)]);
    }
  });

  test("create an instance without arguments for Class.method", async () => {
    const code = "class Counter { constructor() { this.n = 1; } add(k) { this.n += k; return this.n; } }";
    const { cases } = await runJavaScript(sandbox, code, callsOf("Counter.add", [float(1)], [float(5)]));
    expect(cases.map(({ value }) => value)).toEqual([float(2), float(6)]);
  });

  test("report load errors, with their line if there is one", async () => {
    const ways: [code: string, type: string, line?: number][] = [
      ["function f( {", "SyntaxError"],
      ["export function f( {", "SyntaxError"],
      ["let a = 1;\nnull.x; function f() {}", "TypeError", 2],
      ["export const a = 1;\nnull.x; export function f() {}", "TypeError", 2],
      ["function g() {}", "ReferenceError"],
      ["export function g() {}\nconst h = 1;", "ReferenceError"],
      ['import { x } from "./missing.js"; export function f() {}', "Error"],
      ['import { x } from "lodash"; export function f() {}', "Error"],
      ["await Promise.reject(new RangeError('r')); function f() {}", "RangeError"],
      ["/* never closed", "SyntaxError"],
      ["`never closed", "SyntaxError"],
    ];
    for (const [code, type, line] of ways) {
      const { status, cases, error } = await runJavaScript(sandbox, code, callsOf("f", [], []));
      expect([code, status, error?.type]).toEqual([code, "load_error", type]);
      if (line !== undefined) expect(error!.line).toBe(line);
      expect(cases.map(({ outcome }) => outcome)).toEqual(["missing", "missing"]);
    }
  });

  test("report errors of a case with their line", async () => {
    const code = "function f(x) {\n  if (x) {\n    throw new RangeError('no');\n  }\n}";
    const { cases } = await runJavaScript(sandbox, code, callsOf("f", [true], [false]));
    expect(cases[0]).toMatchObject({ outcome: "raised", error: { type: "RangeError", message: "no", line: 3 } });
    expect(cases[1]).toMatchObject({ outcome: "returned", value: { undefined: true } });
  });

  test("have the complete language, with what V8 adds to a context outside of its snapshot", async () => {
    const code = `const log = [];
      function f(x) {
        { using a = { [Symbol.dispose]: () => log.push("a") }; log.push(new Float16Array([x])[0], typeof DisposableStack); }
        return [...log, Math.f16round(1 / 3), /x/v.test(RegExp.escape("x")), Error.isError(new Error())];
      }`;
    const list = [float(1.5), "function", "a", float(0.333251953125), true, true];
    for (const source of [code, `${code}\nexport { f };`]) {
      const { cases, error } = await runJavaScript(sandbox, source, callsOf("f", [float(1.5)]));
      expect(error).toBeUndefined();
      expect(cases[0]).toMatchObject({ outcome: "returned", value: { list } });
    }
  });

  test("take random numbers from the seed", async () => {
    const code = "const f = () => [Math.random(), Math.random()];";
    const [a, b, c] = await Promise.all(
      [1, 1, 2].map((seed) => runJavaScript(sandbox, code, callsOf("f", []), { seed })),
    );
    expect(a!.cases[0]!.value).toEqual(b!.cases[0]!.value);
    expect(a!.cases[0]!.value).not.toEqual(c!.cases[0]!.value);
  });

  test("end the following cases at a limit, and keep the earlier ones", async () => {
    const code = "function f(x) { while (x) ; return x; }";
    const task = callsOf("f", [float(0)], [float(1)], [float(0)]);
    const { status, cases, usage } = await runJavaScript(sandbox, code, task, { limits: { cpuMs: 150 } });
    expect(status).toBe("timeout_cpu");
    expect(cases.map(({ outcome }) => outcome)).toEqual(["returned", "missing", "missing"]);
    expect(usage.cpuMs).toBeGreaterThanOrEqual(150);
  });

  test("reject invalid requests", async () => {
    const refused = { code: "sandbox.request" };
    await expect(runJavaScript(sandbox, "", callsOf("f()", []))).rejects.toMatchObject(refused);
    await expect(runJavaScript(sandbox, "", callsOf("f", []), { language: "python" })).rejects.toMatchObject(refused);
    await expect(runJavaScript(sandbox, "", callsOf("f", []), { entry: "no.js" })).rejects.toMatchObject(refused);
    await expect(runJavaScript(sandbox, "", callsOf("f", []), { files: { "../a": "" } })).rejects.toMatchObject(
      refused,
    );
    const limits = { cpuMs: Number.NaN };
    await expect(runJavaScript(sandbox, "", callsOf("f", []), { limits })).rejects.toMatchObject(refused);
  });
});

describe("files", () => {
  test("of scripts can require each other, also in cycles", async () => {
    const files = {
      "lib/even.js": 'const odd = require("./odd"); exports.even = (n) => n === 0 || odd.odd(n - 1);',
      "lib/odd.js": 'const even = require("./even.js"); exports.odd = (n) => n !== 0 && even.even(n - 1);',
      "data.json": '{ "n": 10 }',
    };
    const code =
      'const { even } = require("./lib/even"); const { n } = require("./data.json"); const f = () => even(n);';
    const { cases, error } = await runJavaScript(sandbox, code, callsOf("f", []), { files });
    expect(error).toBeUndefined();
    expect(cases[0]!.value).toBe(true);
  });

  test("of modules can import each other, also in cycles", async () => {
    const files = {
      "lib/even.js": 'import { odd } from "./odd.js"; export const even = (n) => n === 0 || odd(n - 1);',
      "lib/odd.js":
        'import { even } from "./even.js"; import data from "../data.json"; export const odd = (n) => n !== 0 && even(n - 1); export { data };',
      "data.json": '{ "n": 11 }',
    };
    const code =
      'import { even } from "./lib/even.js"; import { data } from "./lib/odd.js"; export const f = () => even(data.n);';
    const { cases, error } = await runJavaScript(sandbox, code, callsOf("f", []), { files });
    expect(error).toBeUndefined();
    expect(cases[0]!.value).toBe(false);
  });

  test("of TypeScript lose their types, also enums, and report syntax errors as load errors", async () => {
    const typeScript = { language: "typescript", entry: "main.ts" } as const;
    const files = {
      "main.ts":
        'import { Color, type Named } from "./color";\nexport function f(x: Named): number { return x.name.length + Color.Blue; }',
      "color.ts": "export enum Color { Red, Blue } export interface Named { readonly name: string }",
    };
    const task = callsOf("f", [{ dict: [["name", "abc"]] }]);
    const { cases, error } = await runJavaScript(sandbox, "", task, { ...typeScript, files });
    expect(error).toBeUndefined();
    expect(cases[0]!.value).toEqual(float(4));
    for (const code of ["function f(x: number { }", "[".repeat(200_000)]) {
      const broken = await runJavaScript(sandbox, "", task, { ...typeScript, files: { "main.ts": code } });
      expect(broken.status).toBe("load_error");
    }
    const again = await runJavaScript(sandbox, "", task, { ...typeScript, files });
    expect(again.cases[0]!.value).toEqual(float(4));
  });
});

describe("programs", () => {
  test("run fresh for each input, and their output is the value of the case", async () => {
    const code = "let n = 0; const lines = readStdin().split('\\n'); for (const line of lines) console.log(++n, line);";
    const { status, cases, stdout } = await runJavaScript(sandbox, code, program("a\nb", "c", ""));
    expect(status).toBe("ok");
    expect(cases.map(({ value }) => value)).toEqual(["1 a\n2 b\n", "1 c\n", "1 \n"]);
    expect(stdout.text).toBe("");
  });

  test("read input like Node programs, run timers and may exit", async () => {
    const code = `const text = require("fs").readFileSync(0, "utf8").trim();
      process.stdout.write("a");
      setTimeout(() => console.log("c"), 10);
      queueMicrotask(() => process.stdout.write("b"));
      if (text !== "") { process.stdout.write("!"); process.exit(Number(text)); }`;
    const { cases } = await runJavaScript(sandbox, code, program("", "0", "3"));
    expect(cases).toMatchObject([
      { outcome: "returned", value: "abc\n" },
      { outcome: "returned", value: "a!" },
      { outcome: "raised", value: "a!", error: { type: "exit" } },
    ]);
    const module = 'import { readFileSync } from "node:fs"; console.log(readFileSync("/dev/stdin", "utf8"));';
    expect((await runJavaScript(sandbox, module, program("x"))).cases[0]).toMatchObject({ value: "x\n" });
  });

  test("end at an error and keep earlier output", async () => {
    const { status, cases, stderr } = await runJavaScript(
      sandbox,
      'console.log("x"); console.error("why"); throw new RangeError("no");',
      program("", ""),
    );
    expect(status).toBe("ok");
    expect(cases[0]).toMatchObject({ outcome: "raised", value: "x\n", error: { type: "RangeError" } });
    expect(stderr.text).toBe("why\nwhy\n");
  });

  test("print values with console.log as Node does", async () => {
    const code = `
      console.log("a", 1, -0, 2n, true, null, undefined, Symbol("s"));
      console.log([1, "two", [3]], { a: 1, "b-c": "it's", d: { e: {} } });
      console.log(new Map([["a", 1]]), new Set([1, 2]), [], {}, () => 1);
      console.log("%s is %d", "x", 5, "more");
      console.log("100%");
      console.log({ a: { b: { c: { d: 1 } } } });
      console.log(new (class Point { constructor() { this.x = 1; } })());
      console.log();`;
    const { cases } = await runJavaScript(sandbox, code, program(""));
    expect(String(cases[0]!.value).split("\n")).toEqual([
      "a 1 -0 2n true null undefined Symbol(s)",
      "[ 1, 'two', [ 3 ] ] { a: 1, 'b-c': \"it's\", d: { e: {} } }",
      "Map(1) { 'a' => 1 } Set(2) { 1, 2 } [] {} [Function (anonymous)]",
      "x is 5 more",
      "100%",
      "{ a: { b: { c: [Object] } } }",
      "Point { x: 1 }",
      "",
      "",
    ]);
  });

  test("run as a script with one case, with separate output", async () => {
    const task = { kind: "script", integrity: "inline", stdin: "x" } as const;
    const { cases, stdout } = await runJavaScript(sandbox, "console.log(readStdin()); null.y", task);
    expect(cases).toMatchObject([{ outcome: "raised", error: { type: "TypeError" } }]);
    expect(stdout.text).toBe("x\n");
  });
});

describe("judges", () => {
  const setup = `const equal = (a, b) => {
    if (JSON.stringify(a) !== JSON.stringify(b)) throw new Error(JSON.stringify(a) + " is not " + JSON.stringify(b));
  };`;
  const judge = (exports: string[], ...tests: string[]): ExecuteTask => ({ kind: "judge", setup, exports, tests });

  test("call functions, and continue after a failed test", async () => {
    const code =
      "function add(a, b) { return a + b; } async function later(x) { if (x) return x; throw new RangeError('r'); }";
    const tests = [
      "equal(add(1, 2), 3);",
      "equal(add(1, 2), 4);",
      "(async () => equal(await later(5), 5))();",
      "(async () => { await later(0); })();",
      "let caught; (async () => { try { await later(0); } catch (e) { caught = e; } equal([caught.name, caught.message], ['RangeError', 'r']); })();",
      "equal(add([1], 'x'), '1x');",
    ];
    const { status, cases } = await runJavaScript(sandbox, code, judge(["add", "later"], ...tests));
    expect(status).toBe("ok");
    expect(cases.map(({ outcome }) => outcome)).toEqual([
      "returned",
      "raised",
      "returned",
      "raised",
      "returned",
      "returned",
    ]);
    expect(cases[1]!.error).toMatchObject({ type: "Error", message: "3 is not 4" });
    expect(cases[3]!.error).toMatchObject({ type: "RangeError", message: "r" });
  });

  test("have Node's assert", async () => {
    const code =
      "class Mine extends Error { name = 'Mine'; } function f(x) { if (x === 0) throw new Mine('no'); return { x: [x] }; }";
    const assert = 'const assert = require("node:assert");';
    const tests = [
      "assert.deepStrictEqual(f(1), { x: [1] });",
      "assert.deepStrictEqual(f(1), { x: [2] });",
      'assert(require("assert/strict").equal !== assert.equal && require("assert").equal(1, "1") === undefined);',
      "assert.throws(() => f(0), Mine); assert.throws(() => f(0), /no/); assert.throws(() => f(0), { message: 'no' });",
      "assert.throws(() => f(1));",
      "assert.throws(() => f(0), TypeError);",
      'require("node:fs");',
    ];
    const task: ExecuteTask = { kind: "judge", setup: assert, exports: ["f", "Mine"], tests };
    const { cases } = await runJavaScript(sandbox, code, task);
    expect(cases.map(({ outcome }) => outcome === "returned")).toEqual([true, false, true, true, false, false, false]);
    expect(cases[1]!.error).toMatchObject({
      type: "AssertionError",
      message: "{ x: [ 1 ] } should equal { x: [ 2 ] }",
    });
  });

  test("create objects, call their methods, and read and write their properties", async () => {
    const code = `class Stack {
      constructor(limit) { this.limit = limit; this.items = []; }
      push(x) { if (this.items.length >= this.limit) throw new RangeError("full"); this.items.push(x); return this; }
      get top() { return this.items.at(-1); }
    }
    const sort = (list) => { list.sort(); };`;
    const tests = [
      "const s = new Stack(2); s.push(1).push(2); equal(s.top, 2); equal(s.items, [1, 2]); equal(s.limit, 2);",
      "s.limit = 3; s.push(9); equal(s.items, [1, 2, 9]);",
      "try { s.push(0); throw new Error('no error'); } catch (e) { equal(e.message, 'full'); }",
      "const list = [3, 1]; sort(list); equal(list, [1, 3]);",
    ];
    const { cases } = await runJavaScript(sandbox, code, judge(["Stack", "sort"], ...tests));
    expect(cases.map(({ outcome, error }) => error ?? outcome)).toEqual([
      "returned",
      "returned",
      "returned",
      "returned",
    ]);
  });

  test("hide the tests from the code, which cannot change them", async () => {
    const code = `
      const own = Object.getOwnPropertyNames(globalThis).join();
      JSON.stringify = () => "same"; Error.prototype.toString = () => ""; globalThis.equal = () => {};
      function f() { return own.includes("equal") || own.includes("secret") ? "seen" : "unseen"; }
      function g() { return { toJSON: () => 3, valueOf: () => 3, [Symbol.toPrimitive]: () => 3 }; }`;
    const tests = [
      "const secret = 3; equal(f(), 'unseen');",
      "equal(g(), 3);",
      "if (g() == 3) ; else throw new Error('no');",
    ];
    const { cases } = await runJavaScript(sandbox, code, judge(["f", "g"], ...tests));
    expect(cases.map(({ outcome }) => outcome)).toEqual(["returned", "raised", "raised"]);
  });

  test("enforce limits while a test waits for the code", async () => {
    const code = "function f(x) { while (x) ; return x; }";
    const { status, cases } = await runJavaScript(sandbox, code, judge(["f"], "equal(f(0), 0)", "f(1)", "f(0)"), {
      limits: { cpuMs: 200 },
    });
    expect(status).toBe("timeout_cpu");
    expect(cases.map(({ outcome }) => outcome)).toEqual(["returned", "missing", "missing"]);
    const exits = await runJavaScript(sandbox, "function f() { process.exit(0); }", judge(["f"], "f()"));
    expect(exits.status).toBe("exited");
    expect(exits.cases[0]!.outcome).toBe("missing");
  });

  test("report a missing function as a load error", async () => {
    const { status } = await runJavaScript(sandbox, "function f() {}", judge(["f", "g"], "equal(1, 1)"));
    expect(status).toBe("load_error");
  });

  test("remove the types of TypeScript tests", async () => {
    const task = judge(["f"], "const x: number = f(1) as number; equal(x, 2);");
    const { cases } = await runJavaScript(sandbox, "const f = (x: number): number => x + 1;", task, {
      language: "typescript",
    });
    expect(cases[0]!.outcome).toBe("returned");
  });
});
