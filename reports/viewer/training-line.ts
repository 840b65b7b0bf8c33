import { join } from "node:path";
import { tryParseJson } from "../../src/contract/json.ts";
import type {
  RunEndEvent,
  RunStartEvent,
  StepEvent,
  TrainingEvaluationEvent,
} from "../../src/contract/training-event.ts";
import { sum } from "../../src/core/statistics.ts";
import { metricsFileName, parseHeader } from "../training/metrics-file.ts";
import { withStatedAccuracy } from "../training/run-record.ts";
import { trainingEventSchema } from "../training/training-event-schema.ts";
import { type FileStamp, fileStamp, readParts, sameStamp } from "./brief-files.ts";
import { unfinishedStatus } from "./run-status.ts";
import type { RunStatus, RunSummary } from "./view-source.ts";

/** The parts of a training that its list entry needs. */
interface BriefTraining {
  readonly stamp: FileStamp;
  /** Everything that does not depend on the process that writes it. */
  readonly line: Omit<RunSummary, "path" | "status">;
  /** Undefined if it has not ended. */
  readonly status: RunStatus | undefined;
}

/** Reads list entries of trainings, again only if the metrics file has changed. */
export function createTrainingLines(): (run: {
  readonly path: string;
  readonly folder: string;
}) => Promise<RunSummary> {
  const known = new Map<string, BriefTraining>();
  return async ({ path, folder }) => {
    const file = join(folder, metricsFileName);
    const stamp = fileStamp(file) ?? { size: 0, mtimeMs: 0 };
    let brief = known.get(folder);
    if (brief === undefined || !sameStamp(brief.stamp, stamp)) {
      brief = { stamp, ...readBrief(file, stamp.size) };
      known.set(folder, brief);
    }
    return { path, status: brief.status ?? unfinishedStatus(folder, stamp.mtimeMs), ...brief.line };
  };
}

/**
 * Files up to this size are read completely. Of longer ones, the beginning, the end and some parts in between are read.
 */
const wholeBytes = 1 << 20;
const headBytes = 1 << 16;
const tailBytes = 1 << 18;
const placeBytes = 1 << 13;

/** The number of values of a trend in a small drawing. */
const trendLength = 40;

function readLinesOf(file: string, size: number): string[] {
  if (size <= wholeBytes)
    return readParts(file, [{ from: 0, length: size }])[0]!
      .split("\n")
      .slice(0, -1);
  const between = size - headBytes - tailBytes;
  const places = Array.from({ length: trendLength }, (_, place) => ({
    from: headBytes + Math.floor((place * between) / trendLength),
    length: placeBytes,
  }));
  const texts = readParts(file, [
    { from: 0, length: headBytes },
    ...places,
    { from: size - tailBytes, length: tailBytes },
  ]);
  // A part begins and ends within a line.
  return texts.flatMap((text, place) => text.split("\n").slice(place === 0 ? 0 : 1, -1));
}

/** Throws `data.malformed` for anything but a metrics file. */
function readBrief(file: string, size: number): Omit<BriefTraining, "stamp"> {
  const [first = "", ...lines] = readLinesOf(file, size);
  const { startedAt } = parseHeader(first, file);
  const start = lastEvent<RunStartEvent>(lines, '{"type":"run-start"');
  const step = lastEvent<StepEvent>(lines, '{"type":"step"');
  const ended = lastEvent<RunEndEvent>(lines, '{"type":"run-end"');
  // A resumed run has not ended.
  const end = ended.place > Math.max(start.place, step.place) ? ended.event : undefined;
  const { event: evaluated } = lastEvent<TrainingEvaluationEvent>(lines, '{"type":"evaluation"');
  const evaluation = evaluated && withStatedAccuracy(evaluated, start.event);
  const rewarded = lastEvent<StepEvent>(lines, '{"type":"step"', '"reward/mean":').event;
  const trend = trendOf(lines);
  return {
    line: {
      kind: "training",
      name: start.event?.algorithm ?? "training",
      environment: start.event?.environment ?? "",
      model: start.event?.model.name ?? "",
      startedAt,
      done: step.event?.step ?? 0,
      // A run may be resumed with more steps.
      total: (start.place > step.place ? start : step).event?.steps ?? 0,
      ...scoresOf({ evaluation, rewarded, step: step.event }),
      ...(trend.values.length > 1 ? { trend } : {}),
      ...(end?.reason === "failed" && end.error !== undefined ? { error: end.error.message } : {}),
    },
    status: end === undefined ? undefined : end.reason === "aborted" ? "interrupted" : end.reason,
  };
}

/**
 * Returns the last event whose line begins with a text, and its position. -1 if there is none. Invalid lines are
 * skipped.
 */
function lastEvent<Event>(
  lines: readonly string[],
  begins: string,
  contains = "",
): { readonly event?: Event; readonly place: number } {
  for (let place = lines.length - 1; place >= 0; place--) {
    const line = lines[place]!;
    if (!line.startsWith(begins) || !line.includes(contains)) continue;
    const parsed = trainingEventSchema.safeParse(tryParseJson(line));
    if (parsed.success) return { event: parsed.data as Event, place };
  }
  return { place: -1 };
}

/** Returns the score of the last evaluation, or else of the last step. The loss is used if there are no rewards. */
function scoresOf(of: {
  readonly evaluation: TrainingEvaluationEvent | undefined;
  readonly rewarded: StepEvent | undefined;
  readonly step: StepEvent | undefined;
}): Pick<RunSummary, "scores" | "scoresOf"> {
  const { evaluation, rewarded, step } = of;
  const { "reward/mean": reward, accuracy } = evaluation?.metrics ?? rewarded?.metrics ?? {};
  const loss = reward === undefined && accuracy === undefined ? step?.metrics["loss/total"] : undefined;
  return {
    scores: { reward, accuracy, loss },
    scoresOf: evaluation === undefined ? "training episodes" : `${evaluation.split}, step ${evaluation.step}`,
  };
}

/** Returns the means of equal parts of the read steps: of the reward, or of the loss if there are no rewards. */
function trendOf(lines: readonly string[]): NonNullable<RunSummary["trend"]> {
  const steps = lines.filter((line) => line.startsWith('{"type":"step"'));
  const of = steps.some((line) => line.includes('"reward/mean":')) ? "reward" : "loss";
  const metric = of === "reward" ? '"reward/mean":' : '"loss/total":';
  const values = steps.flatMap((line) => {
    const at = line.indexOf(metric);
    const value = at < 0 ? Number.NaN : Number.parseFloat(line.slice(at + metric.length, at + metric.length + 32));
    return Number.isFinite(value) ? value : [];
  });
  const count = Math.min(trendLength, values.length);
  const means = Array.from({ length: count }, (_, place) => {
    const part = values.slice(
      Math.floor((place * values.length) / count),
      Math.floor(((place + 1) * values.length) / count),
    );
    return sum(part) / part.length;
  });
  return { of, values: means };
}
