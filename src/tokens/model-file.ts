import { readFile } from "node:fs/promises";
import path from "node:path";
import { LyceumError } from "../errors/lyceum-error.ts";
import { isJsonObject, type JsonObject } from "../json.ts";

/** The text of a file in a model folder, or undefined where there is none. */
export async function readModelText(folder: string, name: string): Promise<string | undefined> {
  try {
    return await readFile(path.join(folder, name), "utf8");
  } catch (error) {
    if (hasCode(error, "ENOENT") || hasCode(error, "ENOTDIR")) return undefined;
    throw new LyceumError({
      code: "model.missing",
      message: `Cannot read ${path.join(folder, name)}: ${error instanceof Error ? error.message : String(error)}`,
      cause: error,
    });
  }
}

/** A JSON object from a file in a model folder, undefined where there is none, `model.malformed` where it is none. */
export async function readModelJson(folder: string, name: string): Promise<JsonObject | undefined> {
  const text = await readModelText(folder, name);
  if (text === undefined) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw malformedFile({ file: path.join(folder, name), reason: (error as Error).message, cause: error });
  }
  if (!isJsonObject(value)) throw malformedFile({ file: path.join(folder, name), reason: "it is not a JSON object" });
  return value;
}

/** The `model.malformed` error of one file. */
export function malformedFile(options: {
  readonly file: string;
  readonly reason: string;
  readonly cause?: unknown;
}): LyceumError {
  return new LyceumError({
    code: "model.malformed",
    message: `${options.file} is malformed: ${options.reason}.`,
    hint: "Download the file again, or export the model again.",
    data: { file: options.file, reason: options.reason },
    cause: options.cause,
  });
}

/** True for a Node error of this code. */
export function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && (error as NodeJS.ErrnoException).code === code;
}
