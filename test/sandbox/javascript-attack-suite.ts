import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { gradeCode, type Sandbox, type TestSuite } from "../../sandbox/index.ts";
import { callsOf, float, list, runJavaScript } from "./isolated-vm-sandbox.ts";
import type { JavascriptAttack } from "./javascript-attacks.ts";

const limits = { cpuMs: 300, memoryMb: 64, wallMs: 60_000 };

/** The right result of `f` for each of its arguments. */
const honest = `function f(x) {
  if (x === 1) return 1234;
  if (x === 2) return [12, 34];
  if (x === 3) return { a: "x", b: [true] };
  if (x === -1) throw new Error("1234 is right");
  if (Array.isArray(x)) x.sort();
  else x.a = 2;
}`;

const answers = [
  { args: [float(1)], expected: float(1234) },
  { args: [float(2)], expected: list(float(12), float(34)) },
  // biome-ignore format: one line each.
  { args: [float(3)], expected: { dict: [["a", "x"], ["b", list(true)]] as const } },
];

/** Tests by comparison, by reading twice, by operators of the language, by errors, and by changed arguments. */
const judgeTests = [
  "strict.equal(f(1), 1234)",
  "assert.equal(f(1), 1234)",
  "strict.deepEqual(f(2), [12, 34])",
  "assert.deepEqual(f(2), [12, 34])",
  'strict.deepEqual(f(3), { a: "x", b: [true] })',
  'const got = f(1); if (!(got >= 1234 && got <= 1234)) throw new Error("no")',
  'const it = f(2); if (it.length !== 2) throw new Error("no"); for (let i = 0; i < it.length; i++) strict.equal(it[i], [12, 34][i])',
  'const { a, b } = f(3); strict.equal(a, "x"); strict.equal(b[0], true)',
  'if ("".concat(f(1)) !== "1234") throw new Error("no")',
  'strict.equal(JSON.stringify(f(2)), "[12,34]")',
  "(async () => strict.equal(await f(1), 1234))()",
  'if (!Number.isFinite(f(1)) || Math.abs(f(1) - 1234) > 0.5) throw new Error("no")',
  'strict.throws(() => f(-1), (error) => error.message === "1234 is right")',
  'function decides(error) { return error.message === "1234 is right"; }\nassert.throws(() => f(-1), decides)',
  'strict.throws(() => f(-1), { name: "Error", message: "1234 is right" })',
  "assert.rejects(async () => f(-1), /^Error: 1234 is right$/)",
  "const items = [3, 1]; f(items); strict.deepEqual(items, [1, 3])",
  "const object = { a: 1 }; f(object); strict.deepEqual(object, { a: 2 })",
];

/** The same tests, as each kind of suite. */
function suites(language: "javascript" | "typescript"): TestSuite[] {
  const setup = 'const assert = require("node:assert"), strict = require("node:assert/strict");';
  const loose = answers.map((test) => ({ ...test, comparator: { kind: "loose" as const } }));
  return [
    { kind: "calls", language, function: "f", limits, tests: [...answers, ...loose] },
    { kind: "judge", language, setup, exports: ["f"], limits, tests: judgeTests.map((code) => ({ code })) },
    { kind: "program", language, limits, tests: [{ stdin: "1", expected: "1234" }] },
  ];
}

/** Uses what attacks change, and returns what it found. */
const probe = `function f(x) {
  console.log("out", { a: [1] }, new Map([[1, 2]]));
  console.error("err");
  const found = [Object.keys({}).length, Reflect.ownKeys(globalThis).length, typeof Symbol.keyFor(Symbol.for("x"))];
  found.push([3, 1, 2].sort().join(), JSON.stringify({ a: [x] }), String(new Error("x")), Math.random());
  found.push(Object.keys(process.env).length, process.argv.length, readStdin(), RegExp.input, typeof leftOver);
  return new Promise((ok) => setTimeout(() => ok(found), 1));
}`;

/** The number of canaries so far. */
let songs = 0;

/** The expected result of a canary for each kind of task and both languages. */
async function sing(sandbox: Sandbox): Promise<unknown> {
  const probed = await runJavaScript(sandbox, probe, callsOf("f", [float(1)]));
  // Text that is new each time, so that it is converted again.
  const typed = `const note: number = ${++songs};\n${honest.replace("(x)", "(x: any)")}`;
  const code = { javascript: `${honest} if (readStdin() === "1") console.log(1234);`, typescript: typed };
  const grades = [];
  for (const suite of [...suites("javascript"), ...suites("typescript").slice(0, 2)]) {
    const grade = await gradeCode({
      sandbox,
      suite,
      code: suite.language === "typescript" ? code.typescript : code.javascript,
    });
    grades.push(grade.infra ? grade : { status: grade.status, fraction: grade.fraction });
  }
  const { status, attempts, cases, stdout, stderr } = probed;
  return { status, attempts, found: cases.map(({ value }) => value), stdout, stderr, grades };
}

/**
 * Runs attacks on a sandbox with one worker. None passes a test, each is scored, and a canary after each gives its
 * expected result.
 */
export function describeJavascriptAttacks(options: {
  readonly name: string;
  readonly open: () => Promise<Sandbox> | Sandbox;
  readonly attacks: readonly JavascriptAttack[];
  /** The reason why this machine has none. Its tests are then skipped. */
  readonly missing?: string | undefined;
}): void {
  const { name, open, attacks, missing } = options;
  const title = missing === undefined ? name : `${name} (skipped: ${missing})`;
  describe.skipIf(missing !== undefined)(`JavaScript attacks on ${title}`, () => {
    let sandbox: Sandbox;
    let known: unknown;
    beforeAll(async () => {
      sandbox = await open();
      known = await sing(sandbox);
    });
    afterAll(async () => sandbox?.[Symbol.asyncDispose]());

    test("a canary gives its expected result before any attack", () => {
      const right = { status: "ok", fraction: 1 };
      expect(known).toMatchObject({ status: "ok", attempts: 1, grades: Array(5).fill(right) });
      expect((known as { found: unknown }).found).not.toEqual([undefined]);
    });

    test.each(attacks.map((attack) => [attack.name, attack] as const))("%s", async (_, { code, language }) => {
      for (const suite of suites(language ?? "javascript")) {
        const grade = await gradeCode({ sandbox, suite, code });
        if (grade.infra) throw new Error(`Unscored: ${grade.error.message}`);
        const passed = grade.tests.flatMap((each) => (each.passed ? [suite.tests[each.index]] : []));
        expect(passed, suite.kind).toEqual([]);
        expect(await sing(sandbox)).toEqual(known);
      }
    });
  });
}
