import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { toolsEnvironment } from "../../../environments/index.ts";
import type { ToolsTask } from "../../../environments/tools/tools-task.ts";
import { callText, play, replyOf, rewardOf } from "./play.ts";

const task: ToolsTask = { question: "?", answer: "1", tools: [] };

interface Samples {
  /** Code, and its output, call after call of one episode. */
  readonly session: readonly (readonly [code: string, shown: RegExp])[];
  readonly endless: string;
}

const samples: Readonly<Record<"python" | "javascript", Samples>> = {
  python: {
    session: [
      ["import math\nx = 20\nprint('set')", /\nset\n/],
      ["x + 1", /\n21\n/],
      ["def f(n):\n    return n * x\nclass A:\n    pass", /\(no output\)/],
      ["x += 1\nf(2)", /\n42\n/],
      ["print('before')\n1 / 0", /Error: ZeroDivisionError: division by zero[\s\S]*before/],
      ["x, A.__name__, 'ü\\n\u{1F600}', math.pi > 3", /\n\(21, 'A', 'ü\\n\u{1F600}', True\)\n/u],
      ["None", /\(no output\)/],
      ["this is no code", /Error: SyntaxError/],
      ["import random\nr = random.random()", /\(no output\)/],
      ["r == r and 'same'", /same/],
    ],
    endless: "while True: pass",
  },
  javascript: {
    session: [
      ["const x = 20;\nconsole.log('set')", /\nset\n/],
      ["x + 1", /\n21\n/],
      ["function f(n) { return n * x }\nclass A {}\nlet y = 1", /\(no output\)/],
      ["y += 1; f(y)", /\n40\n/],
      ["console.log('before'); null.x", /Error: TypeError[\s\S]*before/],
      ["[y, new A().constructor.name, 'ü\\n\u{1F600}']", /\[ 2, 'A', 'ü\\n\u{1F600}' \]/u],
      ["const x = 7; x", /\n7\n/],
      ["undefined", /\(no output\)/],
      ["this is no code", /Error: SyntaxError/],
      ["let r = Math.random()", /\(no output\)/],
      ["r === r && 'same'", /same/],
    ],
    endless: "for (;;) {}",
  },
};

describe.each(Object.entries(samples))("%s", (language, { session, endless }) => {
  const name = language as "python" | "javascript";
  const environment = toolsEnvironment({
    tools: [name],
    maxTurns: 20,
    cpuSeconds: 2,
    sandbox: name === "python" ? "pyodide" : "isolated-vm",
  });
  const run = (code: string): string => callText(name, { code });

  // The sandbox stays open as long as an instance.
  let instance: Awaited<ReturnType<typeof environment.create>>;
  beforeAll(async () => {
    instance = await environment.create();
  });
  afterAll(() => instance.close());

  test("keeps names between calls, shows the last value, and reports errors", async () => {
    const results = await play(
      environment,
      task,
      session.map(([code]) => run(code)),
    );
    for (const [index, [code, shown]] of session.entries()) expect(replyOf(results[index]), code).toMatch(shown);
    // Earlier output is not printed again.
    expect(replyOf(results[1])).not.toContain("set");
  });

  test("an infinite loop is stopped and not repeated, and episodes share nothing", async () => {
    const set = run(name === "python" ? "kept = 5" : "var kept = 5");
    const [, stopped, after] = await play(environment, task, [set, run(endless), run("kept")]);
    expect(replyOf(stopped)).toMatch(/Error: the code was stopped \(timeout_(?:cpu|wall)\)/);
    expect(replyOf(after)).toContain("\n5\n");
    expect(replyOf((await play(environment, task, [run("kept")]))[0])).toMatch(/Error: (NameError|ReferenceError)/);
  });

  test("an expert gets the maximum reward", async () => {
    const tasks = await environment.tasks("train");
    for (let index = 0; index < 12; index++) {
      const { task: generated } = await tasks.get(index);
      const messages = environment.demonstrate!(generated)!.map(({ agent }) => agent as string);
      const results = await play(environment, generated, messages);
      expect(replyOf(results[0]), generated.question).toContain(`\n${generated.answer}\n`);
      expect(rewardOf(results)).toBeCloseTo(1, 12);
    }
  });
});

test("a sandbox for one language leaves the other to auto, and both share an episode", async () => {
  const environment = toolsEnvironment({ tools: ["python", "javascript"], sandbox: "isolated-vm" });
  const code = "x = 2; print(x)";
  const [python, javascript] = await play(environment, task, [
    callText("python", { code }),
    callText("javascript", { code: "typeof x" }),
  ]);
  expect(replyOf(python)).toContain("\n2\n");
  expect(replyOf(javascript)).toContain("undefined");
});
