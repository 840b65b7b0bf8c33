import type { EnvironmentDefinition } from "../contract/environment.ts";
import { unknownNameError } from "../contract/errors/index.ts";
import type { ScriptedAnswer } from "../core/policy/scripted-policy.ts";
import { deriveSeed } from "../core/random/random.ts";
import { EpisodeTrials } from "./episode-trials.ts";
import {
  answersInTime,
  type Finding,
  keepsTheContract,
  resetsWithoutError,
  someEpisodeEarns,
  takesAnyAnswer,
  tryRule,
} from "./finding.ts";
import { keepInstance, loadBounded } from "./play-episode.ts";
import type { DefinitionCase, Rule, TaskCase } from "./rule.ts";
import { definitionRules, specIsPlayable } from "./rules/definition-rules.ts";
import { episodeRules } from "./rules/episode-rules.ts";
import { groupRules } from "./rules/group-rules.ts";
import { instanceRules } from "./rules/instance-rules.ts";
import { lifecycleRules } from "./rules/lifecycle-rules.ts";
import { demonstrationRules, tasksAreData } from "./rules/task-rules.ts";

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
  /** Names of rules that are not tried. An unknown one throws `config.unknown-name`. */
  readonly skip?: readonly string[];
  /** The most milliseconds of one call of an instance, or of loading a split; 60,000 by default. */
  readonly callMs?: number;
  readonly signal?: AbortSignal;
}

/** A rule that an environment broke, and how to see it again. */
export interface EnvironmentProblem {
  readonly rule: string;
  /** What is wrong, as a sentence. */
  readonly message: string;
  /** What to do about it. */
  readonly hint: string;
  readonly split: string;
  /** The id of the task. Absent where the rule is one of the definition, which no task is needed for. */
  readonly task?: string;
  /** What the instance was reset with. */
  readonly seed?: number;
  /**
   * The fewest and simplest actions found that break the rule: agents take them one after the other as they are to act,
   * and again from the first. A text stands for an answer of that text.
   */
  readonly actions?: readonly ScriptedAnswer[];
}

/** What came of a check. */
export interface EnvironmentReport {
  /** The names of the rules that were tried: the first ones alone, if they keep the environment from being played. */
  readonly rules: readonly string[];
  /** Each broken rule once; empty for a sound environment. */
  readonly problems: readonly EnvironmentProblem[];
}

/**
 * Tries every rule of environments on a few tasks: plays episodes of random actions (noise, nothing, long texts, odd
 * characters, an expert's answers at any time, tool calls), looks at what comes back, and plays them again, after a
 * reset, beside another instance. Reports each rule that is broken, once, by the smallest actions that break it; the
 * same for the same seed. In a test:
 *
 *     const { problems } = await checkEnvironment(environment);
 *     expect(problems).toEqual([]);
 *
 * What an environment throws, what it returns that it should not, and a call of it that does not end are problems too.
 * Rejects when `signal` aborts, and for a `split` that does not exist.
 */
export async function checkEnvironment<Task>(
  environment: EnvironmentDefinition<Task>,
  options: CheckOptions = {},
): Promise<EnvironmentReport> {
  const { split = environment.splits[0] ?? "train", seed = 0, skip = [], callMs = 60_000, signal } = options;
  const unknown = skip.find((name) => !ruleNames.includes(name));
  if (unknown !== undefined) throw unknownNameError({ kind: "rule", name: unknown, known: ruleNames });
  const wanted = <Case>(rules: readonly Rule<Case>[]): readonly Rule<Case>[] =>
    rules.filter(({ name }) => !skip.includes(name));
  const problems = new Map<string, EnvironmentProblem>();
  const tried = new Set([specIsPlayable.name]);
  const nowTried = (rules: readonly { readonly name: string }[]): void => {
    for (const { name } of rules) tried.add(name);
  };
  const report = (): EnvironmentReport => ({
    rules: ruleNames.filter((name) => tried.has(name) && !skip.includes(name)),
    problems: [...problems.values()],
  });
  const note = (found: Finding | undefined, place: Partial<EnvironmentProblem> = {}): void => {
    if (found === undefined || problems.has(found.rule) || skip.includes(found.rule)) return;
    const { rule, message, hint } = found;
    problems.set(rule, { rule, message, hint, split, ...place });
  };

  const given: DefinitionCase = {
    environment: environment as EnvironmentDefinition,
    callMs,
    ...(signal === undefined ? {} : { signal }),
  };
  for (const rule of wanted([specIsPlayable])) note(await tryRule(rule, given));
  // What has no agents, turns or splits is not played.
  if (problems.size > 0) return report();
  for (const rule of wanted(definitionRules)) note(await tryRule(rule, given));

  nowTried(definitionRules);

  const loading = signal === undefined ? {} : { signal };
  const taskset = await loadBounded(given, split).catch((error: unknown) => {
    signal?.throwIfAborted();
    if (problems.size === 0) throw error;
    return undefined;
  });
  // Why there are no tasks is found already.
  if (taskset === undefined || taskset.length === 0) return report();
  nowTried([tasksAreData, ...demonstrationRules, ...groupRules, ...playingRules]);
  const count = Math.min(options.tasks ?? 3, taskset.length === "unbounded" ? Infinity : taskset.length);
  await using _kept = await keepInstance(given);
  let [played, earned] = [false, false];
  for (let index = 0; index < count; index++) {
    const task = await taskset.get(index, loading);
    const of: TaskCase = { ...given, task, seed: deriveSeed(seed, task.hash) };
    const place = { task: task.id };
    const notData = await tryRule(tasksAreData, of);
    note(notData, place);
    // Copies of such a task would be other tasks.
    if (notData !== undefined) continue;
    for (const rule of wanted([...demonstrationRules, ...groupRules])) {
      if (!problems.has(rule.name)) note(await tryRule(rule, of), { ...place, seed: of.seed });
    }
    const trials = new EpisodeTrials(of, { episodes: options.episodes ?? 10 });
    const once = index === 0 ? wanted(lifecycleRules) : [];
    const broken = () => new Set([...problems.keys(), ...skip]);
    for await (const { found, ...actions } of trials.run({ rules: wanted(playedRules), once, broken })) {
      note(found, { ...place, ...actions });
    }
    if (trials.hasPlayed) nowTried([...playedRules, ...lifecycleRules, someEpisodeEarns]);
    played ||= trials.hasPlayed;
    // What is demonstrated earns the most, or another rule says so.
    earned ||= trials.hasEarned || given.environment.demonstrate?.(task.task) !== undefined;
    if (problems.has(answersInTime.name)) break;
  }
  if (played && !earned && environment.scoreGroup === undefined && problems.size === 0) {
    const message = `Environment "${environment.spec.id}" gave no reward in any episode: each was cut off at maxTurns, ${environment.spec.maxTurns}.`;
    note({ rule: someEpisodeEarns.name, message, hint: someEpisodeEarns.hint });
  }
  return report();
}

/** What playing itself breaks. */
const playingRules = [keepsTheContract, resetsWithoutError, takesAnyAnswer, answersInTime];
const playedRules = [...episodeRules, ...instanceRules];

/** The names of all rules, in the order in which they are tried. */
const ruleNames: readonly string[] = [
  specIsPlayable,
  ...definitionRules,
  tasksAreData,
  ...demonstrationRules,
  ...groupRules,
  ...playingRules,
  ...playedRules,
  ...lifecycleRules,
  someEpisodeEarns,
].map(({ name }) => name);
