import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createOnnxBackend } from "../../trainers/backends/onnx/index.ts";
import { tinyModel } from "../backends/tinker/tiny-model.ts";
import { serveModel } from "../cli/serve-model-process.ts";
import { runPython } from "./python.ts";
import { providePythonEnvironment } from "./python-environment.ts";
import { tinkerEnvironment } from "./tinker-environment.ts";

/** The answer of python/tinker_sdk.py. */
interface Trained {
  readonly version: string;
  /** The negative log-likelihood before each supervised step, and after the last one. */
  readonly losses: readonly number[];
  readonly trained: number;
  /** The largest difference of a sampled token's log-probability, sampler to trainer, for each policy loss. */
  readonly differences: Readonly<Record<string, number>>;
  readonly scores: {
    readonly same: boolean;
    /** The largest difference of a prompt token's log-probability, sampler to trainer. */
    readonly difference: number;
    readonly tops: readonly number[];
    readonly likeliest: boolean;
  };
  /** The tokens of a sampler and of two copies of it. Empty for SDKs without copies. */
  readonly copied: readonly (readonly number[])[];
  /** Null for older SDKs. */
  readonly mostLikely: { readonly tops: readonly number[]; readonly greedy: boolean; readonly sorted: boolean } | null;
  /** The largest difference of a target's log-probability from the prompt's own. Null for older SDKs. */
  readonly targets: number | null;
}

/** Starts `lyceum serve-model` with a tiny model. Returns its address. */
async function serveTinyModel(
  key: string,
): Promise<{ readonly url: string; readonly model: string; readonly folder: string }> {
  const folder = await mkdtemp(join(tmpdir(), "lyceum-serve-model-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await using backend = await createOnnxBackend({ device: "cpu" });
  const { path } = await tinyModel(backend, folder);
  const { url } = await serveModel([path, "--chat-template", "none", "--token", key], folder);
  return { url, model: path, folder };
}

test.each(["0.38.0", "0.24.1", "0.18.2"])("the official SDK %s trains and samples a served model", async (version) => {
  const environment = await providePythonEnvironment(tinkerEnvironment(version));
  const key = "tml-test";
  const { url, model } = await serveTinyModel(key);
  const request = { url, key, model };
  const trained = await runPython<Trained>({ environment, script: "tinker_sdk", request, timeoutMs: 300_000 });
  expect(trained.version).toBe(version);
  expect(trained.trained).toBeLessThan(trained.losses[0]! / 2);
  expect(Object.keys(trained.differences)).toEqual(["importance_sampling", "ppo", "cispo"]);
  for (const difference of Object.values(trained.differences)) expect(difference).toBeLessThan(1e-4);
  expect(trained.scores).toMatchObject({ same: true, tops: Array(7).fill(3), likeliest: true });
  expect(trained.scores.difference).toBeLessThan(1e-4);
  expect(trained.copied).toHaveLength(version === "0.38.0" ? 3 : 0);
  for (const tokens of trained.copied) expect(tokens).toEqual(trained.copied[0]);
  if (version !== "0.38.0") return;
  expect(trained.mostLikely).toEqual({ tops: [3, 3, 3, 3], greedy: true, sorted: true });
  expect(trained.targets).toBeLessThan(1e-5);
});

/** The answer of python/tinker_checkpoints.py. */
interface Listed {
  readonly saved: readonly number[];
  readonly withOptimizer: readonly number[];
  readonly continued: readonly number[];
  readonly weightsOnly: readonly number[];
  readonly info: { readonly lora_rank: number; readonly is_lora: boolean; readonly train_mlp: boolean };
  readonly runs: readonly string[];
  readonly checkpoints: readonly string[];
  readonly left: readonly string[];
  readonly archive: readonly string[];
  /** The files of a downloaded state and of downloaded external weights, and their folders. Absent for older SDKs. */
  readonly downloads?: readonly [readonly (readonly string[])[], readonly string[]];
}

test.each([
  "0.38.0",
  "0.24.1",
])("the official SDK %s lists, loads, downloads and deletes checkpoints", async (version) => {
  const environment = await providePythonEnvironment(tinkerEnvironment(version));
  const key = "tml-test";
  const { url, model, folder } = await serveTinyModel(key);
  const request = { url, key, model, folder };
  const found = await runPython<Listed>({ environment, script: "tinker_checkpoints", request, timeoutMs: 300_000 });
  expect(found.info).toMatchObject({ is_lora: true, lora_rank: 4, train_mlp: false });
  expect(found.withOptimizer).toEqual(found.continued);
  expect(found.weightsOnly).toEqual(found.saved);
  expect(found.runs).toHaveLength(3);
  expect(found.checkpoints).toEqual(["weights/a", "sampler_weights/s"]);
  expect(found.left).toEqual(["sampler_weights/s"]);
  const files = ["adapter_config.json", "adapter_model.safetensors"];
  if (version === "0.24.1") {
    expect(found.archive).toEqual(expect.arrayContaining([...files, "checkpoint_complete"]));
    return;
  }
  // The newest SDK downloads files, not archives.
  const [lists, folders] = found.downloads!;
  for (const list of lists) expect(list).toEqual(expect.arrayContaining(files));
  const weights = await Promise.all(folders.map((name) => readFile(join(folder, name, "adapter_model.safetensors"))));
  // The external weights are one step ahead of the state.
  expect(weights[0]).not.toEqual(weights[1]);
  await using backend = await createOnnxBackend({ device: "cpu" });
  const adapter = await backend.openModel({
    source: { type: "pretrained", path: join(folder, folders[0]!), base: model, chatTemplate: "none" },
    trainable: { type: "frozen" },
  });
  const tokens = [1, 5, 9, 2, 7, 3, 8, 4];
  const datum = {
    tokens: Int32Array.from(tokens.slice(0, -1)),
    targets: Int32Array.from(tokens.slice(1)),
    lossMask: new Float32Array(7).fill(1),
  };
  const [own] = await adapter.forward([datum], { outputs: ["logprobs"] });
  for (const [t, logprob] of own!.logprobs!.entries()) expect(logprob).toBeCloseTo(found.saved[t]!, 5);
});

test("OpenAI's package completes texts and chats, whole and streamed", async () => {
  const environment = await providePythonEnvironment({
    name: "capture",
    requirements: "capture-requirements.txt",
    download: "150 MB",
  });
  const key = "tml-test";
  const { url, model } = await serveTinyModel(key);
  // biome-ignore lint/suspicious/noExplicitAny: the package's own classes as JSON.
  const found = await runPython<any>({ environment, script: "openai_completions", request: { url, key, model } });
  expect(found.models).toEqual([model]);
  const { text, chat } = found;
  const promptIds = [...Buffer.from("Hi!")];
  expect(text.choices).toHaveLength(2);
  expect(chat.prompt_token_ids).toEqual(promptIds);
  for (const [i, { token_ids, logprobs, prompt_token_ids, ...choice }] of text.choices.entries()) {
    expect(prompt_token_ids).toEqual(promptIds);
    expect(logprobs.tokens.join("").replace("<|eot|>", "")).toBe(choice.text);
    // A template-free chat has the same prompt.
    const same = chat.choices[i];
    expect(same).toMatchObject({ index: i, token_ids, message: { role: "assistant", content: choice.text } });
    expect(same.logprobs.content.map(({ logprob }: { logprob: number }) => logprob)).toEqual(logprobs.token_logprobs);
  }
  const [texts, usage, pieces] = found.textStream;
  expect([texts, usage]).toEqual([text.choices.map((choice: { text: string }) => choice.text), text.usage]);
  // Choices that are sent as a whole are one piece each.
  expect(pieces).toBeGreaterThan(text.choices.length);
  const contents = chat.choices.map(({ message }: { message: { content: string } }) => message.content);
  expect(found.chatStream).toEqual([contents, chat.usage, expect.any(Number)]);
  expect(found.refused).toEqual([
    ["NotFoundError", 404, "server.invalid-request"],
    ["BadRequestError", 400, "context_length_exceeded"],
    ["BadRequestError", 400, "server.invalid-request"],
    ["AuthenticationError", 401, "server.unauthorized"],
  ]);
});
