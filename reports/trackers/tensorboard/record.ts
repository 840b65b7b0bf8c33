import { crc32c } from "./crc32c.ts";

/**
 * Encodes data as one record of a TFRecord file: the length (8 bytes), its checksum, the data and its checksum, all
 * little-endian (https://www.tensorflow.org/tutorials/load_data/tfrecord#tfrecords_format_details).
 */
export function tensorflowRecord(data: Uint8Array): Uint8Array {
  const record = new Uint8Array(data.length + 16);
  const view = new DataView(record.buffer);
  view.setBigUint64(0, BigInt(data.length), true);
  view.setUint32(8, maskedChecksum(record.subarray(0, 8)), true);
  record.set(data, 12);
  view.setUint32(12 + data.length, maskedChecksum(data), true);
  return record;
}

/** Rotates and shifts a checksum. Otherwise a checksum over data that contains checksums would be weak. */
function maskedChecksum(bytes: Uint8Array): number {
  const sum = crc32c(bytes);
  return (((sum >>> 15) | (sum << 17)) + 0xa282ead8) >>> 0;
}
