import { totalmem } from "node:os";
import { getHeapStatistics } from "node:v8";

/** Returns the memory that this process can use, in bytes: that of the machine, or the limit of its container. */
export function machineMemory(): number {
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(totalmem(), limit) : totalmem();
}

/** Returns the heap limit of this process in bytes. Typed arrays are outside the heap. */
export function heapMemory(): number {
  return getHeapStatistics().heap_size_limit;
}
