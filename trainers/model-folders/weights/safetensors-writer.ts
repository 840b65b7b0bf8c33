import { type FileHandle, open, writeFile } from "node:fs/promises";
import path from "node:path";
import { encodeFloats, type WritableDtype } from "./float-conversion.ts";
import { dtypeBits, lengthBytes } from "./safetensors-header.ts";

/**
 * A tensor to write. If `data` is a function, it is called when the tensor is written, so that only one tensor is in
 * memory at a time.
 */
export interface TensorToWrite {
  readonly name: string;
  readonly shape: readonly number[];
  readonly data: Float32Array | (() => Float32Array | Promise<Float32Array>);
  /** The type in the file. Default: F32. */
  readonly dtype?: WritableDtype;
}

const chunkElements = 4 * 1024 * 1024;

/**
 * Writes tensors to a `.safetensors` file. If they exceed the shard size (in bytes of tensors; 5e9 by default, as in
 * `transformers`), writes `-00001-of-0000N` shards and an index in the same folder. Returns the paths of the files. Use
 * it in `writeNewFolder`, which syncs the files to disk and removes them if writing fails.
 */
export async function writeSafetensors(
  file: string,
  tensors: Iterable<TensorToWrite>,
  { maximumShardBytes = 5e9 }: { readonly maximumShardBytes?: number } = {},
): Promise<string[]> {
  const shards = splitIntoShards(inFileOrder([...tensors]), maximumShardBytes);
  const files = shards.map((_, i) => shardPath(file, i, shards.length));
  for (const [i, shard] of shards.entries()) {
    await using handle = await open(files[i]!, "w");
    await writeShard(handle, shard);
  }
  if (shards.length === 1) return files;
  const index = `${file}.index.json`;
  const names = files.map((shard) => path.basename(shard));
  await writeFile(index, `${JSON.stringify(indexOf(shards, names), null, 2)}\n`);
  return [...files, index];
}

function shardPath(file: string, index: number, count: number): string {
  if (count === 1) return file;
  const number = (value: number): string => String(value).padStart(5, "0");
  return `${file.replace(/\.safetensors$/, "")}-${number(index + 1)}-of-${number(count)}.safetensors`;
}

function byteLengthOf({ shape, dtype = "F32" }: TensorToWrite): number {
  return shape.reduce((product, size) => product * size, dtypeBits[dtype] / 8);
}

/** Sorts wider types first, so that every tensor begins at a multiple of its element's size, then by name. */
function inFileOrder(tensors: readonly TensorToWrite[]): readonly TensorToWrite[] {
  const names = new Set(tensors.map((tensor) => tensor.name));
  if (names.size !== tensors.length) throw new RangeError("Two tensors to be written have the same name.");
  const bits = ({ dtype = "F32" }: TensorToWrite): number => dtypeBits[dtype];
  return tensors.toSorted((a, b) => bits(b) - bits(a) || (a.name < b.name ? -1 : 1));
}

function splitIntoShards(tensors: readonly TensorToWrite[], maximumBytes: number): readonly TensorToWrite[][] {
  const shards: TensorToWrite[][] = [[]];
  let bytes = 0;
  for (const tensor of tensors) {
    const size = byteLengthOf(tensor);
    if (bytes + size > maximumBytes && shards.at(-1)!.length > 0) {
      shards.push([]);
      bytes = 0;
    }
    shards.at(-1)!.push(tensor);
    bytes += size;
  }
  return shards;
}

function indexOf(shards: readonly (readonly TensorToWrite[])[], names: readonly string[]): object {
  const places = shards.flatMap((shard, i) => shard.map((tensor) => [tensor.name, names[i]] as const));
  return {
    metadata: { total_size: shards.flat().reduce((sum, tensor) => sum + byteLengthOf(tensor), 0) },
    weight_map: Object.fromEntries(places.toSorted(([a], [b]) => (a < b ? -1 : 1))),
  };
}

async function writeShard(handle: FileHandle, shard: readonly TensorToWrite[]): Promise<void> {
  await writeFully(handle, headerBytes(shard));
  for (const tensor of shard) {
    const data = typeof tensor.data === "function" ? await tensor.data() : tensor.data;
    const count = tensor.shape.reduce((product, size) => product * size, 1);
    if (data.length !== count) {
      throw new RangeError(`Tensor "${tensor.name}" of shape [${tensor.shape.join(", ")}] has ${data.length} values.`);
    }
    for (let done = 0; done < count; done += chunkElements) {
      await writeFully(handle, encodeFloats(tensor.dtype ?? "F32", data.subarray(done, done + chunkElements)));
    }
  }
}

/**
 * Returns the header's length and the header, padded with spaces so that the tensors begin at a multiple of eight
 * bytes.
 */
function headerBytes(shard: readonly TensorToWrite[]): Uint8Array {
  const entries: [string, unknown][] = [["__metadata__", { format: "pt" }]];
  let offset = 0;
  for (const tensor of shard) {
    const end = offset + byteLengthOf(tensor);
    entries.push([tensor.name, { dtype: tensor.dtype ?? "F32", shape: tensor.shape, data_offsets: [offset, end] }]);
    offset = end;
  }
  const json = new TextEncoder().encode(JSON.stringify(Object.fromEntries(entries)));
  const length = Math.ceil(json.length / 8) * 8;
  const bytes = new Uint8Array(lengthBytes + length).fill(0x20);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(length), true);
  bytes.set(json, lengthBytes);
  return bytes;
}

async function writeFully(handle: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let done = 0; done < bytes.length; ) done += (await handle.write(bytes, done)).bytesWritten;
}
