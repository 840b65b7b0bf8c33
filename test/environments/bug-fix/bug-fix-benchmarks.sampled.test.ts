import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bugFixEnvironment } from "../../../environments/bug-fix/bug-fix.ts";
import type { BugFixOptions } from "../../../environments/bug-fix/bug-fix-options.ts";
import { listMutations, mutated } from "../../../environments/bug-fix/mutation.ts";
import { createSandbox } from "../../../sandbox/create-sandbox.ts";
import type { Sandbox } from "../../../sandbox/sandbox.ts";
import {
  collectGroups,
  createRandom,
  demonstrationPolicy,
  type Policy,
  rollout,
  scriptedPolicy,
  textOf,
} from "../../../src/index.ts";
import { benchmarkFile, noBenchmarkData } from "../../sandbox/benchmark-data.ts";
import { isSlowTier } from "../../tier.ts";
import { pythonSandbox } from "../python-sandbox.ts";

const programOf = (prompt: string): string => /```python\n([\s\S]*?)\n```/.exec(prompt)![1]!;
const block = (code: string): string => `\`\`\`python\n${code}\n\`\`\``;

/** Returns the reward of a policy for each task: the total and the tests component. */
async function play(
  options: Partial<BugFixOptions>,
  { policy, every = 1 }: { readonly policy?: Policy; readonly every?: number } = {},
): Promise<readonly { readonly value: number; readonly tests: number }[]> {
  const environment = bugFixEnvironment({ sandbox: pythonSandbox, ...options });
  const taskset = await environment.tasks(options.dataset === "mbpp" ? "train" : "test");
  const wanted = Array.from({ length: taskset.length as number }, (_, i) => i).filter((i) => i % every === 0);
  const tasks = await Promise.all(wanted.map((i) => taskset.get(i)));
  const policies = policy ?? demonstrationPolicy({ environment });
  const groups = await collectGroups(rollout({ environment, tasks, policies, seed: 3 }));
  return groups.map(({ task, episodes: [episode] }) => {
    expect(episode!.error, task.id).toBeUndefined();
    const { reward } = episode!.agents.agent!;
    if (reward.status === "unscored") throw new Error(`${task.id}: ${reward.reason}`);
    return { value: reward.value, tests: reward.components.tests! };
  });
}

describe.skipIf(noBenchmarkData)("bugs in published solutions", () => {
  const humaneval = { path: benchmarkFile("HumanEval.jsonl.gz") };
  const mbpp = { dataset: "mbpp", path: benchmarkFile("mbpp.jsonl") } as const;
  const unchanged = scriptedPolicy(({ messages }) => block(programOf(textOf(messages.at(-1)!))));
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await createSandbox({ language: "python", backend: pythonSandbox, workers: 1 });
  });
  afterAll(() => sandbox?.[Symbol.asyncDispose]());

  it("are repaired by the solutions: HumanEval", async () => {
    const every = isSlowTier ? 1 : 6;
    const earned = await play(humaneval, { every });
    expect(earned).toHaveLength(Math.ceil(164 / every));
    expect(earned.filter(({ value }) => value < 1)).toEqual([]);
  });

  it("are repaired by the solutions: MBPP, with three mistakes", async () => {
    const earned = await play({ ...mbpp, mutations: 3 }, { every: isSlowTier ? 9 : 18 });
    expect(earned).toHaveLength(isSlowTier ? 42 : 21);
    expect(earned.filter(({ value }) => value < 1)).toEqual([]);
  });

  it("are not repaired by the unchanged program", async () => {
    for (const { value } of [
      ...(await play(humaneval, { policy: unchanged, every: isSlowTier ? 4 : 8 })),
      ...(await play(mbpp, { policy: unchanged, every: isSlowTier ? 9 : 18 })),
    ]) {
      expect(value).toBe(0);
    }
  });

  it("are seldom repaired by another random mutation, even if the best of three counts", async () => {
    const climber = (attempt: number): Policy =>
      scriptedPolicy(async ({ messages, seed }) => {
        const program = programOf(textOf(messages.at(-1)!));
        const start = program.indexOf("def ");
        const mutations = await listMutations({ sandbox, program, start });
        return block(mutations.length === 0 ? "" : mutated(program, [createRandom(seed + attempt).pick(mutations)]));
      });
    const attempts: (readonly { readonly value: number }[])[] = [];
    for (const attempt of [0, 1, 2])
      attempts.push(await play(humaneval, { policy: climber(attempt), every: isSlowTier ? 6 : 12 }));
    const best = attempts[0]!.map((_, i) => Math.max(...attempts.map((values) => values[i]!.value)));
    const mean = best.reduce((sum, value) => sum + value, 0) / best.length;
    expect(mean).toBeLessThan(0.3);
  });
});
