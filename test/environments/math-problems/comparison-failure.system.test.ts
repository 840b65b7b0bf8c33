import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { beforeAll, expect, test } from "vitest";
import type { ComparisonPoolOptions } from "../../../environments/math/equivalence/comparison-pool.ts";
import { mathProblemsEnvironment } from "../../../environments/math-problems/math-problems.ts";
import type { Episode } from "../../../src/contract/episode.ts";
import { scriptedPolicy } from "../../../src/core/policy/scripted-policy.ts";
import { collectGroups } from "../../../src/core/rollout/collect-groups.ts";
import { rollout } from "../../../src/core/rollout/rollout.ts";
import { temporaryFolder } from "../../temporary-folder.ts";

let folder = "";
let path = "";
beforeAll(async () => {
  folder = temporaryFolder();
  path = join(folder, "train.jsonl");
  await writeFile(path, JSON.stringify({ problem: "Add $x$ and $\\pi$.", answer: "\\pi+x" }));
});

/** The two episodes of a rollout in which each reply is `text`. */
async function played(text: string, checker: ComparisonPoolOptions): Promise<readonly Episode[]> {
  const environment = mathProblemsEnvironment({ path }, { checker });
  const tasks = await environment.tasks("train");
  const policies = scriptedPolicy(() => text);
  const groups = await collectGroups(rollout({ environment, tasks, policies, groupSize: 2, seed: 1 }));
  return groups.flatMap(({ episodes }) => episodes);
}

/** A comparison thread that exits at every answer with "x+". */
function startFragileThread(): Worker {
  const real = import.meta.resolve("../../../environments/math/equivalence/worker.ts");
  const program = `
    require("node:worker_threads").parentPort.on("message", ({ answers }) => {
      if (answers.some((answer) => answer.includes("x+"))) process.exit(3);
    });
    import(${JSON.stringify(real)});`;
  return new Worker(program, { eval: true, execArgv: [] });
}

test("an answer for which the comparison thread dies every time fails its episode and gets the lowest reward", async () => {
  let starts = 0;
  const start = (): Worker => {
    starts += 1;
    return startFragileThread();
  };
  const episodes = await played("\\boxed{x+\\pi}", { start });
  expect(starts).toBeGreaterThanOrEqual(2);
  expect(episodes).toHaveLength(2);
  for (const { status, error, agents } of episodes) {
    expect(status).toBe("failed");
    expect(error?.code).toBe("environment.failed");
    expect(agents.agent!.reward).toMatchObject({ status: "scored", value: 0, failure: { code: "environment.failed" } });
  }
});

test("an answer is unscored if the comparison thread also dies for the task's demonstration", async () => {
  const episodes = await played("\\boxed{x+\\pi}", { start: () => new Worker("process.exit(3)", { eval: true }) });
  expect(episodes).toHaveLength(2);
  for (const { status, agents } of episodes) {
    expect(status).toBe("failed");
    expect(agents.agent!.reward).toMatchObject({ status: "unscored" });
  }
});

test("an answer whose comparison exceeds the deadline is wrong and scored", async () => {
  const episodes = await played("\\boxed{\\sum_{k=1}^{1000000000} \\sin(k)}", { deadlineMs: 300 });
  expect(episodes).toHaveLength(2);
  for (const { status, agents } of episodes) {
    expect(status).not.toBe("failed");
    expect(agents.agent!.reward).toMatchObject({ status: "scored", value: 0 });
  }
});

test("a right answer is right", async () => {
  const episodes = await played("\\boxed{x+\\pi}", { deadlineMs: 10_000 });
  expect(episodes.map(({ agents }) => agents.agent!.reward)).toMatchObject([{ value: 1 }, { value: 1 }]);
});
