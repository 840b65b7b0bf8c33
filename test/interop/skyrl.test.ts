import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readMetrics, type TrainingEvent } from "../../reports/training/index.ts";
import type { LossTerm } from "../../trainers/backend/loss-term.ts";
import type { AdamParams, Model, TrainingBackend } from "../../trainers/backend/training-backend.ts";
import { adamWStep, createAdamState } from "../../trainers/backends/onnx/engine/adamw.ts";
import { createOnnxBackend } from "../../trainers/backends/onnx/index.ts";
import { readGradients, setParameters } from "../../trainers/backends/onnx/inspect.ts";
import { ParameterBlock } from "../../trainers/backends/onnx/models/parameter-block.ts";
import { createTinkerBackend } from "../../trainers/backends/tinker/index.ts";
import { scaleDatum, trainedTokens } from "../../trainers/data/sample-data.ts";
import { readPeftAdapter } from "../../trainers/model-folders/weights/peft-adapter.ts";
import { exampleData } from "../../trainers/testing/model-subject.ts";
import { lyceum } from "../cli/run-lyceum.ts";
import { startRecordingProxy } from "./recording-proxy.ts";
import { type SkyrlServer, startSkyrl } from "./skyrl-server.ts";
import { writeTinyCheckpoint } from "./tiny-checkpoint.ts";

/** Trainings on a real server of the Tinker API: SkyRL 0.3.0 with JAX on the CPU. */

let folder: string;
let model: string;
let server: SkyrlServer;
let engine: TrainingBackend;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "lyceum-skyrl-"));
  model = join(folder, "tiny-qwen3");
  engine = await createOnnxBackend({ device: "cpu" });
  await writeTinyCheckpoint(engine, { family: "qwen3", folder: model });
  server = await startSkyrl({ model, folder: join(folder, "server") });
});

afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await engine?.close();
  await rm(folder, { recursive: true, force: true });
});

async function writeConfig(name: string, keys: object): Promise<string> {
  const config = {
    environment: join(import.meta.dirname, "letters-module.ts"),
    model: { path: model, adapter: { type: "lora", rank: 8 } },
    sampling: { maxTokens: 1 },
    probe: { groups: 0 },
    evaluation: { split: "test[:16]" },
    ...keys,
  };
  const path = join(folder, `${name}.yaml`);
  await writeFile(path, JSON.stringify(config));
  return path;
}

function train(config: string, output: string, more: readonly string[] = []) {
  const remote = ["--backend", "tinker", "--backend-url", server.url];
  return lyceum(["train", "-c", config, "-o", output, ...remote, ...more], { folder });
}

async function stepsOf(output: string): Promise<Extract<TrainingEvent, { type: "step" }>[]> {
  const { events } = await readMetrics(join(output, "metrics.jsonl"));
  return events.filter((event): event is Extract<TrainingEvent, { type: "step" }> => event.type === "step");
}

/** Returns the mean of a metric over some steps. */
function mean(steps: readonly Extract<TrainingEvent, { type: "step" }>[], metric: string): number {
  return steps.reduce((sum, { metrics }) => sum + metrics[metric]!, 0) / steps.length;
}

/**
 * Returns optimizer steps of a model of the engine in which layers that read the same input have one matrix A: its
 * gradient is the sum of theirs. The gradients are the engine's, and so is the rule of the step (`adamWStep`).
 */
async function tiedSteps(
  local: Model,
  { path, params }: { readonly path: string; readonly params: AdamParams },
): Promise<(stepId: number) => Promise<void>> {
  const { tensors } = await readPeftAdapter(path);
  const shared = (name: string) =>
    name.replace(/[qkv]_proj(?=\.lora_A)/, "qkv_proj").replace(/(gate|up)_proj(?=\.lora_A)/, "gate_up_proj");
  const byShared = Map.groupBy([...tensors.keys()], shared);
  const specs = [...byShared].map(
    ([name, [first]]) => ({ name, shape: tensors.get(first!)!.shape, initial: "zeros" }) as const,
  );
  const weights = new ParameterBlock(specs);
  for (const [name, [first]] of byShared) weights.view(name).set(tensors.get(first!)!.data);
  const state = createAdamState(weights.data.length);
  return async (stepId) => {
    const gradients = await readGradients(local);
    const gradient = [...byShared].map(([name, names]) => {
      const sum = new Float32Array(weights.view(name).length);
      for (const each of names) for (const [i, value] of gradients.get(each)!.data.entries()) sum[i] = sum[i]! + value;
      return { names: [name], gradient: sum };
    });
    adamWStep({ weights, gradient, state, params, scale: 1 });
    // A step of 0 drops the gradient.
    await local.optimStep({ ...params, learningRate: 0 }, { stepId });
    const parameters = [...byShared].flatMap(([name, names]) =>
      names.map((each) => [each, { shape: weights.shape(name), data: weights.view(name).slice() }] as const),
    );
    await setParameters(local, new Map(parameters));
  };
}

describe("trainings of lyceum train on SkyRL", () => {
  test("SFT lowers the loss, and its adapter answers on the embedded engine", async () => {
    const config = await writeConfig("sft", {
      algorithm: { id: "sft" },
      training: { steps: 20, batchSize: 8, learningRate: 0.01 },
    });
    const output = join(folder, "sft");
    expect(await train(config, output)).toMatchObject({ code: 0, stderr: "" });
    const steps = await stepsOf(output);
    expect(mean(steps.slice(-3), "loss/total")).toBeLessThan(0.5 * mean(steps.slice(0, 3), "loss/total"));
    const evaluated = await lyceum(
      [
        "eval",
        "--env",
        join(import.meta.dirname, "letters-module.ts"),
        "--model",
        output,
        "--limit",
        "16",
        "--max-tokens",
        "1",
      ],
      { folder },
    );
    expect(evaluated).toMatchObject({ code: 0 });
    const { events } = await readMetrics(join(output, "metrics.jsonl"));
    const evaluations = events.filter((event) => event.type === "evaluation");
    const last = JSON.parse(await readFile(join(output, "evaluations/step-000020/summary.json"), "utf8"));
    expect(evaluations.at(-1)!.metrics["reward/mean"]).toBeGreaterThan(evaluations[0]!.metrics["reward/mean"]!);
    expect(last).toBeTypeOf("object");
  });

  test.each([
    ["grpo", { id: "grpo", groupSize: 8 }],
    ["ppo-loss", { id: "grpo", groupSize: 8, epochs: 2, minibatches: 2, clipLow: 0.2, clipHigh: 0.2 }],
    ["kl", { id: "grpo", groupSize: 8, klWeight: 0.01 }],
    ["cispo", { id: "cispo", groupSize: 8 }],
  ])("%s raises the reward", async (name, algorithm) => {
    const config = await writeConfig(name, { algorithm, training: { steps: 12, batchSize: 8, learningRate: 0.02 } });
    const output = join(folder, name);
    expect(await train(config, output)).toMatchObject({ code: 0, stderr: "" });
    const steps = await stepsOf(output);
    expect(steps).toHaveLength(12);
    expect(mean(steps.slice(-3), "reward/mean")).toBeGreaterThan(mean(steps.slice(0, 3), "reward/mean") + 0.1);
    // The server samples from the weights that it trains.
    for (const { metrics } of steps) expect(metrics["kl/sampler"] ?? 0).toBeLessThan(1e-4);
  });

  test("two agents are two adapters, and both learn", async () => {
    const config = await writeConfig("team", {
      environment: join(import.meta.dirname, "team-module.ts"),
      algorithm: { id: "magrpo", groupSize: 8 },
      training: { steps: 12, batchSize: 8, learningRate: 0.02 },
    });
    const output = join(folder, "team");
    expect(await train(config, output)).toMatchObject({ code: 0, stderr: "" });
    const steps = await stepsOf(output);
    expect(mean(steps.slice(-3), "reward/mean")).toBeGreaterThan(mean(steps.slice(0, 3), "reward/mean") + 0.1);
    const states = await Promise.all(
      ["left", "right"].map(async (agent) =>
        JSON.parse(await readFile(join(output, `checkpoints/step-000012/model/${agent}/tinker.json`), "utf8")),
      ),
    );
    expect(new Set(states.map(({ path }) => path)).size).toBe(2);
  });

  test("resumes after the server was killed within a step and started again, with the same final weights", async () => {
    const config = await writeConfig("restart", {
      algorithm: { id: "sft" },
      training: { steps: 12, batchSize: 4, learningRate: 0.003 },
      checkpoint: { every: 2 },
    });
    const [straight, killed] = [join(folder, "straight"), join(folder, "killed")];
    expect(await train(config, straight)).toMatchObject({ code: 0 });
    let isDue = false;
    let restarted: Promise<void> | undefined;
    await using proxy = await startRecordingProxy({
      url: server.url,
      // The server has accepted the optimizer step, and the client does not know its result.
      onExchange: ({ route }) => {
        if (isDue && route === "optim_step") restarted ??= server.restart();
      },
    });
    const first = await lyceum(
      ["train", "-c", config, "-o", killed, "--backend", "tinker", "--backend-url", proxy.url],
      {
        folder,
        onOutput: (output) => {
          isDue = output.includes("\nstep 5/");
        },
      },
    );
    expect(restarted).toBeDefined();
    await restarted;
    expect(first.code).not.toBe(0);
    expect(first.stderr).toMatch(/error\[backend\.unavailable\]/);
    expect(first.stderr).toMatch(/--resume/);
    expect(await train(config, killed, ["--resume"])).toMatchObject({ code: 0 });
    const losses = async (output: string) =>
      (await stepsOf(output)).map(({ step, metrics }) => [step, metrics["loss/total"]]);
    // SkyRL repeats its arithmetic exactly.
    expect(await losses(killed)).toEqual(await losses(straight));
    const weights = async (output: string) => (await readPeftAdapter(join(output, "model"))).tensors;
    expect(await weights(killed)).toEqual(await weights(straight));
    // The client asks a lost server for two minutes, and a new server compiles everything again.
  }, 1_200_000);

  test.each([1, 4])("GRPO of several turns trains on exactly the ids sampled, %d per turn", async (maxTokens) => {
    await using proxy = await startRecordingProxy({ url: server.url });
    const config = await writeConfig(`turns-${maxTokens}`, {
      environment: join(import.meta.dirname, "turns-module.ts"),
      algorithm: { id: "grpo", groupSize: 4 },
      sampling: { maxTokens },
      preflight: false,
      training: { steps: 3, batchSize: 4, learningRate: 0.01 },
    });
    const output = join(folder, `turns-${maxTokens}`);
    const remote = ["--backend", "tinker", "--backend-url", proxy.url];
    expect(await lyceum(["train", "-c", config, "-o", output, ...remote], { folder })).toMatchObject({ code: 0 });
    const answers = proxy.exchanges.filter(({ route }) => route === "retrieve_future");
    const results = new Map(answers.map(({ body, answer }) => [body.request_id, answer]));
    const requests = proxy.exchanges.filter(({ route }) => route === "asample");
    const sampled = new Map(
      requests.map(({ body, answer }) => {
        const [sequence] = results.get(answer.request_id).sequences;
        const prompt = body.prompt.chunks.flatMap((chunk: { tokens: number[] }) => chunk.tokens);
        return [JSON.stringify([prompt, sequence.tokens]), sequence.logprobs as number[]] as const;
      }),
    );
    const passes = proxy.exchanges.filter(({ route }) => route === "forward_backward");
    // The first passes find out the server's rule.
    const trained = passes.flatMap(({ body }) => body.forward_backward_input?.data ?? []).filter(hasAdvantages);
    const runs = trained.map((datum) => trainedRuns(datum));
    expect(runs.length).toBeGreaterThan(12);
    expect(Math.max(...runs.map((each) => each.length))).toBe(3);
    for (const { prompt, ids, logprobs } of runs.flat()) {
      const found = sampled.get(JSON.stringify([prompt, ids]));
      expect(found).toBeDefined();
      expect(logprobs).toEqual(found);
    }
  });
});

// biome-ignore lint/suspicious/noExplicitAny: what the client under test sends.
type SentDatum = any;

function hasAdvantages({ loss_fn_inputs: inputs }: SentDatum): boolean {
  return inputs.advantages?.data.some((advantage: number) => advantage !== 0) === true;
}

/** Returns the runs of trained tokens of a datum, each with all tokens before it and the sampler's log-probabilities. */
function trainedRuns({ model_input, loss_fn_inputs: inputs }: SentDatum) {
  const ids: number[] = [model_input.chunks[0].tokens[0], ...inputs.target_tokens.data];
  expect(model_input.chunks[0].tokens).toEqual(ids.slice(0, -1));
  const weights: number[] = [0, ...inputs.weights.data, 0];
  const starts = [...ids.keys()].filter((t) => weights[t] === 1 && weights[t - 1] === 0);
  return starts.map((start) => {
    const end = weights.indexOf(0, start);
    const logprobs: number[] = inputs.logprobs.data.slice(start - 1, end - 1);
    return { prompt: ids.slice(0, start), ids: ids.slice(start, end), logprobs };
  });
}

test("full training is refused with the alternative, because the JAX backend has none", async () => {
  await using backend = await createTinkerBackend({ url: server.url, gradients: "mean" });
  const opened = backend.openModel({ source: { type: "pretrained", path: model }, trainable: { type: "full" } });
  await expect(opened).rejects.toMatchObject({ code: "backend.unsupported", hint: "Set model.adapter.type to lora." });
});

describe("an adapter of SkyRL on the embedded engine", () => {
  const adam = { beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0.01 };

  /** Opens a new adapter on the server, and the same adapter on the embedded engine. */
  async function pair(
    backend: TrainingBackend,
    seed: number,
  ): Promise<{ readonly remote: Model; readonly local: Model; readonly path: string }> {
    const lora = { type: "lora", lora: { rank: 8, seed } } as const;
    const remote = await backend.openModel({ source: { type: "pretrained", path: model }, trainable: lora });
    const path = await mkdtemp(join(folder, "initial-"));
    await rm(path, { recursive: true });
    await remote.export(path, "peft");
    const local = await engine.openModel({
      source: { type: "pretrained", path },
      trainable: { type: "lora", lora: {} },
    });
    return { remote, local, path };
  }

  /** Data whose summed loss is the mean over tokens. */
  function meanData(seed: number) {
    const data = exampleData(seed);
    const tokens = data.reduce((sum, datum) => sum + trainedTokens(datum), 0);
    return data.map((datum) => scaleDatum(datum, 1 / tokens));
  }

  // SkyRL's Qwen3 has one matrix A for q, k and v, and one for gate and up. The engine has one for each layer. With
  // larger steps the two trainings part, unless the engine's matrices get the same steps.
  test.each([
    ["with matrices of their own", 2e-4, false],
    ["with equal matrices", 2e-4, true],
    ["with equal matrices", 1e-3, true],
    ["with equal matrices", 1e-2, true],
  ])("has the same losses to 1e-3 over ten steps, %s, at a learning rate of %d", async (_, learningRate, tied) => {
    await using backend = await createTinkerBackend({ url: server.url });
    const { remote, local, path } = await pair(backend, 3);
    const params = { ...adam, learningRate };
    const localStep = tied ? await tiedSteps(local, { path, params }) : undefined;
    const losses: { readonly there: number; readonly here: number }[] = [];
    for (let step = 1; step <= 10; step++) {
      const there = await remote.forwardBackward(meanData(step % 3), [{ type: "crossEntropy" }]);
      const here = await local.forwardBackward(meanData(step % 3), [{ type: "crossEntropy" }]);
      losses.push({ there: there.loss, here: here.loss });
      await remote.optimStep(params, { stepId: step });
      await (localStep?.(step) ?? local.optimStep(params, { stepId: step }));
    }
    await local.close();
    const difference = Math.max(...losses.map((loss) => Math.abs(loss.there - loss.here)));
    console.log(`learning rate ${learningRate}, tied ${tied}: largest difference ${difference.toExponential(1)}`);
    expect(difference).toBeLessThan(tied ? 1e-5 : 1e-3);
    // Steps 1, 4, 7 and 10 have the same data.
    expect(losses[9]!.there).toBeLessThan(losses[0]!.there - 0.05);
  });

  test.each<readonly [string, readonly LossTerm[]]>([
    ["cross-entropy", [{ type: "crossEntropy" }]],
    ["policy gradient", [{ type: "policyGradient" }]],
    ["importance sampling", [{ type: "importanceSampling" }]],
    ["PPO", [{ type: "ppo", clipLow: 0.2, clipHigh: 0.28 }]],
    ["CISPO", [{ type: "cispo", clipLow: 0.3, clipHigh: 0.28 }]],
    [
      "policy gradient with KL",
      [
        { type: "policyGradient", weight: 2 },
        { type: "kl", estimator: "k3", weight: 0.5 },
      ],
    ],
  ])("has the same loss and the same gradient: %s", async (name, terms) => {
    await using backend = await createTinkerBackend({ url: server.url });
    const { remote, local } = await pair(backend, 100 + name.length);
    const there = await remote.forwardBackward(meanData(5), terms);
    const here = await local.forwardBackward(meanData(5), terms);
    expect(Math.abs(there.loss - here.loss)).toBeLessThan(1e-4);
    // At the start B is 0, so that only B has a gradient.
    const gradients = await readGradients(local);
    const squares = [...gradients.values()].flatMap(({ data }) => [...data]).reduce((sum, g) => sum + g * g, 0);
    const step = await remote.optimStep({ ...adam, learningRate: 1e-3 }, { stepId: 1 });
    expect(step.gradientNorm / Math.sqrt(squares)).toBeCloseTo(1, 4);
  });
});
