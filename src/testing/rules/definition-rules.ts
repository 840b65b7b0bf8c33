import type { LyceumError } from "../../contract/errors/index.ts";
import { isJsonObject } from "../../contract/json.ts";
import { versionProblem } from "../../contract/specification-version.ts";
import { specProblem } from "../../core/rollout/contract-problem.ts";
import { contentHash } from "../../core/taskset/content-hash.ts";
import { checkDisjoint } from "../../core/taskset/disjoint.ts";
import { mapTaskset } from "../../core/taskset/map-taskset.ts";
import { visibleLine } from "../../core/text/visible-text.ts";
import { loadBounded } from "../play-episode.ts";
import type { DefinitionCase, Rule } from "../rule.ts";

/** The rule that is checked before an environment is played. */
export const specIsPlayable: Rule<DefinitionCase> = {
  name: "spec-is-playable",
  hint: 'Set specificationVersion to "v1", name agents and splits, and set maxTurns above 0 and rewardRange to [lowest, highest].',
  check: ({ environment }) => {
    const { spec, splits } = environment;
    const [low, high] = spec.rewardRange ?? [];
    if (!(low! <= high!)) return `has the rewardRange [${low}, ${high}]`;
    if (splits.length === 0) return "has no splits";
    return versionProblem(environment) ?? specProblem(spec);
  },
};

/** The maximum number of tasks of a split that are compared with each other. */
const comparedTasks = 200;

/** The rules about the splits of a definition. */
export const definitionRules: readonly Rule<DefinitionCase>[] = [
  {
    name: "splits-have-tasks",
    hint: "Remove a split without tasks from splits.",
    check: async (given) => {
      for (const split of given.environment.splits) {
        if ((await loadBounded(given, split)).length === 0) return `has no tasks in split "${split}"`;
      }
      return undefined;
    },
  },
  {
    name: "names-are-visible",
    hint: "Use letters, digits and other visible characters in ids and names: they are shown in terminals and logs.",
    check: async (given) => {
      const { spec, splits } = given.environment;
      const names: [kind: string, names: readonly string[]][] = [
        ["id", [spec.id]],
        ["agent", spec.agents],
        ["split", splits],
      ];
      for (const split of splits) {
        const tasks = await loadBounded(given, split);
        const ids: string[] = [];
        const count = Math.min(tasks.length === "unbounded" ? Infinity : tasks.length, comparedTasks);
        for (let index = 0; index < count; index++) ids.push((await tasks.get(index)).id);
        names.push([`task id in split "${split}"`, ids]);
      }
      for (const [kind, listed] of names) {
        const hidden = listed.find((name) => visibleLine(name) !== name);
        if (hidden !== undefined) return `has a character that is not visible in the ${kind} ${JSON.stringify(hidden)}`;
      }
      return undefined;
    },
  },
  {
    name: "tasks-are-reproducible",
    hint: "Generate tasks from a fixed seed, so that a split is the same each time it is loaded.",
    check: async (given) => {
      for (const split of given.environment.splits) {
        const [first, second] = [await loadBounded(given, split), await loadBounded(given, split)];
        if (first.length !== second.length) return `gave split "${split}" with another length the second time`;
        const count = Math.min(3, first.length === "unbounded" ? Infinity : first.length);
        for (let index = 0; index < count; index++) {
          const { task, hash, id } = await first.get(index);
          if ((await second.get(index)).hash !== hash) return `gave other tasks in split "${split}" the second time`;
          // The task of a remote environment names the content on its server by its hash.
          const isReference = isJsonObject(task) && task.hash === hash;
          if (!isReference && contentHash(task) !== hash) return `has a hash at task "${id}" that is not its content's`;
        }
      }
      return undefined;
    },
  },
  {
    name: "tasks-are-distinct",
    hint: "List each task once: tasks with equal content are the same task, which then counts twice.",
    check: async (given) => {
      for (const split of given.environment.splits) {
        const tasks = await loadBounded(given, split);
        // An infinite generator repeats some tasks.
        if (tasks.length === "unbounded") continue;
        const seen = new Map<string, string>();
        for (let index = 0; index < Math.min(tasks.length, comparedTasks); index++) {
          const { task, id } = await tasks.get(index);
          const hash = contentHash(task);
          const first = seen.get(hash);
          if (first !== undefined) return `has the same task twice in split "${split}", as "${first}" and "${id}"`;
          seen.set(hash, id);
        }
      }
      return undefined;
    },
  },
  {
    name: "splits-are-disjoint",
    hint: "Keep test tasks out of the training tasks: split by content, or slice one list.",
    check: async (given) => {
      const sets = await Promise.all(given.environment.splits.map((split) => loadBounded(given, split)));
      for (const [index, first] of sets.entries()) {
        for (const second of sets.slice(index + 1)) {
          try {
            // Mapped, so that the hashes are computed from the content.
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
