import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import { temporaryFolder } from "../temporary-folder.ts";
import { runInProcess } from "./run-in-process.ts";

const source = JSON.stringify(join(import.meta.dirname, "../../src/core/environment/define-environment.ts"));
const environment = (step: string): string => `import { defineEnvironment } from ${source};

export const environment = defineEnvironment({
  id: "echo",
  tasks: ["one", "two"],
  reset: ({ task }) => task,
  step: ({ task, text }) => ${step},
  demonstrate: (task) => task,
});
`;

let folder: string;
beforeAll(async () => {
  folder = temporaryFolder();
  await writeFile(join(folder, "good.ts"), environment("({ reward: text === task ? 1 : 0 })"));
  await writeFile(join(folder, "bad.ts"), environment("(text === task ? 1 : 0) as never"));
});

// Compares only the file, because the test runner changes line numbers.
const check = (...words: readonly string[]): ReturnType<typeof runInProcess> =>
  runInProcess(["check", ...words], { folder });

it("counts the rules that a correct environment passes", async () => {
  const { code, stdout, stderr } = await check("./good.ts");
  expect([code, stderr]).toEqual([0, ""]);
  const [, kept, all] = /^echo: (\d+) of (\d+) rules pass\.\n$/.exec(stdout) ?? [];
  expect(Number(kept)).toBeGreaterThan(30);
  expect(kept).toBe(all);
});

it("lists them with --all", async () => {
  const { stdout } = await check("./good.ts", "--all");
  const [first, ...lines] = stdout.trimEnd().split("\n");
  expect(first).toContain(`${lines.length} rules pass`);
  for (const line of lines) expect(line).toMatch(/^ {2}ok {6}[a-z-]+$/);
});

it("prints each rule that fails, with file and line and how to fix it", async () => {
  const { code, stdout, stderr } = await check("./bad.ts");
  expect(code).toBe(1);
  expect(stdout).toMatch(
    /\n {2}FAILED {2}results-are-valid: .*returned 1 from step \(bad\.ts:\d+:\d+\)\.\n {10}fix: Return \{ reward: 1 \}/,
  );
  expect(stdout).not.toContain("  ok  ");
  expect(stderr).toMatch(/^error\[environment\.contract\]: Environment "echo" fails \d+ of the \d+ rules/);
});

it("takes options of a named environment, and another split", async () => {
  const { code, stdout } = await check("math", "--set", "answerOnly=true", "--split", "test", "--tasks", "1");
  expect(code).toBe(0);
  expect(stdout).toMatch(/^math: /);
  expect((await check("maths")).stderr).toContain("math");
});
