/**
 * Checks the PyTorch backend on this machine's card in one run of a few minutes, and compares its speed with plain
 * PyTorch, peft and transformers:
 *
 *   LYCEUM_PYTHON=python3 node scripts/gpu-check.ts [--device cuda] [--shapes 0.5B,1.5B] [--rows 1,16,64,256] [--rounds 3]
 *   [--skip conformance,train,sample,grpo]
 *
 * Prints one JSON line for each result. Ends with code 1 if a check fails. Models have random weights of real shapes.
 */
import { parseArgs } from "node:util";
import { model135m } from "../bench/model-135m.ts";
import { type FailedTurn, type Turn, TurnTaker } from "../bench/peers/turn-taker.ts";
import { toErrorData } from "../src/contract/errors/index.ts";
import { createRandom } from "../src/core/random/random.ts";
import { median } from "../src/core/statistics.ts";
import { datumFromIds } from "../trainers/backend/datum.ts";
import type { Model, TrainingBackend } from "../trainers/backend/training-backend.ts";
import { backendOn } from "../trainers/backends/torch/backend.ts";
import { findPython } from "../trainers/backends/torch/torch-environment.ts";
import { WorkerProcess } from "../trainers/backends/torch/worker-process.ts";
import { backendConformance } from "../trainers/testing/index.ts";

const { values } = parseArgs({
  options: {
    device: { type: "string", default: "cuda" },
    shapes: { type: "string", default: "0.5B,1.5B" },
    rows: { type: "string", default: "1,16,64,256" },
    rounds: { type: "string", default: "3" },
    skip: { type: "string", default: "" },
    threads: { type: "string" },
    sequences: { type: "string", default: "16" },
    length: { type: "string", default: "512" },
    tokens: { type: "string", default: "128" },
  },
});
const device = values.device as "cuda" | "cpu";
const rounds = Number(values.rounds);
const threads = values.threads === undefined ? undefined : Number(values.threads);
const skipped = values.skip.split(",");
const adam = { learningRate: 1e-4, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0.01, clipNorm: 1 };
let failed = false;

const qwen = { model_type: "qwen2", num_key_value_heads: 2, max_position_embeddings: 4096, tie_word_embeddings: true };
const shapes: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  tiny: {
    ...qwen,
    vocab_size: 1024,
    hidden_size: 64,
    intermediate_size: 128,
    num_hidden_layers: 2,
    num_attention_heads: 4,
  },
  "135M": model135m.config,
  "0.5B": {
    ...qwen,
    vocab_size: 151_936,
    hidden_size: 896,
    intermediate_size: 4864,
    num_hidden_layers: 24,
    num_attention_heads: 14,
  },
  "1.5B": {
    ...qwen,
    vocab_size: 151_936,
    hidden_size: 1536,
    intermediate_size: 8960,
    num_hidden_layers: 28,
    num_attention_heads: 12,
  },
};

/** The program that the worker is compared with. */
const peer = new URL("../bench/peers/pytorch_peer.py", import.meta.url).pathname;

const settings = { device, threads };
const worker = await WorkerProcess.start(findPython(), settings);

/** Runs the conformance suite with a tiny model. bfloat16 has its own tolerance. */
async function conformance(shared: TrainingBackend): Promise<void> {
  const config = { ...shapes.tiny, vocab_size: 263, max_position_embeddings: 64, initializer_range: 0.2 };
  const source = { type: "scratch", config, seed: 1 } as const;
  for (const precision of ["float32", "bfloat16"] as const) {
    await using own = await WorkerProcess.start(findPython(), { ...settings, precision });
    const subject = precision === worker.info.precision ? shared : backendOn(own);
    const cases = backendConformance({
      backend: () => subject,
      create: async () => backendOn(await WorkerProcess.start(findPython(), { ...settings, precision })),
      specs: {
        full: { source, trainable: { type: "full" } },
        lora: { source, trainable: { type: "lora", lora: { rank: 4, alpha: 16, seed: 3 } } },
      },
      tolerance: precision === "float32" ? 1e-3 : 0.1,
    });
    let passed = 0;
    for (const { name, run } of cases) {
      try {
        await run();
        passed += 1;
      } catch (error) {
        // What bfloat16 fails is shown, but its rounding is no fault.
        if (precision === "float32") failed = true;
        report("conformance", { precision, failed: name, error: toErrorData(error).message.slice(0, 300) });
      }
    }
    report("conformance", { precision, passed, of: cases.length });
  }
}

/** Trains a tiny model by REINFORCE to prefer one id. Its reward must rise. */
async function reinforce(shared: TrainingBackend): Promise<void> {
  const config = { ...shapes.tiny, vocab_size: 263 };
  const model = await shared.openModel({ source: { type: "scratch", config, seed: 1 }, trainable: { type: "full" } });
  const rewards: number[] = [];
  for (let step = 1; step <= 40; step++) {
    const requests = Array.from({ length: 64 }, (_, i) => ({
      promptIds: [65, 66],
      settings: { temperature: 1, maxTokens: 4 },
      seed: 1000 * step + i,
      stopTokenIds: [],
    }));
    const sampler = await model.snapshot();
    const samples = await Array.fromAsync(sampler.sample(requests));
    await sampler.close();
    const earned = samples.map(({ ids }) => ids.filter((id) => id < 131).length / ids.length);
    const mean = earned.reduce((sum, reward) => sum + reward, 0) / earned.length;
    rewards.push(mean);
    const data = samples.map(({ ids, logprobs }, i) => {
      const datum = datumFromIds({
        ids: [65, 66, ...ids],
        mask: [0, 0, ...ids.map(() => 1)],
        logprobs: [0, 0, ...logprobs],
      });
      return { ...datum, advantages: datum.lossMask.map((weight) => (weight * (earned[i]! - mean)) / samples.length) };
    });
    await model.forwardBackward(data, [{ type: "ppo", clipLow: 0.2, clipHigh: 0.2 }]);
    await model.optimStep({ ...adam, learningRate: 3e-3 }, { stepId: step });
  }
  await model.close();
  const [first, last] = [rewards[0]!, rewards.at(-1)!];
  if (!(last > first + 0.2)) failed = true;
  report("reinforce", { first, last, rises: last > first + 0.2 });
}

/** Compares a LoRA step and sampling with the baseline, in turns. */
async function compare(shared: TrainingBackend, shape: string): Promise<void> {
  const config = shapes[shape]!;
  const { precision } = worker.info;
  const baseline = new TurnTaker(findPython(), [peer, JSON.stringify({ config, device, precision, threads })]);
  await baseline.ready();
  const spec = {
    source: { type: "scratch", config, seed: 1 },
    trainable: { type: "lora", lora: { rank: 16, alpha: 32 } },
  } as const;
  const model = await shared.openModel(spec);
  try {
    if (!skipped.includes("train")) await compareSteps(model, baseline, shape);
    if (!skipped.includes("sample")) {
      await using other = await WorkerProcess.start(findPython(), { ...settings, compile: true });
      const compiled = await backendOn(other).openModel(spec);
      for (const rows of values.rows.split(",").map(Number)) {
        await compareSampling({ model, compiled, baseline }, { shape, rows });
      }
    }
  } finally {
    await model.close();
    baseline.end();
  }
}

async function compareSteps(model: Model, baseline: TurnTaker, shape: string): Promise<void> {
  const [sequences, length, micro] = [Number(values.sequences), Number(values.length), 4];
  const random = createRandom(1);
  const data = Array.from({ length: sequences }, () => {
    const ids = Array.from({ length: length + 1 }, () => random.integer(33, 126));
    return datumFromIds({ ids, mask: ids.map(() => 1) });
  });
  const seconds: number[] = [];
  const others: (Turn | FailedTurn)[] = [];
  for (let round = 0; round <= rounds; round++) {
    const started = performance.now();
    await model.forwardBackward(data, [{ type: "crossEntropy" }], { maxTokensPerMicroBatch: micro * length });
    await model.optimStep(adam, { stepId: model.version + 1 });
    seconds.push((performance.now() - started) / 1000);
    others.push(await baseline.call({ call: "train", sequences, length, micro }));
  }
  const tokens = sequences * length;
  // The first round of each compiles and allocates.
  const own = median(seconds.slice(1));
  const { peakBytes } = await memory(model);
  report("lora step", { shape, tokens, ...ratio(tokens, own, others), peakBytes });
}

async function compareSampling(
  { model, compiled, baseline }: { model: Model; compiled: Model; baseline: TurnTaker },
  { shape, rows }: { shape: string; rows: number },
): Promise<void> {
  const [prompt, tokens] = [64, Number(values.tokens)];
  const random = createRandom(2);
  const requests = Array.from({ length: rows }, (_, seed) => ({
    promptIds: Array.from({ length: prompt }, () => random.integer(33, 126)),
    settings: { temperature: 1, maxTokens: tokens },
    seed,
    stopTokenIds: [],
  }));
  const samplers = [await model.snapshot(), await compiled.snapshot()] as const;
  const seconds: [number[], number[]] = [[], []];
  const ids: number[][][] = [[], []];
  const others: (Turn | FailedTurn)[] = [];
  for (let round = 0; round <= rounds; round++) {
    for (const [side, sampler] of samplers.entries()) {
      const started = performance.now();
      for await (const sample of sampler.sample(requests)) {
        if (sample.ids.length !== tokens) throw new Error("A sample is short.");
        ids[side]![sample.request] = [...sample.ids];
      }
      seconds[side]!.push((performance.now() - started) / 1000);
    }
    others.push(await baseline.call({ call: "sample", rows, prompt, tokens }));
  }
  for (const sampler of samplers) await sampler.close();
  const { peakBytes } = await memory(model);
  const [own, faster] = seconds.map((all) => median(all.slice(1))) as [number, number];
  report("sampling", {
    shape,
    rows,
    ...ratio(rows * tokens, own, others),
    peakBytes,
    compiled: {
      tokensPerSecond: Math.round((rows * tokens) / faster),
      ratio: Number((own / faster).toFixed(2)),
      firstSeconds: seconds[1][0],
      // Rounding may decide a draw, and later draws then differ. In float32, all or nearly all texts are equal.
      equalTexts: ids[0]!.filter((text, i) => text.join() === ids[1]![i]!.join()).length,
    },
  });
}

function ratio(tokens: number, own: number, others: readonly (Turn | FailedTurn)[]): Readonly<Record<string, unknown>> {
  const turns: Turn[] = [];
  for (const answer of others) {
    if ("error" in answer) return { tokensPerSecond: Math.round(tokens / own), baseline: answer.error };
    turns.push(answer);
  }
  const other = median(turns.slice(1).map(({ seconds }) => seconds));
  return {
    tokensPerSecond: Math.round(tokens / own),
    baselineTokensPerSecond: Math.round(tokens / other),
    ratio: Number((other / own).toFixed(2)),
    baselinePeakBytes: Math.max(...turns.map(({ peakBytes }) => peakBytes)),
  };
}

/** Returns and resets the greatest memory that the worker has allocated on the card. */
async function memory(_: Model): Promise<{ readonly peakBytes: number }> {
  const { value } = await worker.call("memory", {});
  return value as { readonly peakBytes: number };
}

function report(check: string, result: Readonly<Record<string, unknown>>): void {
  console.log(JSON.stringify({ check, ...result }));
}

const backend = backendOn(worker);
report("machine", { ...worker.info });
if (!skipped.includes("conformance")) await conformance(backend);
if (!skipped.includes("grpo")) await reinforce(backend);
for (const name of values.shapes.split(",")) await compare(backend, name);
await worker[Symbol.asyncDispose]();
process.exitCode = failed ? 1 : 0;
