import path from "node:path";
import { LyceumError } from "../../../src/contract/errors/lyceum-error.ts";
import { isJsonObject } from "../../../src/contract/json.ts";
import { malformedFile, readModelJson } from "../../../src/core/tokens/model-file.ts";
import { decodeFloats, isFloatDtype } from "./float-conversion.ts";
import {
  dtypeBits,
  lengthBytes,
  parseSafetensorsHeader,
  readHeaderLength,
  type TensorLocation,
} from "./safetensors-header.ts";
import { WeightsFile } from "./weights-file.ts";

/**
 * The location of a tensor in a weights file. It suffices to reference the tensor in place, as ONNX external data does.
 */
interface TensorInfo extends TensorLocation {
  readonly file: string;
}

/** The tensors of a model's weights files. Headers are read on opening, data on request. */
export interface WeightsReader extends AsyncDisposable {
  /** Sorted. */
  readonly names: readonly string[];
  has(name: string): boolean;
  /** Throws `model.missing` for a name that is not there. */
  info(name: string): TensorInfo;
  /**
   * Reads the values of a tensor as float32. `into` may use a SharedArrayBuffer and must have one place per value.
   * Throws `model.unsupported` for a tensor that does not contain floats.
   */
  read(name: string, into?: Float32Array): Promise<Float32Array>;
  close(): Promise<void>;
}

const singleFile = "model.safetensors";
const indexFile = "model.safetensors.index.json";
const chunkBytes = 4 * 1024 * 1024;

/**
 * Opens the weights of a Hugging Face folder (`model.safetensors`, or the shards in `model.safetensors.index.json`) or
 * one `.safetensors` file. Throws `model.missing` if there are none, and `model.malformed`, with the file and the
 * reason, if a file violates the format.
 */
export async function openWeights(folderOrFile: string): Promise<WeightsReader> {
  return (await openFiles(folderOrFile)).reader;
}

/**
 * Opens weights as {@link openWeights} does, and reads them by `read`. If their folder has checksums, also throws
 * `model.malformed` for a file that has changed. Read tensors in the order of their files and offsets: each file is
 * then read once.
 */
export async function readWeights<T>(folderOrFile: string, read: (weights: WeightsReader) => Promise<T>): Promise<T> {
  const { reader, check } = await openFiles(folderOrFile, { checked: true });
  await using _ = reader;
  const result = await read(reader).catch(async (error: unknown) => {
    // A changed file explains every other fault of it.
    await check();
    throw error;
  });
  await check();
  return result;
}

async function openFiles(
  folderOrFile: string,
  { checked = false }: { readonly checked?: boolean } = {},
): Promise<{ readonly reader: WeightsReader; readonly check: () => Promise<void> }> {
  await using opened = new AsyncDisposableStack();
  const files = new Map<string, WeightsFile>();
  const tensors = new Map<string, TensorInfo>();
  const expected = await readIndex(folderOrFile);
  for (const path of await weightFiles(folderOrFile)) {
    const file = await WeightsFile.open(path, { checked });
    opened.defer(() => file.close());
    files.set(path, file);
    for (const [name, location] of await readHeader(file)) {
      if (tensors.has(name))
        throw malformedFile({ file: path, reason: `it contains tensor "${name}", which another file contains too` });
      tensors.set(name, { ...location, file: path });
    }
  }
  for (const [name, file] of expected ?? []) {
    if (tensors.get(name)?.file === file) continue;
    throw malformedFile({ file, reason: `it lacks tensor "${name}", which the index places there` });
  }
  const close = closeOnce(opened.move());
  const info = (name: string): TensorInfo => {
    const found = tensors.get(name);
    if (found !== undefined) return found;
    throw new LyceumError({
      code: "model.missing",
      message: `The weights in ${folderOrFile} have no tensor "${name}".`,
      hint: "The weights are incomplete, or their architecture differs from that in config.json.",
      data: { name },
    });
  };
  const reader: WeightsReader = {
    names: [...tensors.keys()].toSorted(),
    has: (name) => tensors.has(name),
    info,
    read: async (name, into) => {
      const tensor = info(name);
      return readFloats({ name, tensor, file: files.get(tensor.file)!, into });
    },
    close,
    [Symbol.asyncDispose]: close,
  };
  const check = async (): Promise<void> => {
    for (const file of files.values()) await file.check();
  };
  return { reader, check };
}

/** Returns the paths of the weights files that {@link openWeights} opens, whether they exist or not. */
export async function weightFiles(folderOrFile: string): Promise<string[]> {
  if (folderOrFile.endsWith(".safetensors")) return [folderOrFile];
  const index = await readIndex(folderOrFile);
  return index === undefined ? [path.join(folderOrFile, singleFile)] : [...new Set(index.values())].toSorted();
}

/** Returns the file of each tensor, from a folder's index. Undefined without an index. */
async function readIndex(folderOrFile: string): Promise<ReadonlyMap<string, string> | undefined> {
  const index = await readModelJson(folderOrFile, indexFile);
  if (index === undefined) return undefined;
  const file = path.join(folderOrFile, indexFile);
  if (!isJsonObject(index.weight_map)) throw malformedFile({ file, reason: "it has no weight_map" });
  const places = new Map<string, string>();
  for (const [name, shard] of Object.entries(index.weight_map)) {
    if (typeof shard !== "string" || !/^[^/\\]+\.safetensors$/.test(shard)) {
      throw malformedFile({ file, reason: `it places tensor "${name}" in ${JSON.stringify(shard)}` });
    }
    places.set(name, path.join(folderOrFile, shard));
  }
  return places;
}

async function readHeader(file: WeightsFile): Promise<ReadonlyMap<string, TensorLocation>> {
  const { path: name, size } = file;
  try {
    const start = new Uint8Array(Math.min(lengthBytes, size));
    await file.read(start, 0);
    const header = new Uint8Array(readHeaderLength({ file: name, fileSize: size, start }));
    await file.read(header, lengthBytes);
    return parseSafetensorsHeader({ file: name, fileSize: size, header });
  } catch (error) {
    await file.check();
    throw error;
  }
}

async function readFloats(options: {
  readonly name: string;
  readonly tensor: TensorInfo;
  readonly file: WeightsFile;
  readonly into: Float32Array | undefined;
}): Promise<Float32Array> {
  const { name, tensor, file } = options;
  const { dtype, byteOffset, byteLength } = tensor;
  if (!isFloatDtype(dtype)) {
    throw new LyceumError({
      code: "model.unsupported",
      message: `Tensor "${name}" in ${file.path} is of type ${dtype}; only F32, F16, BF16 and F64 can be used.`,
      hint: "Quantised weights cannot be trained: use the model's unquantised release.",
    });
  }
  const elementBytes = dtypeBits[dtype] / 8;
  const count = byteLength / elementBytes;
  const into = options.into ?? new Float32Array(count);
  if (into.length !== count) {
    throw new RangeError(`Tensor "${name}" has ${count} values, but the array has ${into.length} places.`);
  }
  if (dtype === "F32") {
    const bytes = new Uint8Array(into.buffer, into.byteOffset, into.byteLength);
    await file.read(bytes, byteOffset);
    return into;
  }
  const chunk = new Uint8Array(Math.min(chunkBytes, byteLength));
  for (let done = 0; done < byteLength; done += chunk.length) {
    const bytes = chunk.subarray(0, Math.min(chunk.length, byteLength - done));
    await file.read(bytes, byteOffset + done);
    decodeFloats(dtype, bytes, into.subarray(done / elementBytes, (done + bytes.length) / elementBytes));
  }
  return into;
}

function closeOnce(files: AsyncDisposableStack): () => Promise<void> {
  return () => files.disposeAsync();
}
