import { readFile } from "node:fs/promises";
import { gunzipSync } from "node:zlib";
import { z } from "zod";
import { LyceumError } from "../../../src/contract/errors/index.ts";

/**
 * Reads the rows of a benchmark file: a JSON list (`.json`) or JSON lines (`.jsonl`, `.jsonl.gz`). Throws
 * `data.not-found` and `data.malformed`.
 */
export async function readBenchmarkRows(path: string): Promise<readonly unknown[]> {
  let file: Buffer;
  try {
    file = await readFile(path);
  } catch (cause) {
    throw new LyceumError({
      code: "data.not-found",
      message: `The benchmark file ${path} cannot be read.`,
      hint: "Check the path.",
      data: { path },
      cause,
    });
  }
  try {
    const text = (path.endsWith(".gz") ? gunzipSync(file) : file).toString("utf8");
    if (path.endsWith(".json")) return z.array(z.unknown()).parse(JSON.parse(text));
    return text.split("\n").flatMap((line) => (line.trim() === "" ? [] : [JSON.parse(line) as unknown]));
  } catch (cause) {
    throw malformed(`The benchmark file ${path} is neither a JSON list nor JSON lines.`, cause);
  }
}

/** Parses a row with its schema. Throws `data.malformed`, which names the benchmark and the field. */
export function parseRow<Row>(schema: z.ZodType<Row>, row: unknown, benchmark: string): Row {
  const { success, data, error } = schema.safeParse(row);
  if (!success) throw malformed(`A row of ${benchmark} is malformed: ${z.prettifyError(error)}`, error);
  return data;
}

function malformed(message: string, cause: unknown): LyceumError {
  return new LyceumError({ code: "data.malformed", message, hint: "Compare it with the published file.", cause });
}
