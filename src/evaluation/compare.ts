import { LyceumError } from "../contract/errors/index.ts";
import type { Json } from "../contract/json.ts";
import { settingDifferences } from "../core/text/setting-differences.ts";
import { definesCorrect } from "./correctness.ts";
import { evaluatedAgents } from "./evaluated-agents.ts";
import type { EvaluationManifest } from "./log/manifest.ts";
import { readEntries, readManifest, readTaskLines } from "./log/read-log.ts";
import type { Interval } from "./log/summary.ts";
import { bootstrapInterval } from "./metrics/confidence-interval.ts";
import { type PairedTest, pairedTest } from "./metrics/paired-test.ts";
import { episodeReward, mean, type TaskResult, taskResults } from "./metrics/task-results.ts";
import type { PlannedLine } from "./task-plan.ts";

/** The comparison of two runs on their common tasks. */
export interface Comparison {
  readonly first: ComparedRun;
  readonly second: ComparedRun;
  /** The settings that differ besides the models. A difference of scores may have its cause in them. */
  readonly differences: readonly RunDifference[];
  /** The number of tasks that both runs have. */
  readonly shared: number;
  /**
   * `reward`, and before it `accuracy` if both runs define which episodes are correct. The reward of a match, in which
   * models rotate between agents, is that of the first model.
   */
  readonly metrics: Readonly<Record<string, ComparedMetric>>;
  /** The common tasks on which the first metric differs, in the order of the first run. */
  readonly changed: readonly ComparedTask[];
}

/** A setting that differs between two runs. */
export interface RunDifference {
  /** The path of the setting, such as `sampling.temperature`. */
  readonly setting: string;
  readonly first: Json;
  readonly second: Json;
}

/** One of two compared runs. */
export interface ComparedRun extends Pick<EvaluationManifest, "name"> {
  readonly folder: string;
  readonly models: EvaluationManifest["identity"]["models"];
  /** The number of tasks that the other run does not have. */
  readonly alone: number;
}

/** A metric of two runs, over the common tasks with a score in both. */
export interface ComparedMetric {
  readonly tasks: number;
  readonly first: number;
  readonly second: number;
  /** The second value minus the first. `interval` is its confidence interval over tasks. */
  readonly difference: number;
  readonly interval?: Interval;
  /** `wins`, `losses` and `ties`: the numbers of tasks on which the second run is better, worse or equal. */
  readonly wins: number;
  readonly losses: number;
  readonly ties: number;
  readonly test: PairedTest;
}

/** A task with different scores in two runs. */
export interface ComparedTask {
  readonly id: string;
  readonly hash: string;
  readonly first: number;
  readonly second: number;
}

/**
 * Compares two evaluations task by task, matched by content. Throws `data.not-found` if a folder has no evaluation, and
 * `config.invalid` if the two have no task in common.
 */
export async function compareRuns(first: string, second: string): Promise<Comparison> {
  const [one, other] = [await readRun(first), await readRun(second)];
  const pairs = [...one.results].flatMap(([key, result]) => {
    const counterpart = other.results.get(key);
    return counterpart === undefined ? [] : [[result, counterpart] as const];
  });
  if (pairs.length === 0)
    throw noCommonTask([
      [first, one],
      [second, other],
    ]);
  const hasAccuracy = [one, other].every(({ manifest: { correct, spec } }) => definesCorrect(correct, spec));
  const scores: [name: string, score: Score][] = [
    ...(hasAccuracy ? [["accuracy", accuracyOf] as [string, Score]] : []),
    ["reward", rewardOf],
  ];
  const manifests = [one.manifest, other.manifest] as const;
  const compared = scores.map(([name, score]) => [name, comparedTasks(pairs, manifests, score)] as const);
  return {
    first: comparedRun(first, one, pairs.length),
    second: comparedRun(second, other, pairs.length),
    differences: runDifferences(one.manifest, other.manifest),
    shared: pairs.length,
    metrics: Object.fromEntries(compared.map(([name, tasks]) => [name, comparedMetric(tasks)])),
    changed: compared[0]![1].filter((task) => task.first !== task.second),
  };
}

/** Returns the settings that differ, except the models, which the comparison is about, and the seed. */
function runDifferences(first: EvaluationManifest, second: EvaluationManifest): RunDifference[] {
  const configs = [first, second].map(
    ({ identity: { models: _, modelOptions: __, seed: ___, environmentHash, ...identity }, ...manifest }) => ({
      ...identity,
      "environment.version": environmentHash,
      samples: manifest.samples,
      correct: manifest.correct ?? null,
    }),
  );
  const differences = settingDifferences(configs as unknown as Json[]).map(
    ({ setting, values: [a = null, b = null] }) => ({ setting, first: a, second: b }),
  );
  const known = differences.filter(({ setting }) => setting !== "environment.version");
  // If the options differ, the hash adds no information.
  return known.some(({ setting }) => setting.startsWith("environment.")) ? known : differences;
}

/** Tasks are equal if their content is equal, so different environments or splits usually have no common task. */
function noCommonTask(runs: readonly (readonly [folder: string, run: Run])[]): LyceumError {
  const described = runs.map(([folder, { manifest, results }]) => {
    const { environment, split } = manifest.identity;
    return `${folder} has ${results.size} of ${environment.name}, split ${split}`;
  });
  return new LyceumError({
    code: "config.invalid",
    message: `The runs have no task in common: ${described.join("; ")}.`,
    hint: "Compare runs of the same tasks: evaluate both models with the same environment, options, split and limit.",
  });
}

interface Run {
  readonly manifest: EvaluationManifest;
  /** By the hash of the task and the number of its earlier occurrences. */
  readonly results: ReadonlyMap<string, TaskResult>;
}

async function readRun(folder: string): Promise<Run> {
  const manifest = await readManifest(folder);
  const tasks: PlannedLine[] = [];
  for await (const { task: _, ...line } of readTaskLines(folder)) tasks.push(line);
  const seen = new Map<string, number>();
  const results = taskResults(tasks, { samples: manifest.samples, entries: await readEntries(folder) });
  const keyed = results.map((result) => {
    const { hash } = result.task;
    const times = seen.get(hash) ?? 0;
    seen.set(hash, times + 1);
    return [`${hash} ${times}`, result] as const;
  });
  return { manifest, results: new Map(keyed) };
}

function comparedRun(folder: string, { manifest, results }: Run, shared: number): ComparedRun {
  return { folder, name: manifest.name, models: manifest.identity.models, alone: results.size - shared };
}

/** Returns the score of a task in a run. Undefined if no episode is scored. */
type Score = (result: TaskResult, manifest: EvaluationManifest) => number | undefined;

function accuracyOf({ scored, correct }: TaskResult): number | undefined {
  return scored.length === 0 ? undefined : correct / scored.length;
}

/** In a match only the rewards of the first model count: those of both have the same sum in a zero-sum game. */
function rewardOf({ scored }: TaskResult, manifest: EvaluationManifest): number | undefined {
  const evaluated = evaluatedAgents(manifest);
  return mean(scored.map((entry) => episodeReward(entry, evaluated(entry.sampleIndex))));
}

function comparedTasks(
  pairs: readonly (readonly [TaskResult, TaskResult])[],
  manifests: readonly [EvaluationManifest, EvaluationManifest],
  score: Score,
): ComparedTask[] {
  return pairs.flatMap(([one, other]) => {
    const [first, second] = [score(one, manifests[0]), score(other, manifests[1])];
    const { id, hash } = one.task;
    return first === undefined || second === undefined ? [] : [{ id, hash, first, second }];
  });
}

function comparedMetric(tasks: readonly ComparedTask[]): ComparedMetric {
  const differences = tasks.map(({ first, second }) => second - first);
  // Differences are not shares, even if all of them are 0 or 1, so Wilson's interval does not apply.
  const interval = differences.length < 2 ? undefined : bootstrapInterval(differences);
  const wins = differences.filter((difference) => difference > 0).length;
  const losses = differences.filter((difference) => difference < 0).length;
  return {
    tasks: tasks.length,
    first: mean(tasks.map(({ first }) => first)) ?? 0,
    second: mean(tasks.map(({ second }) => second)) ?? 0,
    difference: mean(differences) ?? 0,
    interval,
    wins,
    losses,
    ties: tasks.length - wins - losses,
    test: pairedTest(differences),
  };
}
