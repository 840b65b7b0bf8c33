/**
 * Compares a whole GRPO step with TRL's GRPOTrainer: sampling, rewards, update. Both take turns, step by step, with the same
 * model, prompts, adapter and size of micro-batches:
 *
 *   LYCEUM_PYTHON=python3 npm run compare-trl -- --model FOLDER [--device cuda] [--precision bfloat16] [--rounds 5]
 *   [--backend torch|onnx] [--prompts 4] [--words 0] [--group 8] [--tokens 128] [--micro-batch 8]
 *
 * `--backend onnx` takes the embedded engine, on the CPU. `--words` makes each prompt longer by so many words of one token.
 * The interpreter needs trl, datasets and what the worker needs. Prints one JSON line for each step, one for each side and
 * one for the ratios of their seconds and of their processor time, which tells more on a machine that does other work. Round
 * 0 is not counted.
 */
import { spawn } from "node:child_process";
import { mkdtempDisposable, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { defineEnvironment } from "../src/core/environment/define-environment.ts";
import { median, sum } from "../src/core/statistics.ts";
import { createOnnxBackend } from "../trainers/backends/onnx/index.ts";
import { backendOn } from "../trainers/backends/torch/backend.ts";
import { findPython } from "../trainers/backends/torch/torch-environment.ts";
import { WorkerProcess } from "../trainers/backends/torch/worker-process.ts";
import { train } from "../trainers/training/train.ts";

const { values } = parseArgs({
  options: {
    model: { type: "string" },
    backend: { type: "string", default: "torch" },
    device: { type: "string", default: "cuda" },
    precision: { type: "string" },
    rounds: { type: "string", default: "5" },
    prompts: { type: "string", default: "4" },
    words: { type: "string", default: "0" },
    group: { type: "string", default: "8" },
    tokens: { type: "string", default: "128" },
    "micro-batch": { type: "string", default: "8" },
    threads: { type: "string" },
    sampler: { type: "string", default: "torch" },
  },
});
if (values.model === undefined) throw new Error("Name the folder of a model: --model FOLDER.");
const model = values.model;
const device = values.backend === "onnx" ? "cpu" : (values.device as "cuda" | "cpu");
const precision = (values.precision ?? (device === "cuda" ? "bfloat16" : "float32")) as "bfloat16" | "float32";
const [rounds, groupSize, tokens, microBatch, words] = [
  ...[values.rounds, values.group, values.tokens, values["micro-batch"], values.words],
].map(Number) as [number, number, number, number, number];
const threads = values.threads === undefined ? undefined : Number(values.threads);
const subjects = ["a river", "a city at night", "a long journey", "an old machine", "a garden", "a storm", "a library"];
const nouns = ["river", "night", "garden", "storm", "library", "machine", "journey", "mountain"];
const prompts = Array.from({ length: Number(values.prompts) }, (_, i) => {
  const used = Array.from({ length: words }, (_, word) => ` ${nouns[(word * (i + 1)) % nouns.length]}`).join("");
  return `Write a very long story about ${subjects[i % subjects.length]} in ${1 + i} chapters.${used}`;
});

interface Step {
  readonly seconds: number;
  /** Processor time of all threads of the side's processes. */
  readonly processorSeconds: number;
  /** Sampled tokens. */
  readonly tokens: number;
  readonly peakBytes: number;
}

const stories = defineEnvironment({
  id: "stories",
  tasks: () => prompts.map((prompt) => ({ prompt })),
  reset: ({ task }) => task.prompt,
  step: ({ text }) => ({ reward: [...text].filter((one) => "aeiou".includes(one)).length / Math.max(1, text.length) }),
});

/** The steps of Lyceum. Each begins when it is asked for. */
async function* lyceumSteps(output: string): AsyncGenerator<Step> {
  const sampler = values.sampler as "torch" | "vllm";
  const worker =
    values.backend === "onnx"
      ? undefined
      : await WorkerProcess.start(findPython(), { device, precision, threads, sampler });
  await using backend = worker === undefined ? await createOnnxBackend({ device: "cpu", threads }) : backendOn(worker);
  const events = train({
    backend,
    output,
    environment: stories,
    config: {
      seed: 1,
      algorithm: { id: "grpo", groupSize, epochs: 1, minibatches: 1, klWeight: 0 },
      model: { path: model, adapter: { type: "lora", rank: 16, alpha: 32 } },
      sampling: { maxTokens: tokens },
      probe: { groups: 0 },
      preflight: false,
      training: {
        steps: rounds + 1,
        batchSize: prompts.length,
        learningRate: 1e-5,
        sampleEvery: 0,
        // The prompts have about 50 tokens. TRL counts rows, not tokens.
        maxTokensPerMicroBatch: microBatch * (tokens + 50 + words),
      },
      checkpoint: { every: 0 },
      export: { format: "none" },
    },
  });
  let started = performance.now();
  let spent = await processorSeconds(worker);
  for await (const event of events) {
    if (event.type !== "run-start" && event.type !== "step") continue;
    if (event.type === "step") {
      yield {
        seconds: (performance.now() - started) / 1000,
        processorSeconds: (await processorSeconds(worker)) - spent,
        tokens: event.metrics["tokens/sampled"] ?? Number.NaN,
        peakBytes: await peakBytes(worker),
      };
    }
    started = performance.now();
    spent = await processorSeconds(worker);
  }
}

/** The processor time so far of this process and its worker. Linux counts hundredths of a second. */
async function processorSeconds(worker: WorkerProcess | undefined): Promise<number> {
  const { user, system } = process.cpuUsage();
  const own = (user + system) / 1e6;
  if (worker === undefined) return own;
  const fields = (await readFile(`/proc/${worker.pid}/stat`, "utf8")).replace(/.*\) /, "").split(" ");
  return own + (Number(fields[11]) + Number(fields[12])) / 100;
}

/** The greatest memory so far: of the card, or of this process and its worker together. */
async function peakBytes(worker: WorkerProcess | undefined): Promise<number> {
  if (device === "cuda") return (await worker!.call("memory", {})).value.peakBytes as number;
  const peaks = [process.pid, ...(worker === undefined ? [] : [worker.pid!])].map(async (pid) => {
    const status = await readFile(`/proc/${pid}/status`, "utf8");
    return 1024 * Number(/VmHWM:\s+(\d+)/.exec(status)![1]);
  });
  return sum(await Promise.all(peaks));
}

/** The steps of TRL. */
async function* trlSteps(folder: string): AsyncGenerator<Step> {
  const request = {
    model,
    folder,
    device,
    precision,
    threads,
    prompts,
    groupSize,
    tokens,
    microBatch,
    steps: rounds + 1,
  };
  const script = path.join(import.meta.dirname, "trl_baseline.py");
  const child = spawn(findPython(), [script, JSON.stringify(request)], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
  try {
    while (true) {
      child.stdin!.write("step\n");
      const { value, done } = await lines.next();
      if (done) return;
      yield JSON.parse(value as string) as Step;
    }
  } finally {
    child.kill();
  }
}

await using folder = await mkdtempDisposable(path.join(tmpdir(), "lyceum-trl-"));
const sides = { lyceum: lyceumSteps(path.join(folder.path, "lyceum")), trl: trlSteps(path.join(folder.path, "trl")) };
const found: Record<keyof typeof sides, Step[]> = { lyceum: [], trl: [] };
for (let round = 0; round <= rounds; round++) {
  for (const [side, steps] of Object.entries(sides) as [keyof typeof sides, AsyncGenerator<Step>][]) {
    const { value, done } = await steps.next();
    if (done) throw new Error(`${side} has ended early.`);
    if (round > 0) found[side].push(value);
    console.log(JSON.stringify({ round, side, ...value }));
  }
}
for (const steps of Object.values(sides)) await steps.return(undefined);
const middle = (side: keyof typeof sides, quantity: keyof Step): number =>
  median(found[side].map((step) => step[quantity]));
for (const side of ["lyceum", "trl"] as const) {
  const figures = {
    secondsPerStep: middle(side, "seconds"),
    processorSecondsPerStep: middle(side, "processorSeconds"),
    tokensPerStep: middle(side, "tokens"),
    peakBytes: Math.max(...found[side].map((step) => step.peakBytes)),
  };
  console.log(JSON.stringify({ side: side === "lyceum" ? values.backend : side, device, precision, ...figures }));
}
const ratio = (quantity: keyof Step): number =>
  Number((middle("trl", quantity) / middle("lyceum", quantity)).toFixed(2));
console.log(JSON.stringify({ ratio: ratio("seconds"), processorRatio: ratio("processorSeconds") }));
