import { stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { LyceumError } from "../../../src/contract/errors/lyceum-error.ts";
import {
  changedSize,
  damageOf,
  type FileChecksum,
  type FileChecksums,
  fileChecksums,
  fileChecksumsSchema,
} from "../../../src/core/files/file-checksums.ts";
import { malformedFile, readModelJson } from "../../../src/core/tokens/model-file.ts";

/** The file with the checksums of an exported model folder. Other programs ignore it. */
export const modelChecksumsFile = "lyceum_checksums.json";

/** Weights are hashed when they are read, so that a large file is read once. */
const weightsName = /^(model|adapter_model)\b.*\.safetensors$/;

/** The checksums of a model folder. */
interface ModelChecksums {
  readonly files: FileChecksums;
  /** The path of the file that has them. */
  readonly recorded: string;
}

/** Writes {@link modelChecksumsFile} for all files that a model folder has, its subfolders included. */
export async function writeModelChecksums(folder: string): Promise<void> {
  const files = await fileChecksums(folder);
  await writeFile(path.join(folder, modelChecksumsFile), `${JSON.stringify({ files }, null, 2)}\n`);
}

/**
 * Checks the files of an exported model folder, and that none of `read`, the files that open a model, was added. The
 * bytes of weights are checked when they are read: see `readWeights`. A folder without checksums passes. Throws
 * `model.malformed` with the file that differs.
 */
export async function checkModelFolder(
  folder: string,
  { read, weights }: { readonly read: readonly string[]; readonly weights: boolean },
): Promise<void> {
  const checksums = await readChecksums(folder);
  if (checksums === undefined) return;
  const own = Object.entries(checksums.files).filter(([name]) => !name.includes("/") || read.includes(name));
  const added = read.find((name) => !Object.hasOwn(checksums.files, name));
  const small = Object.fromEntries(own.filter(([name]) => !weightsName.test(name)));
  const large = weights ? own.filter(([name]) => weightsName.test(name)) : [];
  const damage =
    (added === undefined ? undefined : `${added} was added`) ??
    (await damageOf(folder, small)) ??
    (await changedWeights(folder, large));
  if (damage !== undefined) throw changedFolder(folder, checksums, damage);
}

/** The checksum of a weights file, and the error for a file that differs. Undefined without a checksum. */
export async function weightsChecksum(
  file: string,
): Promise<(FileChecksum & { readonly changed: (damage: string) => LyceumError }) | undefined> {
  const folder = path.dirname(file);
  const checksums = await readChecksums(folder);
  const checksum = checksums?.files[path.basename(file)];
  return checksum && { ...checksum, changed: (damage) => changedFolder(folder, checksums!, damage) };
}

/** Reads the checksums of a folder: its own, or for the base of an adapter those of the adapter's folder. */
async function readChecksums(folder: string): Promise<ModelChecksums | undefined> {
  const own = await readChecksumsFile(folder);
  if (own !== undefined) return own;
  const absolute = path.resolve(folder);
  const parent = await readChecksumsFile(path.dirname(absolute));
  if (parent === undefined) return undefined;
  const prefix = `${path.basename(absolute)}/`;
  const within = Object.entries(parent.files).filter(([name]) => name.startsWith(prefix));
  if (within.length === 0) return undefined;
  return { ...parent, files: Object.fromEntries(within.map(([name, file]) => [name.slice(prefix.length), file])) };
}

async function readChecksumsFile(folder: string): Promise<ModelChecksums | undefined> {
  const json = await readModelJson(folder, modelChecksumsFile);
  if (json === undefined) return undefined;
  const recorded = path.join(folder, modelChecksumsFile);
  const parsed = fileChecksumsSchema.safeParse(json.files);
  if (parsed.success) return { files: parsed.data, recorded };
  throw malformedFile({ file: recorded, reason: "it has no valid checksums" });
}

async function changedWeights(folder: string, files: [string, FileChecksum][]): Promise<string | undefined> {
  for (const [name, { bytes }] of files) {
    const found = await stat(path.join(folder, name)).catch(() => undefined);
    if (found === undefined) return `${name} is missing`;
    if (found.size !== bytes) return changedSize(name, found.size, bytes);
  }
  return undefined;
}

function changedFolder(folder: string, { recorded }: ModelChecksums, damage: string): LyceumError {
  return new LyceumError({
    code: "model.malformed",
    message: `The model folder ${folder} has changed since its export: ${damage}.`,
    hint: `Restore the file, or export the model again. If the change is intended, delete ${recorded}: the folder then opens without this check.`,
    data: { folder, damage },
  });
}
