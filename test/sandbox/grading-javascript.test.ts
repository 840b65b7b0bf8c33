import { runInNewContext } from "node:vm";
import { parseExpressionAt } from "acorn";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compileJavascriptTests } from "../../sandbox/grading/javascript/compile-javascript-tests.ts";
import { javascriptConstant } from "../../sandbox/grading/javascript/javascript-constant.ts";
import { toPlainValue } from "../../sandbox/plain-value-conversion.ts";
import { deepEqual } from "../../sandbox/plain-value-deep-equality.ts";
import { showPlainValue } from "../../sandbox/plain-value-text.ts";
import { javascriptValue } from "./plain-value-arbitraries.ts";

/** Returns the value of a whole source. Undefined if it is not a constant. */
function constantOf(source: string): ReturnType<typeof toPlainValue> | undefined {
  try {
    const node = parseExpressionAt(`(${source}\n)`, 0, { ecmaVersion: "latest" });
    return javascriptConstant(node);
  } catch {
    return undefined;
  }
}

describe("constants of JavaScript", () => {
  it("have the value that JavaScript gives them, for any literal", () => {
    let read = 0;
    fc.assert(
      fc.property(javascriptValue, (value) => {
        const plain = toPlainValue(value, "javascript");
        const source = showPlainValue(plain, { language: "javascript", maxLength: 1e9 });
        const constant = constantOf(source);
        if (constant === undefined) expect(source).toMatch(/new Set|Uint8Array|__proto__/);
        else {
          read++;
          expect(deepEqual(constant, plain, { loose: false }), source).toBe(true);
        }
      }),
      { numRuns: 1_000 },
    );
    expect(read).toBeGreaterThan(300);
  });

  it.each([
    "0",
    "-0",
    "+1",
    "1.",
    ".5",
    "1e3",
    "1E-7",
    "1_000",
    "0xff",
    "0XFF",
    "0o17",
    "0b11",
    "10n",
    "-10n",
    "0x1fn",
    "Infinity",
    "-Infinity",
    "NaN",
    "'a'",
    '"a\'b"',
    "'\\n\\t\\x41\\u0041\\u{1F600}\\'\\q\\\n'",
    "'\\0'",
    "'\\1'",
    "[]",
    "[1,]",
    "[,]",
    "[1,,2]",
    "[ 1 , [ 2 ] ]",
    "{}",
    "{a:1}",
    "{'a b':1,}",
    "{1:2, 0x10:3, b:4, a:5, 0:6}",
    "{1.5:1}",
    "{-1:1}",
    "{a}",
    "{...x}",
    "{[1]:2}",
    "{__proto__:{}}",
    "{'__proto__':1}",
    "{a:1,a:2}",
    "/* c */ 1 // d\n",
    "undefined",
    "null",
    "true",
    "truex",
    "nullish",
    "x",
    "1+1",
    "f(1)",
    "`a`",
    "/a/",
    "new Map()",
    "01",
    "1__0",
    "1_",
    "0x",
    "1n.5",
    "1.5n",
    "+1n",
    "--1",
    "'a",
    "[1",
    "{a:1",
    "{a 1}",
    "[1 2]",
    "'\\x4'",
    "'\\u{110000}'",
    "'\\u12'",
    "'\ud800'",
    "1.2.3",
    "NaNa",
    "1in[]",
    "{\u0061:1}",
    "'\u2028'",
    "function(){}",
    "(1)",
    "!0",
    "[1,2].length",
    "1 .a",
    "{get a(){return 1}}",
    "1e",
    "08",
    "-'1'",
  ])("%j has its JavaScript meaning or is undefined", (source) => {
    const constant = constantOf(source);
    if (constant === undefined) return;
    const evaluated: unknown = structuredClone(runInNewContext(`(${source}\n)`));
    expect(deepEqual(constant, toPlainValue(evaluated, "javascript"), { loose: false })).toBe(true);
    expect(showPlainValue(constant, { language: "javascript" })).toBe(
      showPlainValue(toPlainValue(evaluated, "javascript"), { language: "javascript" }),
    );
  });

  it("in common use are parsed", () => {
    for (const source of ["-0", "1.", ".5", "0xff", "-10n", "NaN", "[1,]", "{'a b':1,}", "'\\u{1F600}'", "undefined"]) {
      expect(constantOf(source), source).toBeDefined();
    }
    expect(constantOf("[".repeat(100_000))).toBeUndefined();
  });
});

describe("compileJavascriptTests", () => {
  const file = (...lines: string[]): string =>
    `const assert = require('node:assert');\n\n\nfunction test() {\n  let candidate = f;\n${lines.join("\n")}\n}\n\ntest();`;
  const compile = (test: string): ReturnType<typeof compileJavascriptTests> =>
    compileJavascriptTests({ test, language: "javascript", entryPoint: "f" });

  it("compiles calls, compared like assert.deepEqual", () => {
    const suite = compile(
      file("  assert.deepEqual(candidate(),0);", '  assert.deepEqual(candidate("a)", [1]), {a: [","]});'),
    );
    expect(suite).toEqual({
      kind: "calls",
      language: "javascript",
      function: "f",
      tests: [
        { args: [], expected: { float: "0" }, comparator: { kind: "loose" } },
        {
          args: ["a)", { list: [{ float: "1" }] }],
          expected: { dict: [["a", { list: [","] }]] },
          comparator: { kind: "loose" },
        },
      ],
    });
  });

  it("accepts a line break in a string", () => {
    const suite = compile(file('  assert.deepEqual(candidate("a\nb"), 1);'));
    expect(suite.tests[0]!.args).toEqual(["a\nb"]);
  });

  it.each([
    "  assert.deepEqual(candidate(x),0);",
    "  assert.deepEqual(candidate(1),g(1));",
    "  assert.equal(candidate(1),1);",
    "  assert.deepEqual(candidate(1)+1,1);",
    "  assert.deepEqual(candidate(1),1, 'no');",
    "  for (;;) {}",
    "",
    "  assert.deepEqual(other(1),1);",
    "  assert.deepEqual(candidate(1),1)+1;",
    "  assert.deepEqual(candidate(1)(2),1);",
    "  assert.deepEqual(candidate(1 2),1);",
    "  if (0) { assert.deepEqual(candidate(1),1); }",
  ])("rejects %j", (line) => {
    const test = file("  assert.deepEqual(candidate(1),1);".repeat(Number(line !== "")), line);
    expect(() => compile(test)).toThrow(expect.objectContaining({ code: "data.malformed" }));
  });

  it("rejects tests of another function", () => {
    const test = file("  assert.deepEqual(candidate(1),1);").replace("candidate = f", "candidate = g");
    expect(() => compile(test)).toThrow("constant");
    expect(() => compile(`${file("  assert.deepEqual(candidate(1),1);")}\nmore();`)).toThrow("constant");
  });
});
