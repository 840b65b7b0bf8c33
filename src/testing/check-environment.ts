import type { EnvironmentDefinition } from "../environment/environment.ts";
import { toErrorData } from "../errors/index.ts";
import { deriveSeed } from "../random/random.ts";
import type { Law, LawCase } from "./law.ts";
import { definitionLaws } from "./laws/definition-laws.ts";
import { episodeLaws } from "./laws/episode-laws.ts";
import { instanceLaws } from "./laws/instance-laws.ts";

const anyAnswer = "takes-any-answer";

/** A law that an environment broke, and how to see it again. */
export interface BrokenLaw {
  readonly law: string;
  /** What is wrong, as a sentence. */
  readonly explanation: string;
  /** The task, and the seed that the instance was reset and its actions were drawn with. */
  readonly reproduction: { readonly split: string; readonly task: string; readonly seed: number };
}

/** What came of a check. */
export interface EnvironmentReport {
  /** The names of the laws that were tried. */
  readonly laws: readonly string[];
  /** Each broken law once, with the first case that broke it; empty for a lawful environment. */
  readonly broken: readonly BrokenLaw[];
}

/**
 * Tries every law of environments on a few tasks with random actions (noise, nothing, long texts, odd characters,
 * tool calls), the same ones for the same seed. Reports all laws that are broken; an error of the environment breaks
 * the law `takes-any-answer`. Rejects only where tasks cannot be loaded and when `signal` aborts.
 */
export async function checkEnvironment<Task>(options: {
  readonly environment: EnvironmentDefinition<Task>;
  /** The first of the environment's splits by default. */
  readonly split?: string;
  /** How many tasks to play; 3 by default. */
  readonly tasks?: number;
  /** How many episodes of each task; 4 by default. */
  readonly episodes?: number;
  readonly seed?: number;
  readonly signal?: AbortSignal;
}): Promise<EnvironmentReport> {
  const { environment, seed = 0, signal } = options;
  const split = options.split ?? environment.splits[0] ?? "train";
  const loading = signal === undefined ? {} : { signal };
  const taskset = await environment.tasks(split, loading);
  const count = Math.min(options.tasks ?? 3, taskset.length === "unbounded" ? Infinity : taskset.length);
  const played: readonly Law[] = [...episodeLaws, ...instanceLaws];
  const laws: readonly Law[] = [...definitionLaws, ...played];
  const broken = new Map<string, BrokenLaw>();
  for (let index = 0; index < count; index++) {
    for (let episode = 0; episode < (options.episodes ?? 4); episode++) {
      const task = await taskset.get(index, loading);
      const own = deriveSeed(seed, task.hash, episode);
      const given = { environment: environment as EnvironmentDefinition, task, seed: own, ...loading };
      // Those of the definition read whole splits, and are the same for every episode.
      for (const law of episode === 0 ? laws : played) {
        signal?.throwIfAborted();
        if (broken.has(law.name)) continue;
        const found = await tryLaw(law, given);
        if (found === undefined || broken.has(found.law)) continue;
        broken.set(found.law, {
          law: found.law,
          explanation: `Environment "${environment.spec.id}" ${found.problem}.`,
          reproduction: { split, task: task.id, seed: own },
        });
      }
    }
  }
  return { laws: [anyAnswer, ...laws.map(({ name }) => name)], broken: [...broken.values()] };
}

/** The law that is broken: an error, wherever it came up, breaks the one that any answer is taken. */
async function tryLaw(law: Law, given: LawCase): Promise<{ law: string; problem: string } | undefined> {
  try {
    const problem = await law.check(given);
    return problem === undefined ? undefined : { law: law.name, problem };
  } catch (error) {
    given.signal?.throwIfAborted();
    return { law: anyAnswer, problem: `threw: ${toErrorData(error).message}` };
  }
}
