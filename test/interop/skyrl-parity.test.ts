import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createRandom } from "../../src/core/random/random.ts";
import type { Model, TrainingBackend } from "../../trainers/backend/training-backend.ts";
import { createOnnxBackend } from "../../trainers/backends/onnx/index.ts";
import { createTinkerBackend } from "../../trainers/backends/tinker/index.ts";
import { scaleDatum, trainedTokens } from "../../trainers/data/sample-data.ts";
import { exampleData } from "../../trainers/testing/model-subject.ts";
import { runPython } from "./python.ts";
import { providePythonEnvironment } from "./python-environment.ts";
import { startServeModel } from "./served-tinker.ts";
import { type SkyrlServer, skyrlVersion, startSkyrl } from "./skyrl-server.ts";
import { tinkerEnvironment } from "./tinker-environment.ts";
import { writeTinyCheckpoint } from "./tiny-checkpoint.ts";

/**
 * One model in two programs: a tiny Llama on a SkyRL server and on the embedded engine, from the same adapter. SkyRL's
 * Llama has an adapter for each linear layer, as the engine has. Its Qwen3 shares matrices between layers: see
 * skyrl.test.ts.
 */

let folder: string;
let base: string;
let skyrl: SkyrlServer;
let engine: TrainingBackend;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "lyceum-parity-"));
  base = join(folder, "tiny-llama");
  engine = await createOnnxBackend({ device: "cpu" });
  await writeTinyCheckpoint(engine, { family: "llama", folder: base });
  skyrl = await startSkyrl({ model: base, folder: join(folder, "server") });
});

afterAll(async () => {
  await skyrl?.[Symbol.asyncDispose]();
  await engine?.close();
  await rm(folder, { recursive: true, force: true });
});

/** Opens a new adapter on SkyRL and saves it here. */
async function newAdapter(
  backend: TrainingBackend,
  { rank, seed, name }: { readonly rank: number; readonly seed: number; readonly name: string },
): Promise<{ readonly model: Model; readonly path: string }> {
  const lora = { type: "lora", lora: { rank, seed } } as const;
  const model = await backend.openModel({ source: { type: "pretrained", path: base }, trainable: lora });
  const path = join(folder, name);
  await model.export(path, "peft");
  return { model, path };
}

/** Data whose summed loss is the mean over tokens. */
function meanData(seed: number) {
  const data = exampleData(seed);
  const tokens = data.reduce((sum, datum) => sum + trainedTokens(datum), 0);
  return data.map((datum) => scaleDatum(datum, 1 / tokens));
}

test.each([2e-4, 1e-3, 1e-2])("losses agree over ten steps of LoRA at a learning rate of %d", async (learningRate) => {
  await using backend = await createTinkerBackend({ url: skyrl.url, gradients: "mean" });
  const { model: remote, path } = await newAdapter(backend, { rank: 8, seed: 3, name: `lora-${learningRate}` });
  const trainable = { type: "lora", lora: {} } as const;
  const local = await engine.openModel({ source: { type: "pretrained", path }, trainable });
  const params = { beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0.01, learningRate };
  const losses: { readonly there: number; readonly here: number }[] = [];
  for (let step = 1; step <= 10; step++) {
    const data = meanData(step % 3);
    const there = await remote.forwardBackward(data, [{ type: "crossEntropy" }]);
    const here = await local.forwardBackward(data, [{ type: "crossEntropy" }]);
    losses.push({ there: there.loss, here: here.loss });
    for (const one of [remote, local]) await one.optimStep(params, { stepId: step });
  }
  await local.close();
  const difference = Math.max(...losses.map(({ there, here }) => Math.abs(there - here)));
  console.log(`learning rate ${learningRate}: largest difference of the losses ${difference.toExponential(1)}`);
  // Rounding of float32: 7e-7 is measured.
  expect(difference).toBeLessThan(1e-5);
  // Steps 1, 4, 7 and 10 have the same data.
  expect(losses[9]!.there).toBeLessThan(losses[0]!.there - 0.3);
});

/** The server's loss of a pass, and the log-probabilities of the targets of each datum. */
interface Pass {
  readonly loss: number;
  readonly logprobs: readonly (readonly number[])[];
}

/** The answer of python/tinker_parity.py. */
interface Steps {
  readonly version: string;
  /** The log-probabilities of the examples' targets under the base model: a new adapter adds nothing. */
  readonly initial: readonly (readonly number[])[];
  readonly supervised: readonly Pass[];
  readonly completions: Readonly<Record<string, { tokens: number[]; logprobs: number[]; advantages: number[] }[]>>;
  /** The passes over the completions, before each step of a policy loss. */
  readonly policy: Readonly<Record<string, readonly Pass[]>>;
  /** The completion at temperature 0 after each part. */
  readonly greedy: readonly { readonly tokens: readonly number[]; readonly logprobs: readonly number[] }[];
}

/**
 * Four examples of different lengths, with five trained tokens each. SkyRL takes means over sequences and over their
 * weights, and serve-model takes sums, as the Tinker API says. Adam ignores a factor that is the same in all steps. With
 * the weights w, a sum is 4 x 5 x w times SkyRL's mean. For the 8 completions with 8 targets each, it is 8 x 8 times the
 * mean. w makes both factors equal.
 */
function examples() {
  const random = createRandom(11);
  const weight = (8 * 8) / (4 * 5);
  return [2, 5, 3, 7].map((prompt) => ({
    tokens: Array.from({ length: prompt + 5 }, () => random.integer(33, 126)),
    weights: [...new Array(prompt - 1).fill(0), ...new Array(5).fill(weight)],
  }));
}

/** Returns the largest difference of two nested lists of numbers of the same shape. */
function largestDifference(a: unknown, b: unknown): number {
  const [left, right] = [[a].flat(9), [b].flat(9)] as [number[], number[]];
  expect(left.length).toBe(right.length);
  expect(left.length).toBeGreaterThan(0);
  return Math.max(...left.map((value, i) => Math.abs(value - right[i]!)));
}

const policyLosses = ["importance_sampling", "ppo", "cispo"];

// SkyRL 0.3.0 accepts only JSON, and 0.4.0 accepts passes only in protobuf. In samples, later SDKs need
// numbers that it does not send.
const sdks = skyrlVersion === "0.3.0" ? ["0.24.1", "0.18.2"] : ["0.25.0"];

describe("the official SDK", () => {
  test.each(sdks)("%s gets the same results of SkyRL and of serve-model", async (version) => {
    const environment = await providePythonEnvironment(tinkerEnvironment(version));
    await using backend = await createTinkerBackend({ url: skyrl.url });
    const { path } = await newAdapter(backend, { rank: 4, seed: 21, name: `sdk-${version}` });
    const key = "tml-test";
    const served = await startServeModel({ model: path, name: base, key, folder });
    const request = { key, model: base, rank: 4, seed: 21, learningRate: 5e-3, steps: 10, examples: examples() };
    const run = (more: { url: string; completions?: Steps["completions"] }) =>
      runPython<Steps>({
        environment,
        script: "tinker_parity",
        request: JSON.parse(JSON.stringify({ ...request, ...more })),
        timeoutMs: 400_000,
      });
    const there = await run({ url: skyrl.url });
    const here = await run({ url: served, completions: there.completions });
    expect([there.version, here.version]).toEqual([version, version]);
    // The base model, in a forward pass.
    expect(largestDifference(there.initial, here.initial)).toBeLessThan(1e-4);
    const differences: Record<string, number[]> = {};
    const lossDifferences: Record<string, number[]> = {};
    for (const part of ["supervised", ...policyLosses]) {
      const [one, other] = [there, here].map((each) => (part === "supervised" ? each.supervised : each.policy[part]!));
      differences[part] = one!.map(({ logprobs }, i) => largestDifference(logprobs, other![i]!.logprobs));
      lossDifferences[part] = one!.map(
        ({ loss, logprobs }, i) => Math.abs(loss - other![i]!.loss) / logprobs.flat().length,
      );
      // Each step trains: its log-probabilities are far from those of the first.
      expect(largestDifference(one![0]!.logprobs, one!.at(-1)!.logprobs)).toBeGreaterThan(0.05);
    }
    console.log(
      `tinker ${version}: differences of log-probabilities, and of losses per token`,
      differences,
      lossDifferences,
    );
    // Rounding of float32, which every step of Adam carries on: 3e-5 is measured.
    for (const each of Object.values(differences)) expect(Math.max(...each)).toBeLessThan(3e-4);
    for (const each of Object.values(lossDifferences)) expect(Math.max(...each)).toBeLessThan(1e-4);
    for (const [i, greedy] of there.greedy.entries()) {
      expect(here.greedy[i]!.tokens).toEqual(greedy.tokens);
      expect(largestDifference(here.greedy[i]!.logprobs, greedy.logprobs)).toBeLessThan(3e-4);
    }
    // The sampler of SkyRL and the trainer of serve-model, for the same tokens.
    for (const loss of policyLosses) {
      const sampled = there.completions[loss]!.map(({ logprobs }) => logprobs);
      expect(largestDifference(sampled, here.policy[loss]![0]!.logprobs)).toBeLessThan(3e-4);
    }
  });
});
