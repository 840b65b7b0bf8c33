import { describe, expect, test } from "vitest";
import type { TaskEntry } from "../../../src/contract/taskset.ts";
import { scriptedPolicy } from "../../../src/core/policy/scripted-policy.ts";
import { collectGroups } from "../../../src/core/rollout/collect-groups.ts";
import { episodeId } from "../../../src/core/rollout/episode-id.ts";
import { taskSeed } from "../../../src/core/rollout/episode-seeds.ts";
import { rollout } from "../../../src/core/rollout/rollout.ts";
import { memoryTaskset } from "../../../src/core/taskset/memory-taskset.ts";
import { countingEnvironment } from "./scripted-environment.ts";

const policies = scriptedPolicy(({ seed }) => String(seed));

/** Tasks 0, 1 and 0. */
async function entries(): Promise<TaskEntry<number>[]> {
  const tasks = memoryTaskset("numbers", [0, 1, 0]);
  return Promise.all([0, 1, 2].map((index) => tasks.get(index)));
}

describe("tasks with some samples to play", () => {
  test("give the episodes of a whole rollout, and groups of these alone", async () => {
    const tasks = await entries();
    const play = { environment: countingEnvironment(1), policies, seed: 3, groupSize: 3, concurrency: 2 };
    const whole = (await collectGroups(rollout({ ...play, tasks }))).flatMap(({ episodes }) => episodes);
    const sampleIndices = [[2], [], [0, 2]];
    const planned = tasks.map((task, index) => ({ ...task, sampleIndices: sampleIndices[index]! }));
    const groups = await collectGroups(rollout({ ...play, tasks: planned }));
    const played = groups.flatMap(({ episodes }) => episodes);
    const wanted = [whole[2], whole[6], whole[8]].map((episode) => ({ ...episode!, durationMs: 0 }));
    expect(played.map((episode) => ({ ...episode, durationMs: 0 }))).toEqual(wanted);
    expect(Object.keys(groups)).toEqual(["0", "2"]);
  });

  test("have ids that are known before they are played", async () => {
    const tasks = await entries();
    const groups = await collectGroups(
      rollout({ environment: countingEnvironment(1), policies, seed: 3, groupSize: 2, tasks }),
    );
    const ids = tasks.flatMap(({ hash }, index) =>
      [0, 1].map((sampleIndex) => episodeId({ hash, sampleIndex, seed: taskSeed(3, index === 2 ? 1 : 0) })),
    );
    expect(groups.flatMap(({ episodes }) => episodes.map(({ id }) => id))).toEqual(ids);
  });
});
