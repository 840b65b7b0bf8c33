import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createIsolatedVmSandbox } from "../../sandbox/isolated-vm/isolated-vm-sandbox.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { callsOf, float, runJavaScript } from "./isolated-vm-sandbox.ts";

describe("what is sent between isolates", () => {
  let sandbox: Sandbox;
  beforeAll(() => {
    sandbox = createIsolatedVmSandbox({ workers: 1 });
  });
  afterAll(async () => sandbox[Symbol.asyncDispose]());

  /** Returns the results of tests of `f` and `g`. */
  const judge = async (code: string, ...tests: string[]): Promise<string[]> => {
    const task = { kind: "judge", exports: ["f", "g"], tests, setup: 'const assert = require("assert");' } as const;
    const { status, cases } = await runJavaScript(sandbox, `${code}\nfunction g(x) { return x; }`, task);
    expect(status).toBe("ok");
    return cases.map(({ outcome, error }) => error?.message ?? outcome);
  };

  test.each([
    "9".repeat(400),
    "99999999999999999999",
  ])("an error whose stack has an absurd line becomes an error without a line", async (line) => {
    const made = `Object.assign(new RangeError("x"), { stack: "main.js:${line}" })`;
    const called = await runJavaScript(sandbox, `function f() { throw ${made}; }`, callsOf("f", []));
    expect(called).toMatchObject({ status: "ok", cases: [{ outcome: "raised" }] });
    expect(called.cases[0]!.error).toEqual({ type: "RangeError", message: "x" });
    const loaded = await runJavaScript(sandbox, `throw ${made};`, callsOf("f", []));
    expect(loaded).toMatchObject({ status: "load_error", error: { type: "RangeError", message: "x" } });
  });

  test("requests read nothing from prototypes, where a getter would receive them", async () => {
    const code = `const seen = [];
      for (const name of ["self", "property", "kind", "target", "args"])
        Object.defineProperty(Object.prototype, name, { get() { seen.push(this); }, set() {}, __proto__: null });
      function f(x) { return [x, seen.length]; }`;
    const { cases } = await runJavaScript(sandbox, code, callsOf("f", ["a"], ["b"]));
    expect(cases.map(({ value }) => value)).toEqual([{ list: ["a", float(0)] }, { list: ["b", float(0)] }]);
    expect(await judge(code, "assert.deepEqual(f(1), [1, 0])")).toEqual(["returned"]);
  });

  test("an integer with too many digits is too large immediately", async () => {
    const code = "function f(n) { return 1n << BigInt(n); }";
    const { status } = await runJavaScript(sandbox, code, callsOf("f", [float(400_000_000)]));
    expect(status).toBe("result_limit");
    const { cases } = await runJavaScript(sandbox, code, callsOf("f", [float(100_000)]));
    expect(cases[0]!.value).toEqual({ int: String(1n << 100_000n) });
  });

  test("an argument may get any key, and keeps its prototype", async () => {
    const code = `function f(x) {
      Object.defineProperty(x, "__proto__", { value: { b: 2 }, enumerable: true });
      x.c = 3;
    }`;
    const tests = [
      "const x = { a: 1 }; f(x); if (x.b !== undefined) throw new Error('a prototype')",
      'assert.deepEqual(Object.keys(x), ["a", "__proto__", "c"])',
      "assert.equal(Object.getPrototypeOf(x), Object.prototype)",
    ];
    expect(await judge(code, ...tests)).toEqual(["returned", "returned", "returned"]);
  });

  test("two reads give the same object until the code runs again", async () => {
    const code = `class Odd {
      n = 0;
      get size() { return this.n++; }
      valueOf() { return this.n++; }
      toString() { return "text " + this.n++; }
      add() { this.n += 100; }
    }
    function f() { return new Odd(); }`;
    const tests = [
      "const odd = f(); if (odd.size !== odd.size) throw new Error('size')",
      "if (!(odd >= 1 && odd <= 1)) throw new Error('value')",
      "assert.equal(''.concat(odd), String(odd))",
      "const before = odd.size; odd.add(); if (odd.size - before < 100) throw new Error('no change')",
      "const old = odd + 0; odd.n = 7; assert.equal(odd + 0, 7)",
    ];
    expect(await judge(code, ...tests)).toEqual(Array(5).fill("returned"));
  });

  test("a test may end with an object of the code", async () => {
    const code = "class Box { put() { return this; } } function f() { return new Box(); }";
    expect(await judge(code, "f().put()", "f()", "Promise.resolve(f())")).toEqual(Array(3).fill("returned"));
  });

  test("an error's name decides for classes, not for functions", async () => {
    const named = (name: string): string =>
      `class Mine extends Error {} Object.defineProperty(Mine, "name", { value: "${name}" });
       function f() { throw Object.assign(new Mine("x"), { name: "${name}" }); }`;
    const decides = 'function decides(e) { return e.message === "y"; }\nassert.throws(() => f(), decides)';
    const tests = [
      'assert.throws(() => f(), (e) => e.message === "y")',
      decides,
      "assert.throws(() => f(), RangeError)",
    ];
    const refused = expect.not.stringMatching("returned");
    expect(await judge(named(""), ...tests)).toEqual([refused, refused, refused]);
    expect(await judge(named("decides"), ...tests)).toEqual([refused, refused, refused]);
    expect(await judge(named("RangeError"), ...tests)).toEqual([refused, refused, "returned"]);
    const own = "class Mine extends Error {} function f() { throw new Mine('x'); }";
    const exported = { kind: "judge", exports: ["f", "Mine"], tests: ['require("assert").throws(f, Mine)'] } as const;
    expect((await runJavaScript(sandbox, own, exported)).cases[0]!.outcome).toBe("returned");
  });

  test("a module may wait for timers at its top level, and fails if nothing can settle it", async () => {
    const load = (text: string) =>
      runJavaScript(sandbox, `export const f = () => 5;\n${text}`, callsOf("f", []), { limits: { cpuMs: 500 } });
    const { cases } = await load("await new Promise((ok) => setTimeout(() => setTimeout(ok, 5), 5));");
    expect(cases[0]!.value).toEqual(float(5));
    const program = "export {};\nawait new Promise((ok) => setTimeout(ok, 5));\nconsole.log(7);";
    const printed = await runJavaScript(sandbox, program, { kind: "program", stdin: [""] });
    expect(printed.cases).toMatchObject([{ outcome: "returned", value: "7\n" }]);
    const late = await load("await new Promise((ok) => setTimeout(ok, 5));\nthrow new RangeError('late');");
    expect(late).toMatchObject({ status: "load_error", error: { type: "RangeError", message: "late" } });
    const never = await load("await new Promise(() => 0);");
    expect(never).toMatchObject({ status: "load_error", error: { type: "Error" } });
    expect(never.error!.message).toContain("never settles");
    expect(await load("setInterval(() => 0, 1); await new Promise(() => 0);")).toMatchObject({ status: "timeout_cpu" });
  });

  test("TypeScript that breaks the converter does not affect other jobs", async () => {
    const broken = { language: "typescript" } as const;
    for (const text of ["(", "[{a:"]) {
      const ruined = await runJavaScript(sandbox, text.repeat(50_000), callsOf("f", []), broken);
      expect(ruined).toMatchObject({ status: "load_error", attempts: 1, error: { type: "SyntaxError" } });
      expect(ruined.error!.message).not.toContain("Node.js");
      const code = `function f(x: string): string { return x + ${JSON.stringify(text)}; }`;
      const { cases } = await runJavaScript(sandbox, code, callsOf("f", ["a"]), broken);
      expect(cases[0]!.value).toBe(`a${text}`);
    }
  });
});
