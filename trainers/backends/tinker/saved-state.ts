import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { z } from "zod";
import { LyceumError } from "../../../src/contract/errors/index.ts";
import { writeNewFolder } from "../../model-folders/weights/new-folder.ts";

/** The file of a checkpoint that names the state on the server. */
const stateFile = "tinker.json";

/** A saved state on a server: weights and optimizer. */
export interface SavedState {
  /** The path on the server, such as `tinker://MODEL/weights/NAME`. */
  readonly path: string;
  readonly baseModel: string;
  readonly rank: number;
  /** The number of optimizer steps. */
  readonly version: number;
}

const stateSchema = z.object({
  schemaVersion: z.literal(1),
  path: z.string(),
  baseModel: z.string(),
  rank: z.number(),
  version: z.int().min(0),
});

/** Writes a new folder that names a state on the server. */
export function writeState(folder: string, state: SavedState): Promise<void> {
  const text = `${JSON.stringify({ schemaVersion: 1, ...state }, null, 2)}\n`;
  return writeNewFolder(folder, (partial) => writeFile(path.join(partial, stateFile), text));
}

/** Reads a folder of {@link writeState}. Throws `checkpoint.unusable` if another backend wrote it. */
export async function readState(folder: string): Promise<SavedState> {
  const file = path.join(folder, stateFile);
  try {
    return stateSchema.parse(JSON.parse(await readFile(file, "utf8")));
  } catch (cause) {
    throw new LyceumError({
      code: "checkpoint.unusable",
      message: `${file} is missing or damaged.`,
      hint: "Only a run on a Tinker server can be resumed there. Start a new run, or remove --backend.",
      data: { folder },
      cause,
    });
  }
}
