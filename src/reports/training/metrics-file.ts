import { open } from "node:fs/promises";
import { z } from "zod";
import { LyceumError } from "../../contract/errors/index.ts";
import type { Json } from "../../contract/json.ts";
import { tryParseJson } from "../../contract/json.ts";
import type { TrainingEvent } from "../../contract/training-event.ts";
import { replaceFile } from "../../core/files/replace-file.ts";
import { trainingEventSchema } from "./training-event-schema.ts";

/** The name of the file within a run's folder. */
export const metricsFileName = "metrics.jsonl";

const formatName = "lyceum-metrics";
const formatVersion = 1;

const headerSchema = z.object({
  type: z.literal("header"),
  format: z.literal(formatName),
  version: z.literal(formatVersion),
  startedAt: z.string(),
  config: z.json().exactOptional(),
});

/** The first line of metrics.jsonl. */
export interface MetricsHeader {
  readonly type: "header";
  readonly format: typeof formatName;
  /** Of the file's format. A reader refuses a version that it does not know. */
  readonly version: typeof formatVersion;
  /** When the run first started, in ISO 8601. */
  readonly startedAt: string;
  /** The config that the run (or its last resumption) was started with. */
  readonly config?: Json;
}

/** What metrics.jsonl holds. */
export interface MetricsFile {
  readonly header: MetricsHeader;
  readonly events: readonly TrainingEvent[];
  /** Lines that are no event: torn by a crash, or written by something else. */
  readonly skippedLines: number;
}

/** Appends events to metrics.jsonl. */
export interface MetricsWriter extends AsyncDisposable {
  /** Rejects where the disk is full and the like; the event is then not in the file, not even in part. */
  append(event: TrainingEvent): Promise<void>;
}

/**
 * Opens a metrics file at `path` for a run that starts, or that goes on from step `resumedFrom`: then earlier events
 * up to that step are kept, and later ones, which the resumed run supersedes, are dropped (in one atomic rename).
 * One JSON object a line: a {@link MetricsHeader}, then every {@link TrainingEvent}; NaN and infinities as strings.
 */
export async function openMetricsWriter(options: {
  readonly path: string;
  readonly resumedFrom: number;
  readonly config?: Json;
}): Promise<MetricsWriter> {
  const { path, resumedFrom, config } = options;
  const previous = resumedFrom > 0 ? await readMetrics(path).catch(ifMissing(undefined)) : undefined;
  const header: MetricsHeader = {
    type: "header",
    format: formatName,
    version: formatVersion,
    startedAt: previous?.header.startedAt ?? new Date().toISOString(),
    ...(config === undefined ? {} : { config }),
  };
  const kept = (previous?.events ?? []).filter((event) => event.type === "run-start" || event.step <= resumedFrom);
  await replaceFile(path, [header, ...kept].map(toLine).join(""));
  const file = await open(path, "a");
  let { size } = await file.stat();
  return {
    append: async (event) => {
      const line = Buffer.from(toLine(event));
      try {
        await file.appendFile(line);
        size += line.length;
      } catch (error) {
        // A full disk takes a part of a line.
        await file.truncate(size);
        throw error;
      }
    },
    [Symbol.asyncDispose]: () => file.close(),
  };
}

/**
 * Reads a metrics file, line by line. Lines that cannot be read are counted, not fatal; a missing file is
 * `data.not-found`, a file of another kind or version `data.malformed`.
 */
export async function readMetrics(path: string): Promise<MetricsFile> {
  await using file = await open(path).catch((cause: unknown) => {
    throw new LyceumError({
      code: "data.not-found",
      message: `Cannot read the metrics file ${path}: ${cause instanceof Error ? cause.message : String(cause)}.`,
      hint: "Name the output folder of a run.",
      data: { path },
      cause,
    });
  });
  let header: MetricsHeader | undefined;
  let skippedLines = 0;
  const events: TrainingEvent[] = [];
  for await (const line of file.readLines({ encoding: "utf8" })) {
    if (header === undefined) {
      header = parseHeader(line, path);
      continue;
    }
    const parsed = trainingEventSchema.safeParse(tryParseJson(line));
    if (parsed.success) events.push(parsed.data);
    else skippedLines++;
  }
  if (header === undefined) {
    throw new LyceumError({
      code: "data.malformed",
      message: `${path} is empty.`,
      hint: "The run ended before it wrote anything: start it anew.",
      data: { path },
    });
  }
  return { header, events, skippedLines };
}

/**
 * What the metrics file of a run that goes on from the step `upTo` lacks of the steps up to there, in a sentence;
 * undefined if it has them all. Throws as {@link readMetrics} does for a file of another kind.
 */
export async function metricsLoss(path: string, upTo: number): Promise<string | undefined> {
  if (upTo === 0) return undefined;
  const file = await readMetrics(path).catch(ifMissing(undefined));
  if (file === undefined) return `${path} is missing: the metrics of the ${upTo} steps before this one are lost.`;
  const steps = file.events.flatMap((event) => (event.type === "step" && event.step <= upTo ? [event.step] : []));
  const missing = upTo - new Set(steps).size;
  if (missing === 0) return undefined;
  return `${path} lacks ${missing} of the ${upTo} steps before this one: they are missing from the report too.`;
}

/** The first line of the metrics file at `path`. Throws `data.malformed` for any other. */
export function parseHeader(line: string, path: string): MetricsHeader {
  const parsed = headerSchema.safeParse(tryParseJson(line));
  if (parsed.success) return parsed.data;
  throw new LyceumError({
    code: "data.malformed",
    message: `${path} does not begin with a ${formatName} header of version ${formatVersion}.`,
    hint: "It is not a metrics file, or another version of Lyceum wrote it.",
    data: { path },
  });
}

function toLine(value: unknown): string {
  return `${JSON.stringify(value, (_, item: unknown) => (typeof item === "number" && !Number.isFinite(item) ? String(item) : item))}\n`;
}

function ifMissing<T>(fallback: T): (error: unknown) => T {
  return (error) => {
    if (LyceumError.isInstance(error) && error.code === "data.not-found") return fallback;
    throw error;
  };
}
