import { writeFile } from "node:fs/promises";

/** Returns the bytes of a safetensors file with this header (an object, or a text unchanged) and these data. */
export function safetensorsBytes(header: unknown, data: Uint8Array = new Uint8Array(), claimedLength?: number): Buffer {
  const json = Buffer.from(typeof header === "string" ? header : JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(claimedLength ?? json.length));
  return Buffer.concat([length, json, data]);
}

/** Writes a safetensors file by hand, independently of the writer under test. */
export async function writeRawFile(file: string, header: unknown, data?: Uint8Array): Promise<void> {
  await writeFile(file, safetensorsBytes(header, data));
}
