import type { EnvironmentDefinition } from "../environment/environment.ts";
import { unknownNameError } from "../errors/index.ts";
import type { ScriptedAnswer } from "../policy/scripted-policy.ts";
import { deriveSeed } from "../random/random.ts";
import { EpisodeTrials } from "./episode-trials.ts";
import { answersInTime, type Finding, takesAnyAnswer, tryLaw } from "./finding.ts";
import type { DefinitionCase, Law, TaskCase } from "./law.ts";
import { definitionLaws, specIsPlayable } from "./laws/definition-laws.ts";
import { episodeLaws } from "./laws/episode-laws.ts";
import { groupLaws } from "./laws/group-laws.ts";
import { instanceLaws } from "./laws/instance-laws.ts";
import { lifecycleLaws } from "./laws/lifecycle-laws.ts";
import { demonstrationLaws, tasksAreData } from "./laws/task-laws.ts";
import { keepInstance } from "./play-episode.ts";

/** How an environment is checked. */
export interface CheckOptions {
  /** The first of the environment's splits by default. */
  readonly split?: string;
  /** How many tasks to play; 3 by default. */
  readonly tasks?: number;
  /** How many episodes of each task, each with actions of its own; 10 by default. */
  readonly episodes?: number;
  /** Another seed tries other actions; 0 by default. */
  readonly seed?: number;
  /** Names of laws that are not tried. An unknown one throws `config.unknown-name`. */
  readonly skip?: readonly string[];
  /** The most milliseconds of one call of an instance; 60,000 by default. */
  readonly callMs?: number;
  readonly signal?: AbortSignal;
}

/** A law that an environment broke, and how to see it again. */
export interface EnvironmentProblem {
  readonly law: string;
  /** What is wrong, as a sentence. */
  readonly message: string;
  /** What to do about it. */
  readonly hint: string;
  readonly split: string;
  /** The id of the task. Absent where the law is one of the definition, which no task is needed for. */
  readonly task?: string;
  /** What the instance was reset with. */
  readonly seed?: number;
  /**
   * The fewest and simplest actions found that break the law: agents take them one after the other as they are to act,
   * and again from the first. A text stands for an answer of that text.
   */
  readonly actions?: readonly ScriptedAnswer[];
}

/** What came of a check. */
export interface EnvironmentReport {
  /** The names of the laws that were tried. */
  readonly laws: readonly string[];
  /** Each broken law once; empty for a lawful environment. */
  readonly problems: readonly EnvironmentProblem[];
}

/**
 * Tries every law of environments on a few tasks: plays episodes of random actions (noise, nothing, long texts, odd
 * characters, an expert's answers at any time, tool calls), looks at what comes back, and plays them again, after a
 * reset, beside another instance. Reports each law that is broken, once, by the smallest actions that break it; the
 * same for the same seed. In a test:
 *
 *     const { problems } = await checkEnvironment(environment);
 *     expect(problems).toEqual([]);
 *
 * What an environment throws, and a call of it that does not end, is a problem too. Rejects where the tasks of the
 * split cannot be loaded, and when `signal` aborts.
 */
export async function checkEnvironment<Task>(
  environment: EnvironmentDefinition<Task>,
  options: CheckOptions = {},
): Promise<EnvironmentReport> {
  const { split = environment.splits[0] ?? "train", seed = 0, skip = [], callMs = 60_000, signal } = options;
  const unknown = skip.find((name) => !lawNames.includes(name));
  if (unknown !== undefined) throw unknownNameError({ kind: "law", name: unknown, known: lawNames });
  const wanted = <Case>(laws: readonly Law<Case>[]): readonly Law<Case>[] =>
    laws.filter(({ name }) => !skip.includes(name));
  const problems = new Map<string, EnvironmentProblem>();
  const report = (): EnvironmentReport => ({
    laws: lawNames.filter((name) => !skip.includes(name)),
    problems: [...problems.values()],
  });
  const note = (found: Finding | undefined, place: Partial<EnvironmentProblem> = {}): void => {
    if (found === undefined || problems.has(found.law) || skip.includes(found.law)) return;
    const { law, message, hint } = found;
    problems.set(law, { law, message, hint, split, ...place });
  };

  const given: DefinitionCase = {
    environment: environment as EnvironmentDefinition,
    callMs,
    ...(signal === undefined ? {} : { signal }),
  };
  for (const law of wanted([specIsPlayable])) note(await tryLaw(law, given));
  // What has no agents, turns or splits is not played.
  if (problems.size > 0) return report();
  for (const law of wanted(definitionLaws)) note(await tryLaw(law, given));

  const loading = signal === undefined ? {} : { signal };
  const taskset = await environment.tasks(split, loading);
  const count = Math.min(options.tasks ?? 3, taskset.length === "unbounded" ? Infinity : taskset.length);
  await using _kept = await keepInstance(given);
  for (let index = 0; index < count; index++) {
    const task = await taskset.get(index, loading);
    const of: TaskCase = { ...given, task, seed: deriveSeed(seed, task.hash) };
    const place = { task: task.id };
    const notData = await tryLaw(tasksAreData, of);
    note(notData, place);
    // Copies of such a task would be other tasks.
    if (notData !== undefined) continue;
    for (const law of wanted([...demonstrationLaws, ...groupLaws])) {
      if (!problems.has(law.name)) note(await tryLaw(law, of), { ...place, seed: of.seed });
    }
    const trials = new EpisodeTrials(of, { episodes: options.episodes ?? 10 });
    const once = index === 0 ? wanted(lifecycleLaws) : [];
    const broken = () => new Set([...problems.keys(), ...skip]);
    for await (const { found, ...actions } of trials.run({ laws: wanted(playedLaws), once, broken })) {
      note(found, { ...place, ...actions });
    }
    if (problems.has(answersInTime.name)) break;
  }
  return report();
}

const playedLaws = [...episodeLaws, ...instanceLaws];

/** The names of all laws, in the order in which they are tried. */
const lawNames: readonly string[] = [
  specIsPlayable,
  ...definitionLaws,
  tasksAreData,
  ...demonstrationLaws,
  ...groupLaws,
  takesAnyAnswer,
  answersInTime,
  ...playedLaws,
  ...lifecycleLaws,
].map(({ name }) => name);
