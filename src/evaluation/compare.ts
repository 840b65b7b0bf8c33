import { LyceumError } from "../contract/errors/index.ts";
import type { Json } from "../contract/json.ts";
import { canonicalJson } from "../core/taskset/canonical-json.ts";
import { flattened } from "../core/text/flattened.ts";
import { definesCorrect } from "./correctness.ts";
import type { EvaluationManifest } from "./log/manifest.ts";
import { readEntries, readManifest, readTaskLines } from "./log/read-log.ts";
import type { Interval } from "./log/summary.ts";
import { bootstrapInterval } from "./metrics/interval.ts";
import { type PairedTest, pairedTest } from "./metrics/paired-test.ts";
import { mean, type TaskResult, taskResults, taskSummary } from "./metrics/task-results.ts";
import type { PlannedLine } from "./task-plan.ts";

/** Two runs on the tasks that both have. */
export interface Comparison {
  readonly first: ComparedRun;
  readonly second: ComparedRun;
  /** What differs between the runs beside the models, so that a difference of scores may not be theirs. */
  readonly differences: readonly RunDifference[];
  /** Tasks of both runs. */
  readonly shared: number;
  /** `accuracy`, where both runs have one, and `reward`. */
  readonly metrics: Readonly<Record<string, ComparedMetric>>;
  /** Shared tasks on which the first metric differs, in the order of the first run. */
  readonly changed: readonly ComparedTask[];
}

/** A setting that two runs do not share. */
export interface RunDifference {
  /** Such as `sampling.temperature`. */
  readonly setting: string;
  readonly first: Json;
  readonly second: Json;
}

/** A run that is compared. */
export interface ComparedRun extends Pick<EvaluationManifest, "name"> {
  readonly folder: string;
  readonly models: EvaluationManifest["identity"]["models"];
  /** Tasks that the other run has not. */
  readonly alone: number;
}

/** One figure of two runs, over the shared tasks that both have scored. */
export interface ComparedMetric {
  readonly tasks: number;
  readonly first: number;
  readonly second: number;
  /** The second less the first, and its interval over tasks. */
  readonly difference: number;
  readonly interval?: Interval;
  /** Tasks on which the second is better, worse, or the same. */
  readonly wins: number;
  readonly losses: number;
  readonly ties: number;
  readonly test: PairedTest;
}

/** A task on which two runs differ. */
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
  const hasAccuracy = one.manifest.correct !== undefined && other.manifest.correct !== undefined;
  const rewardFirst = !definesCorrect(one.manifest.correct) || !definesCorrect(other.manifest.correct);
  const scores: [name: string, score: (result: TaskResult) => number | undefined][] = [
    ...(hasAccuracy ? [["accuracy", accuracyOf] as [string, typeof accuracyOf]] : []),
    ["reward", (result) => taskSummary(result).reward ?? undefined],
  ];
  if (rewardFirst) scores.reverse();
  const compared = scores.map(([name, score]) => [name, comparedTasks(pairs, score)] as const);
  return {
    first: comparedRun(first, one, pairs.length),
    second: comparedRun(second, other, pairs.length),
    differences: runDifferences(one.manifest, other.manifest),
    shared: pairs.length,
    metrics: Object.fromEntries(compared.map(([name, tasks]) => [name, comparedMetric(tasks)])),
    changed: compared[0]![1].filter((task) => task.first !== task.second),
  };
}

/** The seed and the models apart: another seed draws other samples of the same, and models are what is compared. */
function runDifferences(first: EvaluationManifest, second: EvaluationManifest): RunDifference[] {
  const [a, b] = [first, second].map(
    ({ identity: { models: _, modelOptions: __, seed: ___, environmentHash, ...identity }, ...manifest }) =>
      flattened({
        ...identity,
        // The spec and the code behind one name and options may differ too.
        "environment.version": environmentHash,
        samples: manifest.samples,
        correct: manifest.correct ?? null,
      }),
  ) as [Map<string, Json>, Map<string, Json>];
  const all = [...new Set([...a.keys(), ...b.keys()])].map((setting) => ({
    setting,
    first: a.get(setting) ?? null,
    second: b.get(setting) ?? null,
  }));
  const differences = all.filter(({ first, second }) => canonicalJson(first) !== canonicalJson(second));
  const known = differences.filter(({ setting }) => setting !== "environment.version");
  // The hash says nothing that the options have not said.
  return known.some(({ setting }) => setting.startsWith("environment.")) ? known : differences;
}

/** Tasks are the same if their content is the same, so that two environments or two splits share none. */
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
  /** By the content of the task, and how often it came before. */
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

function accuracyOf({ scored, correct }: TaskResult): number | undefined {
  return scored.length === 0 ? undefined : correct / scored.length;
}

function comparedTasks(
  pairs: readonly (readonly [TaskResult, TaskResult])[],
  score: (result: TaskResult) => number | undefined,
): ComparedTask[] {
  return pairs.flatMap(([one, other]) => {
    const [first, second] = [score(one), score(other)];
    const { id, hash } = one.task;
    return first === undefined || second === undefined ? [] : [{ id, hash, first, second }];
  });
}

function comparedMetric(tasks: readonly ComparedTask[]): ComparedMetric {
  const differences = tasks.map(({ first, second }) => second - first);
  // Differences are no shares, even where all of them happen to be 0 or 1.
  const interval = differences.length < 2 ? undefined : bootstrapInterval(differences);
  const wins = differences.filter((difference) => difference > 0).length;
  const losses = differences.filter((difference) => difference < 0).length;
  return {
    tasks: tasks.length,
    first: mean(tasks.map(({ first }) => first)) ?? 0,
    second: mean(tasks.map(({ second }) => second)) ?? 0,
    difference: mean(differences) ?? 0,
    ...(interval === undefined ? {} : { interval }),
    wins,
    losses,
    ties: tasks.length - wins - losses,
    test: pairedTest(differences),
  };
}
