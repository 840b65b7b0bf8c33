import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { EvaluationSummary } from "../../src/evaluation/log/summary.ts";

const source = (name: string): string => JSON.stringify(join(import.meta.dirname, "../../src", name));

/**
 * An environment with two turns. The demonstration of task n is right if n is not a multiple of 3. Every seventh task
 * is unscored, every eleventh fails while BROKEN is set, and task 5 equals task 4. Levels are easy and hard.
 */
const environment = `
import { defineEnvironment } from ${source("core/environment/define-environment.ts")};
import { unscored } from ${source("contract/reward.ts")};
const number = (n) => n === 5 ? 4 : n;
export const environment = defineEnvironment({
  id: "uneven", maxTurns: 2,
  tasks: Array.from({ length: 60 }, (_, n) => ({ n: number(n), level: n % 2 ? "hard" : "easy" })).map((task, n) => n === 5 ? { n: 4, level: "easy" } : task),
  groupOf: ({ level }) => level,
  reset: ({ task }) => "question " + task.n,
  step: async ({ task, text, turn }) => {
    await new Promise((resolve) => setTimeout(resolve, 4 * ((task.n * 7) % 5)));
    if (turn === 0) return { reply: "and now?", components: { first: 0 } };
    if (task.n % 11 === 10 && process.env.BROKEN) throw new Error("broken");
    if (task.n % 7 === 6) return { reward: unscored("nobody looked") };
    const right = text === "right " + task.n;
    return { components: { right: right ? 1 : 0 }, info: { said: text } };
  },
  demonstrate: ({ n }) => ["hm", n % 3 === 0 ? "wrong" : "right " + n],
});
`;

/** Creates a folder with `uneven.ts`, an environment with sixty tasks. It is removed when the test ends. */
export async function evalFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "lyceum-eval-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, "uneven.ts"), environment);
  return folder;
}

/** Returns a summary without times. */
export function timeless({
  time: _,
  cost: __,
  ...summary
}: EvaluationSummary): Omit<EvaluationSummary, "time" | "cost"> {
  return summary;
}
