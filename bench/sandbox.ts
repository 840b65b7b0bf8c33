import { execFile } from "node:child_process";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { createSandbox, type ExecuteTask, type Language, type Sandbox, type SandboxChoice } from "../sandbox/index.ts";
import { LyceumError } from "../src/contract/errors/index.ts";
import type { Benchmark, BenchmarkResult } from "./benchmark.ts";

const python = `def sort_third(numbers):
    thirds = iter(sorted(numbers[::3]))
    return [next(thirds) if i % 3 == 0 else number for i, number in enumerate(numbers)]
`;
const javascript = `function sortThird(numbers) {
  const thirds = numbers.filter((_, i) => i % 3 === 0).sort((a, b) => a - b);
  return numbers.map((number, i) => (i % 3 === 0 ? thirds[i / 3] : number));
}
`;
const lists = [[5, 6, 3, 4, 8, 9, 2], [5, 8, 3, 4, 6, 9, 2], [5, 6, 9, 4, 8, 3, 2], [], [3, 1, 2]];
const asserts = lists.map(
  (list) => `assert sort_third(${JSON.stringify(list)})[1::3] == ${JSON.stringify(list)}[1::3]`,
);

const calls = (name: string, number: (value: number) => object): ExecuteTask => ({
  kind: "calls",
  function: name,
  cases: lists.map((list) => ({ args: [{ list: list.map(number) as { int: string }[] }] })),
});
const pythonCalls = calls("sort_third", (value) => ({ int: String(value) }));
const pythonJudge: ExecuteTask = { kind: "judge", tests: asserts, exports: ["sort_third"] };
const javascriptCalls = calls("sortThird", (value) => ({ float: String(value) }));

/** A figure: what runs where, and its target as a multiple of the reference. */
interface Case {
  readonly name: string;
  readonly backend: SandboxChoice;
  readonly language: Language;
  readonly task: ExecuteTask;
}

const cases: readonly Case[] = [
  { name: "docker-calls", backend: "docker", language: "python", task: pythonCalls },
  { name: "docker-judge", backend: "docker", language: "python", task: pythonJudge },
  { name: "bubblewrap-calls", backend: "bubblewrap", language: "python", task: pythonCalls },
  { name: "pyodide", backend: "pyodide", language: "python", task: pythonCalls },
  { name: "docker-javascript", backend: "docker", language: "javascript", task: javascriptCalls },
  { name: "isolated-vm", backend: "isolated-vm", language: "javascript", task: javascriptCalls },
];

const rounds = 3;

/**
 * Measures executions per second of a short function with five tests. The reference is a manager and a forked process
 * for each check (`forked-harness.py`), as in the HumanEval harness. Sandboxes that do not run here are skipped.
 */
export const sandbox: Benchmark = {
  prefix: "sandbox",
  run: async () => {
    const results: BenchmarkResult[] = [];
    for (const { name, backend, language, task } of cases) {
      await using opened = await open(backend, language);
      if (opened === undefined) continue;
      await opened.warmUp();
      let [reference, rate, p99] = [0, 0, Number.POSITIVE_INFINITY];
      // The cases alternate and the best of each counts, because the machine's speed varies.
      for (let round = 0; round < rounds; round++) {
        reference = Math.max(reference, await referenceRate());
        const measured = await measure(opened, language, task);
        rate = Math.max(rate, measured.rate);
        p99 = Math.min(p99, measured.p99);
      }
      results.push(
        { name: `sandbox/${name}`, value: rate, unit: "executions/s", baseline: reference },
        { name: `sandbox/${name}-ratio`, value: rate / reference, unit: "ratio" },
        { name: `sandbox/${name}-p99-ms`, value: p99, unit: "ms", baseline: 250 },
      );
    }
    return results;
  },
};

async function open(backend: SandboxChoice, language: Language): Promise<Sandbox | undefined> {
  try {
    return await createSandbox({ backend, language });
  } catch (error) {
    if (!LyceumError.isInstance(error) || error.code !== "sandbox.unavailable") throw error;
    console.error(`sandbox/${backend}: left out. ${error.message}`);
    return undefined;
  }
}

async function measure(
  opened: Sandbox,
  language: Language,
  task: ExecuteTask,
): Promise<{ readonly rate: number; readonly p99: number }> {
  const [entry, source] = language === "python" ? ["solution.py", python] : ["solution.js", javascript];
  const latencies: number[] = [];
  const run = async (): Promise<void> => {
    const start = performance.now();
    const { status, cases: observed } = await opened.execute({ language, files: { [entry]: source }, entry, task });
    if (status !== "ok" || observed.some(({ outcome }) => outcome !== "returned")) {
      throw new Error(`An execution ended with ${status}.`);
    }
    latencies.push(performance.now() - start);
  };
  for (let i = 0; i < 20; i++) await run();
  latencies.length = 0;
  const seconds = 2;
  const start = performance.now();
  const runs = async (): Promise<void> => {
    while (performance.now() - start < 1000 * seconds) await run();
  };
  await Promise.all(Array.from({ length: availableParallelism() }, runs));
  const rate = (1000 * latencies.length) / (performance.now() - start);
  return { rate, p99: latencies.toSorted((a, b) => a - b)[Math.floor(latencies.length * 0.99)]! };
}

async function referenceRate(): Promise<number> {
  const job = { program: [python, ...asserts].join("\n"), checks: 200, workers: 2 * availableParallelism() };
  const process = promisify(execFile)("python3", [join(import.meta.dirname, "forked-harness.py")]);
  process.child.stdin!.end(JSON.stringify(job));
  return Number((await process).stdout);
}
