import { join } from "node:path";
import type { Json } from "../../src/contract/json.ts";
import { settingDifferences } from "../../src/core/text/setting-differences.ts";
import { metricsFileName, readMetrics } from "./metrics-file.ts";
import { type RunRecord, runRecord } from "./run-record.ts";

/** The comparison of two trainings. */
export interface TrainingComparison {
  readonly first: ComparedTraining;
  readonly second: ComparedTraining;
  /** The settings that differ between the configs. Null if a config lacks one. */
  readonly differences: readonly { readonly setting: string; readonly first: Json; readonly second: Json }[];
}

/** The result of one training. */
export interface ComparedTraining {
  readonly folder: string;
  readonly algorithm: string;
  readonly environment: string;
  readonly model: string;
  readonly status: "completed" | "aborted" | "failed" | "unfinished";
  readonly steps: number;
  readonly elapsedMs: number;
  /**
   * The scores by name: `evaluation of SPLIT, reward` and `accuracy` from the evaluations, and `training reward` from
   * the steps. Each has its first, last and best value.
   */
  readonly scores: Readonly<Record<string, TrainingScore>>;
}

/** A score over a training. */
export interface TrainingScore {
  readonly first: number;
  readonly last: number;
  readonly best: number;
  /** The step of the best value. */
  readonly bestStep: number;
}

/** Compares two trainings by their metrics files. Throws `data.not-found` and `data.malformed` like `readMetrics`. */
export async function compareTrainings(first: string, second: string): Promise<TrainingComparison> {
  const [a, b] = await Promise.all([first, second].map((folder) => readMetrics(join(folder, metricsFileName))));
  const [one, other] = [runRecord(a!), runRecord(b!)];
  return {
    first: comparedTraining(first, one),
    second: comparedTraining(second, other),
    differences: settingDifferences([one.config, other.config]).flatMap(({ setting, values: [a = null, b = null] }) =>
      setting === "output" ? [] : [{ setting, first: a, second: b }],
    ),
  };
}

function comparedTraining(folder: string, record: RunRecord): ComparedTraining {
  const { start, end, steps, evaluations, elapsedMs } = record;
  const points = new Map<string, { step: number; value: number }[]>();
  const add = (name: string, step: number, value: number | undefined): void => {
    if (value === undefined || !Number.isFinite(value)) return;
    points.set(name, [...(points.get(name) ?? []), { step, value }]);
  };
  for (const { split, step, metrics } of evaluations) {
    add(`evaluation of ${split}, reward`, step, metrics["reward/mean"]);
    add(`evaluation of ${split}, accuracy`, step, metrics.accuracy);
  }
  for (const { step, metrics } of steps) add("training reward", step, metrics["reward/mean"]);
  return {
    folder,
    algorithm: start?.algorithm ?? "training",
    environment: start?.environment ?? "unknown",
    model: start?.model.name ?? "unknown",
    status: end?.reason ?? "unfinished",
    steps: steps.at(-1)?.step ?? 0,
    elapsedMs,
    scores: Object.fromEntries([...points].map(([name, all]) => [name, scoreOf(all)])),
  };
}

function scoreOf(points: readonly { readonly step: number; readonly value: number }[]): TrainingScore {
  const best = points.reduce((most, point) => (point.value > most.value ? point : most));
  return { first: points[0]!.value, last: points.at(-1)!.value, best: best.value, bestStep: best.step };
}
