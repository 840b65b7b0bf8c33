import { LyceumError } from "../../../src/contract/errors/index.ts";

/** Returns the error for a body that the Tinker API does not allow. */
export function invalidBody(message: string): LyceumError {
  return new LyceumError({ code: "server.invalid-request", message });
}

/** Reads little-endian float32 values. Throws `server.invalid-request` for a wrong number of bytes. */
export function floatsOf(bytes: Uint8Array): Float32Array<ArrayBuffer> {
  return new Float32Array(alignedBytes(bytes, 4));
}

/** Reads little-endian int32 values. Throws `server.invalid-request` for a wrong number of bytes. */
export function intsOf(bytes: Uint8Array): Int32Array<ArrayBuffer> {
  return new Int32Array(alignedBytes(bytes, 4));
}

/**
 * Reads little-endian int64 values that int32 can represent, such as token ids. Throws `server.invalid-request` for
 * others.
 */
export function longsOf(bytes: Uint8Array): Int32Array<ArrayBuffer> {
  return Int32Array.from(new BigInt64Array(alignedBytes(bytes, 8)), (value) => asInt32(Number(value)));
}

/** Returns a value that int32 can represent. Throws `server.invalid-request` for another. */
export function asInt32(value: number): number {
  if ((value | 0) !== value) throw invalidBody(`The integer ${value} does not fit into 32 bits.`);
  return value;
}

/** Returns the bytes of numbers. Every platform of Node is little-endian. */
export function bytesOf(values: Float32Array | Int32Array | BigInt64Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(values.buffer as ArrayBuffer, values.byteOffset, values.byteLength).slice();
}

/** Returns the bytes of integers as int64 values. */
export function longBytes(values: Iterable<number>): Uint8Array<ArrayBuffer> {
  return bytesOf(BigInt64Array.from(values, BigInt));
}

function alignedBytes(bytes: Uint8Array, size: number): ArrayBuffer {
  if (bytes.length % size !== 0) throw invalidBody(`A tensor has ${bytes.length} bytes, not a multiple of ${size}.`);
  return new Uint8Array(bytes).buffer;
}
