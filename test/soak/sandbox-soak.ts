/**
 * A program for the soak tests. It runs consecutive executions, some of which end their worker. It prints a line of
 * JSON after every fiftieth, while nothing runs, and one at the end. node --expose-gc sandbox-soak.ts <backend>
 * <executions>
 */
import { setTimeout as sleep } from "node:timers/promises";
import {
  createSandbox,
  type ExecuteRequest,
  type ExecuteResult,
  type Sandbox,
  type SandboxChoice,
} from "../../sandbox/index.ts";
import { resourceUsage } from "./resource-usage.ts";

const backend = process.argv[2] as SandboxChoice;
const executions = Number(process.argv[3]);
const language = backend === "isolated-vm" ? "javascript" : "python";
const concurrency = 4;

/** Programs that define `f`, and how each ends, for a number n. */
const programs = {
  python: {
    honest: "def f(n):\n    thirds = sorted(range(n % 97, 0, -1))\n    return [sum(thirds), str(n)]\n",
    raises: "def f(n):\n    raise ValueError(n)\n",
    prints: "import sys\ndef f(n):\n    print('x' * 10_000)\n    print('y', file=sys.stderr)\n    return n\n",
    exits: "import os\ndef f(n):\n    os._exit(3)\n",
    spins: "def f(n):\n    while True: pass\n",
    broken: "def f(n) return n\n",
  },
  javascript: {
    honest:
      "function f(n) { const m = Number(n % 97n); let s = 0; for (let i = 1; i <= m; i++) s += i; return [BigInt(s), String(n)]; }",
    raises: "function f(n) { throw new TypeError(n); }",
    prints: "function f(n) { console.log('x'.repeat(10_000)); console.error('y'); return n; }",
    exits: "function f(n) { process.exit(3); }",
    spins: "function f(n) { for (;;); }",
    broken: "function f(n) return n",
  },
}[language];
type Program = keyof typeof programs;

/** Most are honest. Programs that end a worker are rare, because starting another one takes long. */
function programOf(n: number): Program {
  if (n % 500 === 499) return "spins";
  if (n % 250 === 249) return "exits";
  if (n % 50 === 49) return "prints";
  if (n % 25 === 24) return "raises";
  return n % 25 === 23 ? "broken" : "honest";
}

function requestOf(n: number): ExecuteRequest {
  const entry = language === "python" ? "solution.py" : "solution.js";
  return {
    language,
    files: { [entry]: programs[programOf(n)] },
    entry,
    task: { kind: "calls", function: "f", cases: [{ args: [{ int: String(n) }] }] },
    limits: programOf(n) === "spins" ? { cpuMs: 100 } : {},
  };
}

function isAsExpected({ status, cases: [observed], stdout }: ExecuteResult, n: number): boolean {
  const m = n % 97;
  switch (programOf(n)) {
    case "honest": {
      const expected = { list: [{ int: String((m * (m + 1)) / 2) }, String(n)] };
      return status === "ok" && JSON.stringify(observed?.value) === JSON.stringify(expected);
    }
    case "raises":
      return status === "ok" && observed?.outcome === "raised";
    case "prints":
      return status === "ok" && stdout.bytes === 10_001 && observed?.outcome === "returned";
    case "exits":
      return status === "exited";
    case "spins":
      return status === "timeout_cpu";
    case "broken":
      return status === "load_error";
  }
}

const open = (): Promise<Sandbox> => createSandbox({ backend, language, workers: 2 });

// What is opened once, at its first use, must not look like a leak.
void process.stdout;
{
  await using first = await open();
  await first.execute(requestOf(0));
}
const before = await resourceUsage(backend);
const sandbox = await open();
const wrong: string[] = [];
const batch = Math.ceil(executions / 50);
for (let first = 0; first < executions; first += batch) {
  const left = Array.from({ length: batch }, (_, i) => first + i).values();
  const start = performance.now();
  const work = async (): Promise<void> => {
    for (const n of left) {
      const result = await sandbox.execute(requestOf(n));
      if (!isAsExpected(result, n)) wrong.push(`${n} ${programOf(n)}: ${JSON.stringify(result).slice(0, 600)}`);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  const rate = Math.round((1000 * batch) / (performance.now() - start));
  // Ended workers are replaced, so that every sample has the same number.
  await sandbox.warmUp();
  globalThis.gc!();
  console.log(JSON.stringify({ done: first + batch, rate, wrong: wrong.length, ...(await resourceUsage(backend)) }));
}
const { workersStarted } = sandbox.stats();
await sandbox[Symbol.asyncDispose]();
// An engine's client keeps its connections open for some seconds.
for (let i = 0; i < 100 && (await resourceUsage(backend)).files > before.files; i++) await sleep(100);
console.log(JSON.stringify({ before, after: await resourceUsage(backend), wrong, workersStarted }));
