import { stat } from "node:fs/promises";
import { join } from "node:path";
import { isJsonObject } from "../json.ts";
import { downsample } from "../report/downsample.ts";
import type { ChartSeries, LineChart } from "../report/line-chart.ts";
import { metricsFileName, readMetrics } from "../report/metrics-file.ts";
import { probeFacts } from "../report/probe-text.ts";
import { reportCharts } from "../report/report-charts.ts";
import { type RunRecord, runRecord } from "../report/run-record.ts";
import { runTiles } from "../report/run-tiles.ts";
import { groupWarnings } from "../report/warning-group.ts";
import { type EpisodeIndex, readingOf } from "./episode-index.ts";
import { unfinishedStatus } from "./run-age.ts";
import type { StepEnd } from "./trace-index.ts";
import type { RunStatus, RunSummary, TrainingView } from "./view-source.ts";

/** Points of a curve beyond these are drawn on top of one another. */
const buckets = 500;

const maximumSamples = 50;

/** A training as it stands in its metrics file, and when that changed. */
interface ReadTraining {
  readonly record: RunRecord;
  readonly changed: number;
  readonly size: number;
}

/** Reads the metrics of trainings, again only where the file has changed. */
export interface TrainingReader {
  /** `index`: of its trace, up to date. */
  view(run: { readonly path: string; readonly folder: string; readonly index: EpisodeIndex }): Promise<TrainingView>;
  line(run: { readonly path: string; readonly folder: string }): Promise<RunSummary>;
  /** Where the steps end in its trace, as far as its steps tell. */
  stepEnds(folder: string): Promise<readonly StepEnd[]>;
  /** Of its model, as its config has it. */
  model(folder: string): Promise<{ readonly path?: string; readonly fromScratch: boolean }>;
}

/** Keeps what it has read. */
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
      return { ...trainingView({ path, training, status: await statusOf(training, folder) }), ...traceOf(index) };
    },
    line: async ({ path, folder }) => {
      const training = await read(folder);
      return trainingLine({ path, training, status: await statusOf(training, folder) });
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

function traceOf(index: EpisodeIndex): Pick<TrainingView, "trace"> {
  const { rows, agents, readShare } = index;
  if (rows.length === 0 && readShare === 1) return {};
  const hasSteps = rows.some(({ step }) => step !== undefined);
  return { trace: { episodes: rows.length, agents: [...agents], hasSteps, ...readingOf(index) } };
}

/** A training, and what is known of it beside its metrics. */
interface KnownTraining {
  readonly path: string;
  readonly training: ReadTraining;
  readonly status: RunStatus;
}

function trainingView({ path, training: { record }, status }: KnownTraining): TrainingView {
  const { start, end, config, evaluations, probe, startedAt = "", elapsedMs } = record;
  const last = record.steps.at(-1);
  return {
    kind: "training",
    path,
    status,
    ...(start === undefined ? {} : { start }),
    ...(end === undefined ? {} : { end }),
    startedAt,
    elapsedMs,
    ...(status === "running" && last !== undefined ? { etaMs: last.etaMs } : {}),
    step: last?.step ?? 0,
    tiles: runTiles(record),
    sections: reportCharts(record).map((section) => ({ ...section, charts: section.charts.map(thinned) })),
    ...(probe === undefined
      ? {}
      : { probe: { facts: probeFacts(probe), advice: probe.advice, samples: probe.samples } }),
    evaluations,
    samples: record.samples.slice(-maximumSamples).toReversed(),
    warnings: groupWarnings(record.warnings),
    ...(config === undefined ? {} : { config }),
  };
}

function trainingLine({ path, training, status }: KnownTraining): RunSummary {
  const { record } = training;
  const { start, end, steps, startedAt = "" } = record;
  const trend = trendOf(record);
  return {
    path,
    kind: "training",
    name: start?.algorithm ?? "training",
    environment: start?.environment ?? "",
    model: start?.model.name ?? "",
    status,
    startedAt,
    done: steps.at(-1)?.step ?? 0,
    total: start?.steps ?? 0,
    ...scoresOf(record),
    ...(trend.length > 1 ? { trend } : {}),
    ...(end?.reason === "failed" && end.error !== undefined ? { error: end.error.message } : {}),
  };
}

/** Of the last evaluation, or else of the last step. The loss stands in for rewards that there are not. */
function scoresOf({ steps, evaluations }: RunRecord): Pick<RunSummary, "scores" | "scoresOf"> {
  const last = evaluations.at(-1);
  const step = steps.findLast(({ metrics }) => metrics["reward/mean"] !== undefined);
  const { "reward/mean": reward, accuracy } = last?.metrics ?? step?.metrics ?? {};
  const loss = reward === undefined && accuracy === undefined ? steps.at(-1)?.metrics["loss/total"] : undefined;
  const place = last === undefined ? "training episodes" : `${last.split}, step ${last.step}`;
  return {
    scores: {
      ...(reward === undefined ? {} : { reward }),
      ...(accuracy === undefined ? {} : { accuracy }),
      ...(loss === undefined ? {} : { loss }),
    },
    scoresOf: place,
  };
}

/** Values of a trend: as many as a small drawing tells apart. */
const trendLength = 40;

function trendOf({ steps }: RunRecord): number[] {
  const metric = steps.some(({ metrics }) => metrics["reward/mean"] !== undefined) ? "reward/mean" : "loss/total";
  const values = steps.flatMap(({ metrics }) => metrics[metric] ?? []).filter(Number.isFinite);
  const count = Math.min(trendLength, values.length);
  return Array.from({ length: count }, (_, place) => {
    const part = values.slice(
      Math.floor((place * values.length) / count),
      Math.floor(((place + 1) * values.length) / count),
    );
    return part.reduce((sum, value) => sum + value, 0) / part.length;
  });
}

async function statusOf({ record, changed }: ReadTraining, folder: string): Promise<RunStatus> {
  if (record.end === undefined) return await unfinishedStatus(folder, changed);
  return record.end.reason === "aborted" ? "interrupted" : record.end.reason;
}

/** A chart with as many points as can be told apart; spikes keep their height. */
function thinned(chart: LineChart): LineChart {
  return { ...chart, series: chart.series.map(thinnedSeries) };
}

function thinnedSeries(series: ChartSeries): ChartSeries {
  const { xs, ys, ...rest } = series;
  if (xs.length <= 2 * buckets) return series;
  // Where a point stands for several values, its least and greatest are both kept.
  const kept = downsample({ xs, ys, buckets }).flatMap(({ from, to, low, high }) => [
    { x: from, y: low },
    { x: to, y: high },
  ]);
  return { ...rest, xs: kept.map(({ x }) => x), ys: kept.map(({ y }) => y) };
}
