import { isDeepStrictEqual } from "node:util";
import type { LyceumError } from "../../errors/index.ts";
import { demonstrationPolicy } from "../../policy/demonstration-policy.ts";
import { specProblem } from "../../rollout/contract-problem.ts";
import { rolloutEpisode } from "../../rollout/rollout-episode.ts";
import { contentHash } from "../../taskset/content-hash.ts";
import { checkDisjoint } from "../../taskset/disjoint.ts";
import { mapTaskset } from "../../taskset/map-taskset.ts";
import type { Law } from "../law.ts";

/** What must hold for a definition: its spec, its tasks, its demonstrations. */
export const definitionLaws: readonly Law[] = [
  {
    name: "spec-is-playable",
    check: ({ environment: { spec, splits } }) => {
      const [low, high] = spec.rewardRange;
      if (!(low <= high)) return `has the rewardRange [${low}, ${high}]`;
      if (splits.length === 0) return "has no splits";
      return specProblem(spec);
    },
  },
  {
    name: "tasks-are-data",
    check: ({ task: { task } }) => {
      try {
        return isDeepStrictEqual(JSON.parse(JSON.stringify(task)), task)
          ? undefined
          : "has a task that is another one as JSON";
      } catch (error) {
        return `has a task that is no JSON: ${(error as Error).message}`;
      }
    },
  },
  {
    name: "tasks-repeat",
    check: async ({ environment, task }) => {
      for (const split of environment.splits) {
        const [first, second] = [await environment.tasks(split), await environment.tasks(split)];
        if (first.length === 0) continue;
        if ((await first.get(0)).hash !== (await second.get(0)).hash) return `gave other tasks in split "${split}"`;
      }
      return contentHash(task.task) === task.hash ? undefined : `has a wrong hash at task "${task.id}"`;
    },
  },
  {
    name: "splits-are-disjoint",
    check: async ({ environment }) => {
      const sets = await Promise.all(environment.splits.map((split) => environment.tasks(split)));
      for (const [index, first] of sets.entries()) {
        for (const second of sets.slice(index + 1)) {
          try {
            await checkDisjoint(
              mapTaskset(first, (task) => task),
              mapTaskset(second, (task) => task),
              { sample: 50 },
            );
          } catch (error) {
            return `has splits that overlap: ${(error as LyceumError).message}`;
          }
        }
      }
      return undefined;
    },
  },
  {
    name: "demonstrations-reach-the-end",
    check: async ({ environment, task, seed }) => {
      const demonstration = environment.demonstrate?.(task.task);
      if (demonstration === undefined) return undefined;
      const { maxTurns } = environment.spec;
      if (demonstration.length > maxTurns) return `demonstrates ${demonstration.length} of ${maxTurns} turns`;
      const episode = await rolloutEpisode({ environment, task, policies: demonstrationPolicy({ environment }), seed });
      return episode.error === undefined ? undefined : `failed with its demonstration: ${episode.error.message}`;
    },
  },
];
