import { expect, it } from "vitest";
import environment from "../../examples/environments/reverse-text.ts";
import { scriptedPolicy } from "../../src/core/policy/scripted-policy.ts";
import { rolloutEpisode } from "../../src/core/rollout/rollout-episode.ts";
import { checkDisjoint } from "../../src/core/taskset/disjoint.ts";
import { taskEntry } from "../../src/core/taskset/task-entry.ts";
import { checkEnvironment } from "../../src/entry-points/testing.ts";

async function rewardOf(reply: string, text = "old tiger"): Promise<unknown> {
  const task = taskEntry(text, 0);
  const { agents } = await rolloutEpisode({ environment, task, policies: scriptedPolicy([reply]), seed: 1 });
  return agents.agent!.reward;
}

it("passes the conformance suite, and train and test have no common text", async () => {
  expect((await checkEnvironment(environment)).problems).toEqual([]);
  await checkDisjoint(await environment.tasks("train"), await environment.tasks("test"));
});

it("rewards the similarity with the reversed text, in the tag", async () => {
  expect(await rewardOf("<reversed_text>\nregit dlo\n</reversed_text>")).toMatchObject({ value: 1 });
  expect(await rewardOf("regit dlo")).toMatchObject({ value: 0 });
  // "regit" is common: 2 x 5 / (5 + 9).
  expect(await rewardOf("<reversed_text>regit</reversed_text>")).toMatchObject({ value: 10 / 14 });
  expect(await rewardOf(`<reversed_text>${"regit dlo".repeat(3)}</reversed_text>`)).toMatchObject({ value: 0 });
  expect(await rewardOf("<reversed_text></reversed_text>")).toMatchObject({ value: 0 });
});
