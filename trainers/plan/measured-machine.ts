import { machineMemory } from "../../src/core/machine-memory.ts";
import { sum } from "../../src/core/statistics.ts";
import { defaultThreads } from "../backends/onnx/engine/default-threads.ts";
import { GraphSession } from "../backends/onnx/engine/session.ts";
import { add } from "../backends/onnx/graph/elementwise.ts";
import { Graph } from "../backends/onnx/graph/graph.ts";
import { matrixProduct } from "../backends/onnx/graph/linear.ts";
import { reduceMax } from "../backends/onnx/graph/reduction.ts";
import { type Interval, interval } from "./interval.ts";

/**
 * The measured speed of this machine's processor in the embedded engine. The middle of a rate is the mean over all
 * runs. Its ends are the middle divided and multiplied by one factor: that of the farther quartile, at most 2. Other
 * programs on the machine spread the runs. A training takes longer and averages over this spread.
 */
export interface MachineRates {
  /** Floating-point operations per second of square matrix products of 1,024. */
  readonly flops: Interval;
  /** Bytes per second that all threads together read from memory. */
  readonly bandwidth: Interval;
  /** Operators per second of a graph whose tensors have 16,384 numbers. */
  readonly operators: Interval;
  readonly threads: number;
  /** Bytes of memory that a process can use. */
  readonly memory: number;
}

/** Measures this machine in about two seconds. */
export async function measureMachine(threads: number = defaultThreads()): Promise<MachineRates> {
  return {
    flops: await productRate(1024, { seconds: 0.8, threads }),
    bandwidth: await readRate(64, { seconds: 0.5, threads }),
    operators: await operatorRate({ seconds: 0.2, threads }),
    threads,
    memory: machineMemory(),
  };
}

/** Combines measurements at several times into mean rates, for equal work at each time (the harmonic mean). */
export function combineRates(measured: readonly MachineRates[]): MachineRates {
  const over = (rate: "flops" | "bandwidth" | "operators"): Interval => {
    const mean = (end: keyof Interval): number =>
      measured.length / measured.reduce((sum, one) => sum + 1 / one[rate][end], 0);
    return interval(mean("low"), mean("middle"), mean("high"));
  };
  return { ...measured[0]!, flops: over("flops"), bandwidth: over("bandwidth"), operators: over("operators") };
}

/** How long to measure, and with how many threads. */
interface Repetition {
  readonly seconds: number;
  readonly threads: number;
}

/** Returns the rate of a square matrix product, in floating-point operations per second. */
export async function productRate(size: number, { seconds, threads }: Repetition): Promise<Interval> {
  const graph = new Graph();
  const a = graph.input("a", "float32", [size, size]);
  const b = graph.input("b", "float32", [size, size]);
  graph.output("y", reduceMax(matrixProduct(a, b), [0, 1]));
  await using session = await GraphSession.create(graph, { device: "cpu", threads });
  const feed = { data: new Float32Array(size * size).fill(0.5), shape: [size, size] };
  return rateOf(2 * size ** 3, await timed(seconds, () => session.run({ a: feed, b: feed })));
}

/**
 * Returns the bytes per second that all threads together read from memory. The graph computes the maxima of rows of 2
 * MB. With enough rows, they do not fit into a cache.
 */
export async function readRate(rows: number, { seconds, threads }: Repetition): Promise<Interval> {
  const columns = 524_288;
  const graph = new Graph();
  const x = graph.input("x", "float32", [rows, columns]);
  graph.output("y", reduceMax(x, [1]));
  await using session = await GraphSession.create(graph, { device: "cpu", threads });
  const feed = { data: new Float32Array(rows * columns).fill(1), shape: [rows, columns] };
  return rateOf(4 * rows * columns, await timed(seconds, () => session.run({ x: feed })));
}

async function operatorRate({ seconds, threads }: Repetition): Promise<Interval> {
  const operators = 200;
  const graph = new Graph();
  const x = graph.input("x", "float32", [16_384]);
  let y = x;
  for (let i = 0; i < operators; i++) y = add(y, x);
  graph.output("y", y);
  await using session = await GraphSession.create(graph, { device: "cpu", threads });
  const feed = { data: new Float32Array(16_384), shape: [16_384] };
  return rateOf(operators, await timed(seconds, () => session.run({ x: feed })));
}

/**
 * Returns the seconds of each run, ascending. Runs for the given seconds, at least five times, after one uncounted run.
 */
async function timed(seconds: number, run: () => Promise<unknown>): Promise<number[]> {
  await run();
  const each: number[] = [];
  const end = performance.now() + 1000 * seconds;
  while (each.length < 5 || performance.now() < end) {
    const start = performance.now();
    await run();
    each.push((performance.now() - start) / 1000);
  }
  return each.sort((a, b) => a - b);
}

/** Returns the rate of runs with equal work from their seconds, in ascending order. See {@link MachineRates}. */
export function rateOf(work: number, seconds: readonly number[]): Interval {
  const mean = sum(seconds) / seconds.length;
  const quartile = (share: number): number => seconds[Math.floor(share * (seconds.length - 1))]!;
  const factor = Math.min(2, Math.max(mean / quartile(0.25), quartile(0.75) / mean));
  return interval(work / mean / factor, work / mean, (work / mean) * factor);
}
