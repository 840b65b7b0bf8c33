import { totalmem } from "node:os";
import { getHeapStatistics } from "node:v8";

/** The bytes of memory that there are for this process: the machine's, or fewer inside of a container. */
export function machineMemory(): number {
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(totalmem(), limit) : totalmem();
}

/** The bytes that objects of this process may take, without the content of arrays of numbers. */
export function heapMemory(): number {
  return getHeapStatistics().heap_size_limit;
}

/** Bytes as a person reads them: `4.2 GB`, or `1,000 GB`. */
export function gigabytes(bytes: number): string {
  return `${(bytes / 1e9).toLocaleString("en", { maximumFractionDigits: bytes < 1e11 ? 1 : 0 })} GB`;
}
