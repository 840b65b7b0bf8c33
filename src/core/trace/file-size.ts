import { stat } from "node:fs/promises";

/** The bytes of a file; 0 where there is none. */
export async function fileSize(path: string): Promise<number> {
  return stat(path).then(
    ({ size }) => size,
    () => 0,
  );
}
