import { existsSync } from "node:fs";
import { open } from "node:fs/promises";
import { z } from "zod";
import { LyceumError } from "../../src/contract/errors/index.ts";
import type { Json } from "../../src/contract/json.ts";
import { tryParseJson } from "../../src/contract/json.ts";
import type { TrainingEvent } from "../../src/contract/training-event.ts";
import { replaceFile } from "../../src/core/files/replace-file.ts";
import { readLines } from "../../src/core/trace/read-lines.ts";
import { trainingEventSchema } from "./training-event-schema.ts";

/** The name of the metrics file in a run folder. */
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
  /** The version of the file format. A reader refuses an unknown version. */
  readonly version: typeof formatVersion;
  /** The time of the run's first start, in ISO 8601. */
  readonly startedAt: string;
  /** The config of the run, or of its last resumption. */
  readonly config?: Json;
}

/** The content of metrics.jsonl. */
export interface MetricsFile {
  readonly header: MetricsHeader;
  readonly events: readonly TrainingEvent[];
  /** The number of lines that are not events: cut off by a crash, or written by another program. */
  readonly skippedLines: number;
}

/** Appends events to metrics.jsonl. */
export interface MetricsWriter extends AsyncDisposable {
  /**
   * Appends an event. Rejects if it cannot be written, such as on a full disk. The file then has no part of the event.
   */
  append(event: TrainingEvent): Promise<void>;
}

/**
 * Opens the metrics file at `path` for a new run, or for a run that resumes from step `resumedFrom`. A resumed run
 * keeps earlier events up to that step and drops later ones (with one atomic rename). The file has one JSON object per
 * line: a {@link MetricsHeader}, then every {@link TrainingEvent}. NaN and infinities are strings.
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
    config,
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
        // A full disk can leave a part of a line.
        await file.truncate(size);
        throw error;
      }
    },
    [Symbol.asyncDispose]: () => file.close(),
  };
}

/**
 * Reads a metrics file line by line. Lines that cannot be read are counted and skipped. Throws `data.not-found` for a
 * missing file, and `data.malformed` for a file of another kind or version.
 */
export async function readMetrics(path: string): Promise<MetricsFile> {
  if (!existsSync(path)) {
    throw new LyceumError({
      code: "data.not-found",
      message: `There is no file ${path}.`,
      hint: "Use the output folder of a run.",
      data: { path },
    });
  }
  let header: MetricsHeader | undefined;
  let skippedLines = 0;
  const events: TrainingEvent[] = [];
  for await (const { text } of readLines(path)) {
    if (header === undefined) {
      header = parseHeader(text, path);
      continue;
    }
    const parsed = trainingEventSchema.safeParse(tryParseJson(text));
    if (parsed.success) events.push(parsed.data);
    else skippedLines++;
  }
  if (header === undefined) {
    throw new LyceumError({
      code: "data.malformed",
      message: `${path} is empty.`,
      hint: "The run ended before it wrote anything. Start it again.",
      data: { path },
    });
  }
  return { header, events, skippedLines };
}

/**
 * Returns which of the first `upTo` steps are missing from the metrics file of a resumed run, in a sentence. Returns
 * undefined if none are missing. Throws like {@link readMetrics} for a file of another kind.
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

/** Parses the first line of the metrics file at `path`. Throws `data.malformed` for any other line. */
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
