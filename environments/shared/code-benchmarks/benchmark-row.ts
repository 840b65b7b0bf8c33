import { readFile } from "node:fs/promises";
import { gunzipSync } from "node:zlib";
import { z } from "zod";
import { LyceumError } from "../../../src/contract/errors/index.ts";
import { dataFileError } from "../../../src/core/taskset/data-file-error.ts";
import { parseExactJson } from "../../../src/core/text/exact-json.ts";

/**
 * Reads the rows of a benchmark file: a JSON list (`.json`) or JSON lines (`.jsonl`, `.jsonl.gz`). Throws
 * `data.not-found` and `data.malformed`.
 */
export async function readBenchmarkRows(path: string): Promise<readonly unknown[]> {
  try {
    const file = await readFile(path);
    const text = (path.endsWith(".gz") ? gunzipSync(file) : file).toString("utf8");
    if (path.endsWith(".json")) return z.array(z.unknown()).parse(parseExactJson(text, "text"));
    return text.split("\n").flatMap((line) => (line.trim() === "" ? [] : [parseExactJson(line, "text")]));
  } catch (error) {
    throw dataFileError(path, error);
  }
}

/** Parses a row with its schema. Throws `data.malformed`, which names the benchmark and the field. */
export function parseRow<Row>(schema: z.ZodType<Row>, row: unknown, benchmark: string): Row {
  const { success, data, error } = schema.safeParse(row);
  if (success) return data;
  throw new LyceumError({
    code: "data.malformed",
    message: `A row of ${benchmark} is malformed: ${z.prettifyError(error)}`,
    hint: "Compare it with the published file.",
    cause: error,
  });
}
