import { readFile, stat } from "node:fs/promises";
import path from "node:path";
import { LyceumError } from "../../contract/errors/lyceum-error.ts";
import { isJsonObject, type JsonObject } from "../../contract/json.ts";

/**
 * Reads a text file in a model folder. Returns undefined if it does not exist. Throws `model.missing` if it cannot be
 * read, and `model.malformed` if it is not a regular file.
 */
export async function readModelText(folder: string, name: string): Promise<string | undefined> {
  const file = path.join(folder, name);
  try {
    await assertFile(file);
    return await readFile(file, "utf8");
  } catch (error) {
    if (hasCode(error, "ENOENT") || hasCode(error, "ENOTDIR")) return undefined;
    if (LyceumError.isInstance(error)) throw error;
    throw new LyceumError({
      code: "model.missing",
      message: `Cannot read ${file}: ${error instanceof Error ? error.message : String(error)}`,
      cause: error,
    });
  }
}

/** Throws `model.malformed` for a pipe, a device or a folder. Opening a pipe would wait for a writer. */
export async function assertFile(file: string): Promise<void> {
  const found = await stat(file);
  if (!found.isFile()) throw malformedFile({ file, reason: "it is not a file" });
}

/**
 * Reads a JSON object from a file in a model folder. Returns undefined if it does not exist. Throws `model.malformed`
 * if it is not a JSON object.
 */
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

/** Creates the `model.malformed` error for a file. */
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

/** True for a Node error with this code. */
export function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && (error as NodeJS.ErrnoException).code === code;
}
