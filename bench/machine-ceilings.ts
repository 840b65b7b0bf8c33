import { availableParallelism } from "node:os";
import { productRate, readRate } from "../trainers/plan/measured-machine.ts";

const threads = availableParallelism();

/** Returns the best rate of several square matrix products, from 1024 to 4096, on every core, in FLOP per second. */
export async function productCeiling(): Promise<number> {
  let best = 0;
  for (const size of [1024, 1536, 2048, 3072, 4096]) {
    best = Math.max(best, (await productRate(size, { seconds: 0.5, threads })).high);
  }
  return best;
}

/**
 * Returns the bytes per second that all cores together read from memory. It reduces half a gigabyte, many times larger
 * than any cache, to the maxima of its rows in one pass.
 */
export async function readCeiling(): Promise<number> {
  return (await readRate(256, { seconds: 0.5, threads })).high;
}

/** Returns the lowest seconds of several runs, after one uncounted run. */
export async function fastest(runs: number, run: () => Promise<unknown>): Promise<number> {
  await run();
  let best = Number.POSITIVE_INFINITY;
  for (let i = 0; i < runs; i++) {
    const start = performance.now();
    await run();
    best = Math.min(best, (performance.now() - start) / 1000);
  }
  return best;
}
