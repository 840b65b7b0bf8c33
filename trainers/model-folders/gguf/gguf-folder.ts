import { createHash, randomUUID } from "node:crypto";
import { realpath, rename, rm, stat } from "node:fs/promises";
import { homedir } from "node:os";
import path from "node:path";
import { LyceumError } from "../../../src/contract/errors/lyceum-error.ts";
import { malformedFile } from "../../../src/core/tokens/model-file.ts";
import { type DecoderConfig, readDecoderConfig } from "../architecture/decoder-config.ts";
import { decoderParameters, type ParameterSpec } from "../architecture/parameters.ts";
import { writeHuggingFaceFolder } from "../hugging-face-folder.ts";
import type { WritableDtype } from "../weights/float-conversion.ts";
import type { TensorToWrite } from "../weights/safetensors-writer.ts";
import { transposeMatrix } from "../weights/transpose.ts";
import { ggufConfig, ropeFactors } from "./gguf-config.ts";
import { GgufFile } from "./gguf-file.ts";
import { type GgufTensor, unsupportedGguf } from "./gguf-header.ts";
import { ggufTensorName } from "./gguf-names.ts";
import { ggufTokenizerFiles } from "./gguf-tokenizer.ts";

/** Changes with every change of what is written. */
const formatVersion = 1;

/**
 * Returns a Hugging Face folder with the model of a GGUF file. It is written into the user's cache on the first call, and
 * again if the file changes. Quantised weights become float32, float16 and bfloat16 stay. Without `weights`, the folder
 * may have none. Throws `model.unsupported` for another architecture, tokenizer or type of block, `model.malformed` for a
 * damaged file, `model.missing` for one without a tensor, and `checkpoint.write-failed`.
 */
export async function ggufFolder(
  file: string,
  {
    signal,
    weights = true,
  }: { readonly signal?: AbortSignal | undefined; readonly weights?: boolean | undefined } = {},
): Promise<string> {
  const whole = await cacheFolder(file);
  if (await exists(whole)) return whole;
  const folder = weights ? whole : `${whole}-config`;
  if (await exists(folder)) return folder;
  await using gguf = await GgufFile.open(file);
  const config = await ggufConfig(gguf);
  const tokenizerFiles = ggufTokenizerFiles(gguf);
  const tensors = tensorsOf(gguf, { config: readDecoderConfig(config), signal });
  // Several processes may write at the same time. The complete folder appears at once.
  const temporary = `${folder}.${randomUUID()}`;
  await writeHuggingFaceFolder({ folder: temporary, config, tensors: weights ? tensors : [], tokenizerFiles });
  await rename(temporary, folder).catch(async (error: unknown) => {
    await rm(temporary, { recursive: true, force: true });
    if (!(await exists(folder))) throw error;
  });
  return folder;
}

/** The folder in the cache of a file, by its place, size and time of change. */
async function cacheFolder(file: string): Promise<string> {
  const place = await realpath(file);
  const { size, mtimeNs, ino } = await stat(place, { bigint: true });
  const key = createHash("sha256").update([formatVersion, place, size, mtimeNs, ino].join("\n")).digest("hex");
  const cache = process.env.XDG_CACHE_HOME || path.join(homedir(), ".cache");
  return path.join(cache, "lyceum", "gguf", key.slice(0, 16));
}

function exists(folder: string): Promise<boolean> {
  return stat(folder).then(
    () => true,
    () => false,
  );
}

/** Returns the tensors of a checkpoint. Checks that the file has exactly these, in their shapes. */
function tensorsOf(
  file: GgufFile,
  { config, signal }: { readonly config: DecoderConfig; readonly signal: AbortSignal | undefined },
): TensorToWrite[] {
  const used = new Set([ropeFactors]);
  const tensors = decoderParameters(config).map((spec): TensorToWrite => {
    const name = ggufTensorName(config, spec.name);
    const tensor = file.tensors.get(name);
    if (tensor === undefined) throw missingTensor(file.path, name);
    if (tensor.shape.join() !== spec.shape.join()) throw wrongShape(file.path, name, { tensor, spec });
    used.add(name);
    const { transposed = false } = spec;
    return {
      name: spec.name,
      shape: transposed ? spec.shape.toReversed() : spec.shape,
      dtype: dtypeOf(tensor),
      data: async () => {
        signal?.throwIfAborted();
        const values = await file.read(name);
        if (transposed) return transposeMatrix(values, spec.shape);
        const heads = rotatedHeads(config, name);
        return heads === undefined ? values : splitPairs(values, heads, spec.shape[1] ?? 1);
      },
    };
  });
  const unknown = [...file.tensors.keys()].find((name) => !used.has(name));
  if (unknown === undefined) return tensors;
  throw unsupportedGguf(
    file.path,
    `tensor "${unknown}", which a ${config.family} model does not have`,
    "Choose a model without experts, adapters or other additions.",
  );
}

function dtypeOf({ type }: GgufTensor): WritableDtype {
  return type.name === "F16" || type.name === "BF16" ? type.name : "F32";
}

/** Families whose converters put the two rows that a rotary position rotates next to each other. */
const pairedFamilies: ReadonlySet<string> = new Set(["llama", "smollm3"]);

/** Returns the number of heads of a tensor whose rows are in rotary pairs. Undefined for any other tensor. */
function rotatedHeads({ family, heads, keyValueHeads }: DecoderConfig, name: string): number | undefined {
  if (!pairedFamilies.has(family)) return undefined;
  if (/\.attn_q\.(weight|bias)$/.test(name)) return heads;
  return /\.attn_k\.(weight|bias)$/.test(name) ? keyValueHeads : undefined;
}

/** Moves rows 2i and 2i + 1 of each head to i and i + half, where a Hugging Face checkpoint has them. */
function splitPairs(values: Float32Array, heads: number, columns: number): Float32Array {
  const moved = new Float32Array(values.length);
  const headRows = values.length / columns / heads;
  for (let row = 0; row < values.length / columns; row++) {
    const [head, place] = [Math.floor(row / headRows), row % headRows];
    const target = head * headRows + (place % 2) * (headRows / 2) + Math.floor(place / 2);
    moved.set(values.subarray(row * columns, (row + 1) * columns), target * columns);
  }
  return moved;
}

function missingTensor(file: string, name: string): LyceumError {
  return new LyceumError({
    code: "model.missing",
    message: `${file} has no tensor "${name}".`,
    hint: "The file is incomplete: download it again, or choose another conversion of the model.",
    data: { file, name },
  });
}

function wrongShape(
  file: string,
  name: string,
  { tensor, spec }: { readonly tensor: GgufTensor; readonly spec: ParameterSpec },
): LyceumError {
  return malformedFile({
    file,
    reason: `tensor "${name}" has the shape [${tensor.shape.join(", ")}], but its metadata requires [${spec.shape.join(", ")}]`,
  });
}
