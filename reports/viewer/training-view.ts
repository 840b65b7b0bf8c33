import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { isJsonObject } from "../../src/contract/json.ts";
import { evaluationsFolder, stepFolder } from "../../src/core/files/step-folder.ts";
import type { ChartSeries, LineChart } from "../training/chart.ts";
import { metricsFileName, readMetrics } from "../training/metrics-file.ts";
import { probeFacts } from "../training/probe-text.ts";
import { reportCharts } from "../training/report-charts.ts";
import { type RunRecord, runRecord } from "../training/run-record.ts";
import { groupWarnings } from "../training/warning-group.ts";
import { downsample } from "./downsample.ts";
import { type EpisodeIndex, readingOf } from "./episode-index.ts";
import { runFacts } from "./run-facts.ts";
import { unfinishedStatus } from "./run-status.ts";
import { runTiles } from "./run-tiles.ts";
import type { StepEnd } from "./trace-index.ts";
import type { RunStatus, TrainingView } from "./view-source.ts";

/** The maximum number of points of a curve. More would overlap. */
const buckets = 500;

const maximumSamples = 50;

/** A training as read from its metrics file, and the time of its last change. */
interface ReadTraining {
  readonly record: RunRecord;
  readonly changed: number;
  readonly size: number;
}

/** Reads the metrics of trainings, again only if the file has changed. */
export interface TrainingReader {
  /** `index` is the index of its trace, up to date. Without it, the view has no episodes. */
  view(run: { readonly path: string; readonly folder: string; readonly index?: EpisodeIndex }): Promise<TrainingView>;
  /** The ends of the steps in its trace, according to its step events. */
  stepEnds(folder: string): Promise<readonly StepEnd[]>;
  /** The tokenizer of its model, by its config. */
  model(folder: string): Promise<{ readonly path?: string; readonly fromScratch: boolean }>;
}

/** Creates a reader that caches its results. */
export function createTrainingReader(): TrainingReader {
  const known = new Map<string, ReadTraining>();
  const read = async (folder: string): Promise<ReadTraining> => {
    const file = join(folder, metricsFileName);
    const { size = 0, mtimeMs: changed = 0 } = (await stat(file).catch(() => undefined)) ?? {};
    const before = known.get(folder);
    if (before?.size === size && before.changed === changed) return before;
    const training = { record: runRecord(await readMetrics(file)), changed, size };
    known.set(folder, training);
    return training;
  };
  return {
    view: async ({ path, folder, index }) => {
      const training = await read(folder);
      const view = trainingView({ path, training, status: statusOf(training, folder) });
      return {
        ...view,
        evaluations: await withPaths(view.evaluations, { path, folder }),
        ...(index === undefined ? {} : traceOf(index)),
      };
    },
    stepEnds: async (folder) =>
      (await read(folder)).record.steps.flatMap(({ step, traceLength }) =>
        traceLength === undefined ? [] : { step, traceLength },
      ),
    model: async (folder) => {
      const { config } = (await read(folder)).record;
      const model = isJsonObject(config) && isJsonObject(config.model) ? config.model : {};
      return {
        ...(typeof model.path === "string" ? { path: model.path } : {}),
        fromScratch: isJsonObject(model.scratch),
      };
    },
  };
}

/** Adds the paths of the evaluations that are stored in the run's folder, one for each step. */
async function withPaths(
  evaluations: TrainingView["evaluations"],
  { path, folder }: { readonly path: string; readonly folder: string },
): Promise<TrainingView["evaluations"]> {
  const names: readonly string[] = await readdir(join(folder, evaluationsFolder)).catch(() => []);
  return evaluations.map((evaluation, place) => {
    const name = stepFolder(evaluation.step);
    // A resumed run can evaluate a step again on another split. The later evaluation is stored.
    const isLast = evaluations[place + 1]?.step !== evaluation.step;
    if (!isLast || !names.includes(name)) return evaluation;
    return { ...evaluation, path: [...(path === "." ? [] : [path]), evaluationsFolder, name].join("/") };
  });
}

function traceOf(index: EpisodeIndex): Pick<TrainingView, "trace"> {
  const { rows, agents, readShare } = index;
  if (rows.length === 0 && readShare === 1) return {};
  const hasSteps = rows.some(({ step }) => step !== undefined);
  return { trace: { episodes: rows.length, agents: [...agents], hasSteps, ...readingOf(index) } };
}

/** Returns a training with its further data. */
interface KnownTraining {
  readonly path: string;
  readonly training: ReadTraining;
  readonly status: RunStatus;
}

function trainingView({ path, training: { record }, status }: KnownTraining): TrainingView {
  const { start, end, config, evaluations, preflight, probe, startedAt = "" } = record;
  const last = record.steps.at(-1);
  return {
    kind: "training",
    path,
    status,
    start,
    end,
    startedAt,
    ...(status === "running" && last !== undefined ? { etaMs: last.etaMs } : {}),
    step: last?.step ?? 0,
    facts: runFacts(record),
    tiles: runTiles(record),
    sections: reportCharts(record).map((section) => ({ ...section, charts: section.charts.map(thinned) })),
    preflight: preflight?.checks,
    probe: probe && { facts: probeFacts(probe), advice: probe.advice, samples: probe.samples },
    evaluations,
    samples: record.samples.slice(-maximumSamples).toReversed(),
    warnings: groupWarnings(record.warnings),
    config,
  };
}

function statusOf({ record, changed }: ReadTraining, folder: string): RunStatus {
  if (record.end === undefined) return unfinishedStatus(folder, changed);
  return record.end.reason === "aborted" ? "interrupted" : record.end.reason;
}

/** Reduces a chart to the maximum number of points. Spikes keep their height. */
function thinned(chart: LineChart): LineChart {
  return { ...chart, series: chart.series.map(thinnedSeries) };
}

function thinnedSeries(series: ChartSeries): ChartSeries {
  const { xs, ys, ...rest } = series;
  if (xs.length <= 2 * buckets) return series;
  // If a point replaces several values, the smallest and the largest value are kept.
  const kept = downsample({ xs, ys, buckets }).flatMap(({ from, to, low, high }) => [
    { x: from, y: low },
    { x: to, y: high },
  ]);
  return { ...rest, xs: kept.map(({ x }) => x), ys: kept.map(({ y }) => y) };
}
