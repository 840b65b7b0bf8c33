import { crc32c } from "./crc32c.ts";

/**
 * Data as one record of a TFRecord file: its length (8 bytes), the length's checksum, the data, its checksum, all
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

/** A checksum turned and shifted, so that the checksum of data that holds checksums is of use too. */
function maskedChecksum(bytes: Uint8Array): number {
  const sum = crc32c(bytes);
  return (((sum >>> 15) | (sum << 17)) + 0xa282ead8) >>> 0;
}
