import { stat } from "node:fs/promises";

/** Returns the size of a file in bytes, or 0 if it does not exist. */
export async function fileSize(path: string): Promise<number> {
  return stat(path).then(
    ({ size }) => size,
    () => 0,
  );
}
