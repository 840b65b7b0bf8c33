import type { LyceumError } from "../../errors/index.ts";
import { specProblem } from "../../rollout/contract-problem.ts";
import { contentHash } from "../../taskset/content-hash.ts";
import { checkDisjoint } from "../../taskset/disjoint.ts";
import { mapTaskset } from "../../taskset/map-taskset.ts";
import type { DefinitionCase, Rule } from "../rule.ts";

/** What must hold before anything is played. */
export const specIsPlayable: Rule<DefinitionCase> = {
  name: "spec-is-playable",
  hint: "Name agents and splits, and give maxTurns above 0 and a rewardRange of [least, greatest].",
  check: ({ environment: { spec, splits } }) => {
    const [low, high] = spec.rewardRange ?? [];
    if (!(low! <= high!)) return `has the rewardRange [${low}, ${high}]`;
    if (splits.length === 0) return "has no splits";
    return specProblem(spec);
  },
};

/** What must hold for the splits of a definition. */
export const definitionRules: readonly Rule<DefinitionCase>[] = [
  {
    name: "splits-have-tasks",
    hint: "Leave a split out of splits that has no tasks.",
    check: async ({ environment, signal }) => {
      const loading = signal === undefined ? {} : { signal };
      for (const split of environment.splits) {
        if ((await environment.tasks(split, loading)).length === 0) return `has no tasks in split "${split}"`;
      }
      return undefined;
    },
  },
  {
    name: "tasks-repeat",
    hint: "Draw tasks from a seed of their own, so that a split is the same each time it is loaded.",
    check: async ({ environment, signal }) => {
      const loading = signal === undefined ? {} : { signal };
      for (const split of environment.splits) {
        const [first, second] = [await environment.tasks(split, loading), await environment.tasks(split, loading)];
        if (first.length !== second.length) return `gave split "${split}" with another length the second time`;
        const count = Math.min(3, first.length === "unbounded" ? Infinity : first.length);
        for (let index = 0; index < count; index++) {
          const { task, hash, id } = await first.get(index);
          if ((await second.get(index)).hash !== hash) return `gave other tasks in split "${split}" the second time`;
          if (contentHash(task) !== hash) return `has a hash at task "${id}" that is not its content's`;
        }
      }
      return undefined;
    },
  },
  {
    name: "splits-are-disjoint",
    hint: "Keep what is tested on out of what is trained on: split by content, or slice one list.",
    check: async ({ environment, signal }) => {
      const loading = signal === undefined ? {} : { signal };
      const sets = await Promise.all(environment.splits.map((split) => environment.tasks(split, loading)));
      for (const [index, first] of sets.entries()) {
        for (const second of sets.slice(index + 1)) {
          try {
            // Mapped, so that the hashes are those of the content.
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
];
