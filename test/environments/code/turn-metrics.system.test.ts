import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import { codeEnvironment } from "../../../environments/code/code.ts";
import type { CodeOptions } from "../../../environments/code/code-options.ts";
import { type Episode, rolloutEpisode, scriptedPolicy } from "../../../src/index.ts";
import { rolloutMetrics } from "../../../trainers/metrics/rollout-metrics.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { pythonSandbox } from "../python-sandbox.ts";

const problem = {
  prompt: "Twice x.",
  entryPoint: "twice",
  tests: [1, 2, 3, 4, 5].map((x) => `assert twice(${x}) == ${2 * x}`),
};

let folder = "";
beforeAll(async () => {
  folder = temporaryFolder();
  await writeFile(join(folder, "own.jsonl"), JSON.stringify(problem));
});

/** Returns the metrics of an episode with these answers. */
async function metricsOf(answers: readonly string[], options: Partial<CodeOptions> = {}) {
  const path = join(folder, "own.jsonl");
  const environment = codeEnvironment({ dataset: "jsonl", path, sandbox: pythonSandbox, maxTurns: 3, ...options });
  const task = await (await environment.tasks("train")).get(0);
  const policies = scriptedPolicy(({ episode }) => answers[episode!.turn]!);
  const episode: Episode = await rolloutEpisode({ environment, task, policies, seed: 1 });
  expect(episode.status).toBe("completed");
  return rolloutMetrics([{ task: episode.task, episodes: [episode] }]);
}

const right = "def twice(x):\n    return 2 * x";
// The first of the five tests is visible. Three of the other four are below 5.
const small = "def twice(x):\n    return 2 * x if x < 5 else 0";

it("reports each turn's levels and potential reward in the training metrics", async () => {
  const metrics = await metricsOf(["def twice(x:\n", small, right]);
  expect(metrics).toMatchObject({
    "rollout/turn-1/level": 0,
    "rollout/turn-1/reward": 0,
    "rollout/turn-2/level": 3,
    "rollout/turn-2/tests": 0.75,
    "rollout/turn-3/level": 4,
    "rollout/turn-3/passed": 1,
  });
  expect(metrics["rollout/turn-2/reward"]).toBeCloseTo(0.775);
  expect(metrics["rollout/turn-3/reward"]).toBeCloseTo(1);
});

it("reports nothing for unplayed turns, and no levels for a turn whose code did not run", async () => {
  const names = Object.keys(await metricsOf([small, right], { mode: "plain", maxTurns: 2 }));
  expect(names).toContain("rollout/turn-2/level");
  expect(names).not.toContain("rollout/turn-1/level");
  expect(names).not.toContain("rollout/turn-1/reward");
  expect(names.some((name) => name.startsWith("rollout/turn-3"))).toBe(false);
});
