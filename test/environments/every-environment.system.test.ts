import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { environments } from "../../environments/index.ts";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import type { Policy } from "../../src/contract/policy.ts";
import { demonstrationPolicy } from "../../src/core/policy/demonstration-policy.ts";
import { scriptedPolicy } from "../../src/core/policy/scripted-policy.ts";
import { EnvironmentPool } from "../../src/core/rollout/environment-pool.ts";
import { rolloutEpisode } from "../../src/core/rollout/rollout-episode.ts";
import { checkEnvironment } from "../../src/entry-points/testing.ts";
import { temporaryFolder } from "../temporary-folder.ts";

/** Environments that need a Docker engine. Their own tests run the conformance suite. */
const inContainers: readonly string[] = ["harbor"];

const data = process.env.LYCEUM_TEST_DATA ?? join(import.meta.dirname, "../../../shared/data");

let folder = "";
beforeAll(async () => {
  folder = temporaryFolder();
  for (const [id, rows] of Object.entries(written)) {
    await writeFile(join(folder, `${id}.jsonl`), rows.map((row) => JSON.stringify(row)).join("\n"));
  }
});

const greetings = ["Good morning", "Good evening", "Good night"];

/** The rows of environments that read a file. */
const written: Readonly<Record<string, readonly object[]>> = {
  "math-problems": [
    { problem: "Write 1/4 + 1/4 as one fraction.", solution: "Together \\boxed{\\frac{1}{2}}." },
    { problem: "Solve x^2 = 4.", solution: "\\boxed{\\{-2, 2\\}}" },
    { problem: "Factor x^2 - 1.", solution: "\\boxed{(x-1)(x+1)}" },
  ],
  conversations: greetings.map((content) => ({
    messages: ["user", "assistant", "user", "assistant"].map((role) => ({ role, content })),
  })),
  preferences: greetings.map((prompt) => ({ prompt, chosen: prompt, rejected: "Go away" })),
};

/** The files of environments that need one. The others have built-in tasks. */
const files: Readonly<Record<string, string>> = {
  gsm8k: "gsm8k-train.jsonl",
  code: "HumanEval.jsonl.gz",
  "bug-fix": "HumanEval.jsonl.gz",
  "class-completion": "ClassEval_data.json",
};

/** If a right first guess is required for the maximum reward. */
const topTakesLuck: readonly string[] = ["word-guessing"];

const fool = scriptedPolicy(() => "I do not know.", { name: "fool" });
/** Environments that run programs. Their own tests play more of their tasks. */
const running: readonly string[] = ["code", "bug-fix", "class-completion"];

const ids = environments.list().flatMap(({ id }) => (inContainers.includes(id) ? [] : [id]));

describe.each(ids)("%s", (id) => {
  const path = files[id] === undefined ? undefined : join(data, files[id]);
  const missing = path !== undefined && !existsSync(path) ? `${path} is not here` : "";
  const make = (): EnvironmentDefinition => {
    if (written[id] !== undefined) return environments.create(id, { path: join(folder, `${id}.jsonl`) });
    return environments.create(id, path === undefined ? {} : { path });
  };

  test.skipIf(missing !== "")(`passes the conformance suite ${missing}`, async () => {
    const skip = topTakesLuck.includes(id) ? ["demonstrations-reach-the-top"] : [];
    const { problems } = await checkEnvironment(make(), { tasks: 1, episodes: running.includes(id) ? 1 : 2, skip });
    expect(problems).toEqual([]);
  });

  test.skipIf(missing !== "")(`rewards an expert more than a random policy ${missing}`, async () => {
    const environment = make();
    const tasks = running.includes(id) ? 1 : 3;
    const [minimum, maximum] = environment.spec.rewardRange;
    const foolish = await mean(environment, fool, tasks);
    expect(foolish).toBeGreaterThanOrEqual(minimum);
    expect(foolish).toBeLessThanOrEqual(minimum + 0.5 * (maximum - minimum));
    // In a zero-sum game, experts get the same total as random players. The environment's own tests play one side.
    if (environment.demonstrate === undefined || minimum === -maximum) return;
    const expert = await mean(environment, demonstrationPolicy({ environment }), tasks);
    expect(expert).toBeGreaterThan(foolish);
    expect(expert).toBeLessThanOrEqual(maximum);
  });
});

/** The mean reward over the agents and a few tasks. */
async function mean(environment: EnvironmentDefinition, policies: Policy, tasks: number): Promise<number> {
  const taskset = await environment.tasks(environment.splits[0]!);
  await using pool = new EnvironmentPool(environment);
  const rewards: number[] = [];
  for (let index = 0; index < tasks; index++) {
    const episode = await rolloutEpisode({ environment: pool, task: await taskset.get(index), policies, seed: index });
    expect(episode.error).toBeUndefined();
    for (const { reward } of Object.values(episode.agents)) {
      expect(reward.status).toBe("scored");
      if (reward.status === "scored") rewards.push(reward.value);
    }
  }
  return rewards.reduce((sum, value) => sum + value, 0) / rewards.length;
}
