import type { EnvironmentDefinition } from "../contract/environment.ts";
import { unknownNameError } from "../contract/errors/index.ts";
import type { ScriptedAnswer } from "../core/policy/scripted-policy.ts";
import { deriveSeed } from "../core/random/random.ts";
import { EpisodeTrials } from "./episode-trials.ts";
import {
  acceptsAnyAnswer,
  answersInTime,
  type Finding,
  resetsWithoutError,
  resultsAreValid,
  someEpisodeHasReward,
  tryRule,
} from "./finding.ts";
import { keepInstance, loadBounded } from "./play-episode.ts";
import type { DefinitionCase, Rule, TaskCase } from "./rule.ts";
import { definitionRules, specIsPlayable } from "./rules/definition-rules.ts";
import { episodeRules } from "./rules/episode-rules.ts";
import { groupRules } from "./rules/group-rules.ts";
import { instanceRules } from "./rules/instance-rules.ts";
import { lifecycleRules } from "./rules/lifecycle-rules.ts";
import { taskRules, tasksAreData } from "./rules/task-rules.ts";

/** The options of {@link checkEnvironment}. */
export interface CheckOptions {
  /** The split to check. The environment's first split by default. */
  readonly split?: string;
  /** The number of tasks to play. 3 by default. */
  readonly tasks?: number;
  /** The number of episodes per task, each with other actions. 10 by default. */
  readonly episodes?: number;
  /** The seed of the actions. 0 by default. */
  readonly seed?: number;
  /** The names of rules to skip. An unknown name throws `config.unknown-name`. */
  readonly skip?: readonly string[];
  /** The timeout of one call of an instance, or of loading a split, in milliseconds. 60,000 by default. */
  readonly callMs?: number;
  readonly signal?: AbortSignal;
}

/** A broken rule, and how to reproduce it. */
export interface EnvironmentProblem {
  readonly rule: string;
  /** What is wrong, in a sentence. */
  readonly message: string;
  /** What to do about it. */
  readonly hint: string;
  readonly split: string;
  /** The id of the task. Absent if the rule concerns the definition and needs no task. */
  readonly task?: string;
  /** The seed of `reset`. */
  readonly seed?: number;
  /**
   * The smallest sequence of actions found that breaks the rule. Agents take them in the order in which they must act,
   * and the sequence is repeated. A string is an answer with that text.
   */
  readonly actions?: readonly ScriptedAnswer[];
}

/** The result of {@link checkEnvironment}. */
export interface EnvironmentReport {
  /** The names of the rules that were checked. Only the first ones if the environment cannot be played. */
  readonly rules: readonly string[];
  /** The broken rules, each once. Empty for a correct environment. */
  readonly problems: readonly EnvironmentProblem[];
}

/**
 * Checks an environment against all rules on a few tasks. It plays episodes with random actions (noise, empty answers,
 * long texts, unusual characters, an expert's answers at any time, tool calls), checks the results, and plays the
 * episodes again, after a reset and next to another instance. Reports each broken rule once, with the smallest actions
 * that break it. The same seed gives the same report. In a test:
 *
 *     const { problems } = await checkEnvironment(environment);
 *     expect(problems).toEqual([]);
 *
 * Exceptions, invalid results and calls that do not end are problems too. Rejects if `signal` aborts, and for an
 * unknown `split`.
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

  const given: DefinitionCase = { environment: environment as EnvironmentDefinition, callMs, signal };
  for (const rule of wanted([specIsPlayable])) note(await tryRule(rule, given));
  // An environment without agents, turns or splits cannot be played.
  if (problems.size > 0) return report();
  for (const rule of wanted(definitionRules)) note(await tryRule(rule, given));

  nowTried(definitionRules);
  const taskset = await loadBounded(given, split).catch((error: unknown) => {
    signal?.throwIfAborted();
    if (problems.size === 0) throw error;
    return undefined;
  });
  // The reason for the missing tasks is already reported.
  if (taskset === undefined || taskset.length === 0) return report();
  nowTried([tasksAreData, ...taskRules, ...groupRules, ...playingRules]);
  const count = Math.min(options.tasks ?? 3, taskset.length === "unbounded" ? Infinity : taskset.length);
  await using _kept = await keepInstance(given);
  let [played, earned] = [false, false];
  for (let index = 0; index < count; index++) {
    const task = await taskset.get(index, { signal });
    const of: TaskCase = { ...given, task, seed: deriveSeed(seed, task.hash) };
    const place = { task: task.id };
    const notData = await tryRule(tasksAreData, of);
    note(notData, place);
    // Copies of such a task would be different tasks.
    if (notData !== undefined) continue;
    for (const rule of wanted([...taskRules, ...groupRules])) {
      if (!problems.has(rule.name)) note(await tryRule(rule, of), { ...place, seed: of.seed });
    }
    const trials = new EpisodeTrials(of, { episodes: options.episodes ?? 10 });
    const once = index === 0 ? wanted(lifecycleRules) : [];
    const broken = () => new Set([...problems.keys(), ...skip]);
    for await (const { found, ...actions } of trials.run({ rules: wanted(playedRules), once, broken })) {
      note(found, { ...place, ...actions });
    }
    if (trials.hasPlayed) nowTried([...playedRules, ...lifecycleRules, someEpisodeHasReward]);
    played ||= trials.hasPlayed;
    // A demonstration gets the highest reward. Otherwise another rule reports it.
    earned ||= trials.hasEarned || given.environment.demonstrate?.(task.task) !== undefined;
    if (problems.has(answersInTime.name)) break;
  }
  if (played && !earned && environment.scoreGroup === undefined && problems.size === 0) {
    const message = `Environment "${environment.spec.id}" gave no reward in any episode: each was cut off at maxTurns, ${environment.spec.maxTurns}.`;
    note({ rule: someEpisodeHasReward.name, message, hint: someEpisodeHasReward.hint });
  }
  return report();
}

/** The rules that playing itself can break. */
const playingRules = [resultsAreValid, resetsWithoutError, acceptsAnyAnswer, answersInTime];
const playedRules = [...episodeRules, ...instanceRules];

/** The names of all rules, in the order of their checks. */
const ruleNames: readonly string[] = [
  specIsPlayable,
  ...definitionRules,
  tasksAreData,
  ...taskRules,
  ...groupRules,
  ...playingRules,
  ...playedRules,
  ...lifecycleRules,
  someEpisodeHasReward,
].map(({ name }) => name);
