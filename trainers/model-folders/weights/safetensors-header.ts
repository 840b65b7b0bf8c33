import { isJsonObject } from "../../../src/contract/json.ts";
import { malformedFile } from "../../../src/core/tokens/model-file.ts";

/** The number of bits per element of every safetensors type. */
export const dtypeBits = {
  F64: 64,
  F32: 32,
  F16: 16,
  BF16: 16,
  F8_E4M3: 8,
  F8_E5M2: 8,
  F8_E8M0: 8,
  F6_E2M3: 6,
  F6_E3M2: 6,
  F4: 4,
  C64: 64,
  I64: 64,
  U64: 64,
  I32: 32,
  U32: 32,
  I16: 16,
  U16: 16,
  I8: 8,
  U8: 8,
  BOOL: 8,
} as const;

/** The element type of a tensor, by its safetensors name. */
export type Dtype = keyof typeof dtypeBits;

/** The location of a tensor in its file. */
export interface TensorLocation {
  readonly dtype: Dtype;
  readonly shape: readonly number[];
  /** The offset from the beginning of the file. */
  readonly byteOffset: number;
  readonly byteLength: number;
}

/** The size of the header's length, which precedes the header: 64 bits, little-endian. */
export const lengthBytes = 8;

const maximumHeaderBytes = 100_000_000;

/**
 * Reads the length of the header from the first eight bytes of a file. Throws `model.malformed` if the length exceeds
 * the file or the format's limit of 100 MB.
 */
export function readHeaderLength(options: {
  readonly file: string;
  readonly fileSize: number;
  readonly start: Uint8Array;
}): number {
  const { file, fileSize, start } = options;
  if (start.length < lengthBytes) throw malformedFile({ file, reason: "it is shorter than the length of its header" });
  const length = new DataView(start.buffer, start.byteOffset, lengthBytes).getBigUint64(0, true);
  if (length > BigInt(maximumHeaderBytes)) {
    throw malformedFile({
      file,
      reason: `its header claims ${length} bytes, but the format allows ${maximumHeaderBytes}`,
    });
  }
  if (Number(length) > fileSize - lengthBytes) {
    throw malformedFile({ file, reason: `its header claims ${length} bytes, but the file has ${fileSize}` });
  }
  return Number(length);
}

/**
 * Returns the tensors of a safetensors file by name. Checks all rules of the format: names, types, shapes that agree
 * with lengths, and tensors that cover the rest of the file without gaps or overlaps. Throws `model.malformed` with the
 * file and the reason.
 */
export function parseSafetensorsHeader(options: {
  readonly file: string;
  readonly fileSize: number;
  /** The header without its length. */
  readonly header: Uint8Array;
}): ReadonlyMap<string, TensorLocation> {
  const { file, fileSize, header } = options;
  const fail = (reason: string): Error => malformedFile({ file, reason });
  const dataStart = lengthBytes + header.length;
  const tensors = new Map<string, TensorLocation>();
  for (const [name, entry] of Object.entries(parseJsonObject(file, header))) {
    if (name === "__metadata__") checkMetadata(entry, fail);
    else tensors.set(name, parseEntry({ name, entry, dataStart, fail }));
  }
  let end = dataStart;
  const inOrder = [...tensors].toSorted(([, a], [, b]) => a.byteOffset - b.byteOffset || a.byteLength - b.byteLength);
  for (const [name, { byteOffset, byteLength }] of inOrder) {
    if (byteOffset !== end) {
      throw fail(`tensor "${name}" begins at byte ${byteOffset}, but the previous one ends at ${end}`);
    }
    end += byteLength;
  }
  if (end !== fileSize) throw fail(`its tensors end at byte ${end}, but the file has ${fileSize}`);
  return tensors;
}

type Fail = (reason: string) => Error;

function parseJsonObject(file: string, header: Uint8Array): Readonly<Record<string, unknown>> {
  if (header[0] !== 0x7b) throw malformedFile({ file, reason: "its header does not begin with {" });
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(header));
  } catch (error) {
    throw malformedFile({ file, reason: `its header is not JSON (${(error as Error).message})`, cause: error });
  }
  return value as Readonly<Record<string, unknown>>;
}

function checkMetadata(value: unknown, fail: Fail): void {
  if (!isJsonObject(value) || !Object.values(value).every((entry) => typeof entry === "string")) {
    throw fail("its __metadata__ is not an object of strings");
  }
}

function parseEntry(options: {
  readonly name: string;
  readonly entry: unknown;
  readonly dataStart: number;
  readonly fail: Fail;
}): TensorLocation {
  const { name, entry, dataStart, fail } = options;
  if (!isJsonObject(entry)) throw fail(`the entry of tensor "${name}" is not an object`);
  const { dtype, shape, data_offsets: offsets } = entry;
  if (typeof dtype !== "string" || !Object.hasOwn(dtypeBits, dtype)) {
    throw fail(`tensor "${name}" has the unknown type ${JSON.stringify(dtype)}`);
  }
  if (!isSizeList(shape)) throw fail(`tensor "${name}" has no valid shape`);
  if (!isSizeList(offsets) || offsets.length !== 2 || offsets[0]! > offsets[1]!) {
    throw fail(`tensor "${name}" has no valid data_offsets`);
  }
  const [begin, end] = offsets as readonly [number, number];
  const bits = shape.reduce((product, size) => product * size, dtypeBits[dtype as Dtype]);
  if (bits !== (end - begin) * 8) {
    throw fail(
      `tensor "${name}" (${dtype}, shape [${shape.join(", ")}]) needs ${bits / 8} bytes but has ${end - begin}`,
    );
  }
  return { dtype: dtype as Dtype, shape, byteOffset: dataStart + begin, byteLength: end - begin };
}

function isSizeList(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.every((size) => Number.isSafeInteger(size) && size >= 0);
}
