import { execFile } from "node:child_process";
import { cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { datumFromIds } from "../../../trainers/backend/datum.ts";
import type { LossTerm } from "../../../trainers/backend/loss-term.ts";
import type { Model, ModelSpec, TrainableSpec, TrainingBackend } from "../../../trainers/backend/training-backend.ts";
import { createOnnxBackend } from "../../../trainers/backends/onnx/index.ts";
import { readDecoderConfig } from "../../../trainers/model-folders/architecture/decoder-config.ts";
import { decoderParameters } from "../../../trainers/model-folders/architecture/parameters.ts";
import { modelChecksumsFile } from "../../../trainers/model-folders/weights/model-checksums.ts";
import { writeSafetensors } from "../../../trainers/model-folders/weights/safetensors-writer.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { safetensorsBytes } from "../../weights/weights-folder.ts";
import { tinyConfig } from "./tiny-config.ts";

const full: TrainableSpec = { type: "full" };
const lora = (rank: number): TrainableSpec => ({ type: "lora", lora: { rank, alpha: 4, seed: 1 } });
const scratch = (trainable: TrainableSpec, options: { seed?: number; config?: object } = {}): ModelSpec => ({
  source: { type: "scratch", config: { ...tinyConfig, ...options.config }, seed: options.seed ?? 1 },
  trainable,
});
const adam = { learningRate: 0.01, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0 };
const data = [datumFromIds({ ids: [1, 2, 3, 4, 5], mask: [0, 1, 1, 1, 1] })];
const typed = (code: string, words: string) => ({
  code,
  message: expect.stringContaining(words),
  hint: expect.stringMatching(/\w+\W+\w+/),
});

let backend: TrainingBackend;
let folder: string;
let good: string;
let count = 0;

beforeAll(async () => {
  backend = await createOnnxBackend({ device: "cpu", threads: 1 });
  folder = temporaryFolder();
  good = path.join(folder, "good");
  const model = await backend.openModel(scratch(full));
  await model.export(good, "huggingface");
  // The tests change files on purpose.
  await rm(path.join(good, modelChecksumsFile));
});
afterAll(async () => {
  await backend.close();
});

function newPath(): string {
  count += 1;
  return path.join(folder, String(count));
}

/** A copy of the good model folder with one change. */
async function spoiled(spoil: (folder: string) => Promise<unknown>): Promise<string> {
  const copy = newPath();
  await cp(good, copy, { recursive: true });
  await spoil(copy);
  return copy;
}

const changeConfig =
  (change: object) =>
  async (folder: string): Promise<void> => {
    const file = path.join(folder, "config.json");
    await writeFile(file, JSON.stringify({ ...JSON.parse(await readFile(file, "utf8")), ...change }));
  };

/** Writes the weights again, with some tensors changed or omitted. */
const changeTensors =
  (change: (name: string, shape: readonly number[]) => readonly number[] | undefined) =>
  async (folder: string): Promise<void> => {
    const tensors = decoderParameters(readDecoderConfig(tinyConfig)).flatMap(({ name, shape }) => {
      const written = change(name, shape);
      if (written === undefined) return [];
      const length = written.reduce((product, size) => product * size, 1);
      return [{ name, shape: written, data: new Float32Array(length) }];
    });
    await writeSafetensors(path.join(folder, "model.safetensors"), tensors);
  };

const write =
  (name: string, content: string | Uint8Array) =>
  (folder: string): Promise<void> =>
    writeFile(path.join(folder, name), content);
const remove =
  (name: string) =>
  (folder: string): Promise<void> =>
    rm(path.join(folder, name));
const weights = "model.safetensors";
const cut = async (folder: string): Promise<void> => {
  const file = path.join(folder, weights);
  await writeFile(file, (await readFile(file)).subarray(0, -8));
};
const removeTemplate = async (folder: string): Promise<void> => {
  const file = path.join(folder, "tokenizer_config.json");
  const { chat_template: _, ...rest } = JSON.parse(await readFile(file, "utf8"));
  await writeFile(file, JSON.stringify(rest));
};

const changeVocabulary =
  (change: Readonly<Record<string, unknown>>) =>
  async (model: string): Promise<void> => {
    const file = path.join(model, "tokenizer.json");
    const definition = JSON.parse(await readFile(file, "utf8"));
    Object.assign(definition.model.vocab, change);
    await writeFile(file, JSON.stringify(definition));
  };
const makePipe =
  (name: string) =>
  async (model: string): Promise<void> => {
    await rm(path.join(model, name), { force: true });
    await promisify(execFile)("mkfifo", [path.join(model, name)]);
  };

/** The faults of a model folder: [change, code, words of the message]. */
const badFolders: Record<string, readonly [(folder: string) => Promise<unknown>, string, string]> = {
  "no config.json": [remove("config.json"), "model.missing", "config.json"],
  "no weights": [remove(weights), "model.missing", weights],
  "no tokenizer": [remove("tokenizer.json"), "model.missing", "tokenizer.json"],
  "no chat template": [removeTemplate, "model.template", "chat template"],
  "config.json that is cut": [write("config.json", '{"model_type": "lla'), "model.malformed", "config.json"],
  "config.json that is null": [write("config.json", "null"), "model.malformed", "config.json"],
  "config.json that is a list": [write("config.json", "[]"), "model.malformed", "config.json"],
  "config.json that is empty": [write("config.json", "{}"), "model.unsupported", "model_type"],
  "an unknown architecture": [changeConfig({ model_type: "bloom" }), "model.unsupported", "bloom"],
  "a missing size": [changeConfig({ hidden_size: undefined }), "model.malformed", "hidden_size"],
  "a size that is no number": [changeConfig({ vocab_size: "263" }), "model.malformed", "vocab_size"],
  "a size of zero": [changeConfig({ num_hidden_layers: 0 }), "model.malformed", "num_hidden_layers"],
  "a million layers": [changeConfig({ num_hidden_layers: 1_000_000 }), "model.malformed", "1000000 layers"],
  "a width beyond any memory": [
    changeConfig({ hidden_size: 1e9, head_dim: 5e8 }),
    "model.malformed",
    "model.embed_tokens.weight",
  ],
  "a vocabulary beyond any memory": [
    changeConfig({ vocab_size: 1e12 }),
    "model.malformed",
    "model.embed_tokens.weight",
  ],
  "a size beyond whole numbers": [changeConfig({ hidden_size: 1e300 }), "model.malformed", "hidden_size"],
  "weights that are a pipe": [makePipe(weights), "model.malformed", "is not a file"],
  "a config.json that is a pipe": [makePipe("config.json"), "model.malformed", "is not a file"],
  "a tokenizer that is a pipe": [makePipe("tokenizer.json"), "model.malformed", "is not a file"],
  "a chat template that is a pipe": [makePipe("chat_template.jinja"), "model.malformed", "is not a file"],
  "an infinite chat template": [
    write(
      "chat_template.jinja",
      "{% for a in range(100000) %}{% for b in range(1000000) %}{% endfor %}{% endfor %}{{ messages[0].content }}",
    ),
    "model.template",
    "more than 2000000 steps",
  ],
  "a token with an id beyond any vocabulary": [changeVocabulary({ zz: 1e9 }), "model.malformed", "1000000000"],
  "a size with a fraction": [changeConfig({ intermediate_size: 64.5 }), "model.malformed", "intermediate_size"],
  "heads that do not divide the width": [changeConfig({ num_attention_heads: 5 }), "model.malformed", "head"],
  "heads that key heads do not divide": [changeConfig({ num_key_value_heads: 3 }), "model.malformed", "num_key_value"],
  "heads of odd size": [changeConfig({ head_dim: 7 }), "model.malformed", "head_dim"],
  "another activation": [changeConfig({ hidden_act: "relu6" }), "model.unsupported", "relu6"],
  "a sliding window in a family without": [
    changeConfig({ use_sliding_window: true, sliding_window: 8 }),
    "model.unsupported",
    "sliding_window",
  ],
  "a sliding window of no size": [
    changeConfig({ model_type: "qwen3", use_sliding_window: true, sliding_window: null, max_window_layers: 0 }),
    "model.malformed",
    "sliding_window",
  ],
  "a sliding window of no tokens": [
    changeConfig({ model_type: "starcoder2", sliding_window: 0 }),
    "model.malformed",
    "sliding_window",
  ],
  "too few types of layers": [
    changeConfig({ model_type: "qwen3", layer_types: ["full_attention"] }),
    "model.malformed",
    "layer_types",
  ],
  "a type of layer that nobody knows": [
    changeConfig({ model_type: "qwen3", layer_types: ["full_attention", "chunked_attention"] }),
    "model.unsupported",
    "chunked_attention",
  ],
  "attention scaled by the layer": [
    changeConfig({ model_type: "gpt2", scale_attn_by_inverse_layer_idx: true }),
    "model.unsupported",
    "scale_attn_by_inverse_layer_idx",
  ],
  "a size that GPT-2 names otherwise": [changeConfig({ model_type: "gpt2" }), "model.malformed", "n_head"],
  "layers of another attention": [
    changeConfig({ layer_types: ["full_attention", "sliding_attention"] }),
    "model.unsupported",
    "layer_types",
  ],
  quantization: [changeConfig({ quantization_config: { bits: 4 } }), "model.unsupported", "quantization"],
  "positions stretched by yarn": [
    changeConfig({ rope_scaling: { rope_type: "yarn", factor: 4 } }),
    "model.unsupported",
    "yarn",
  ],
  "positions stretched by nothing": [
    changeConfig({ rope_scaling: { rope_type: "linear" } }),
    "model.malformed",
    "factor",
  ],
  "positions on half of each head": [
    changeConfig({ partial_rotary_factor: 0.5 }),
    "model.unsupported",
    "partial_rotary_factor",
  ],
  "a negative rope_theta": [changeConfig({ rope_theta: -1 }), "model.malformed", "rope_theta"],
  "weights that are empty": [write(weights, ""), "model.malformed", weights],
  "weights of another format": [write(weights, "version https://git-lfs.github.com"), "model.malformed", weights],
  "weights whose header is cut": [write(weights, safetensorsBytes('{"a":', undefined, 5)), "model.malformed", weights],
  "weights whose header claims too much": [
    write(weights, safetensorsBytes("{}", undefined, 1e15)),
    "model.malformed",
    weights,
  ],
  "weights that are cut": [cut, "model.malformed", weights],
  "a missing tensor": [
    changeTensors((name, shape) => (name === "model.norm.weight" ? undefined : shape)),
    "model.missing",
    "model.norm.weight",
  ],
  "a tensor of another shape": [
    changeTensors((name, shape) => (name.endsWith("1.mlp.up_proj.weight") ? [32, 64] : shape)),
    "model.malformed",
    "up_proj",
  ],
  "a transposed tensor of the right size": [
    changeTensors((name, shape) => (name.endsWith("0.mlp.down_proj.weight") ? shape.toReversed() : shape)),
    "model.malformed",
    "down_proj",
  ],
  "an untied head that the file lacks": [changeConfig({ tie_word_embeddings: false }), "model.missing", "lm_head"],
  "fewer embeddings than the tokenizer has ids": [
    async (folder) => {
      await changeConfig({ vocab_size: 200 })(folder);
      await changeTensors((name, shape) => (name.includes("embed") ? [200, 32] : shape))(folder);
    },
    "model.malformed",
    "263",
  ],
};

describe("a model folder with", () => {
  it.each(Object.entries(badFolders))("%s is refused by a typed error with a remedy", async (_, bad) => {
    const [spoil, code, words] = bad;
    const source = { type: "pretrained", path: await spoiled(spoil) } as const;
    for (const trainable of [full, lora(2)]) {
      await expect(backend.openModel({ source, trainable })).rejects.toMatchObject(typed(code, words));
    }
  });

  it("options that request the default behaviour is opened", async () => {
    const source = {
      type: "pretrained",
      path: await spoiled(
        changeConfig({
          quantization_config: null,
          rope_scaling: null,
          use_sliding_window: false,
          layer_types: ["full_attention", "full_attention"],
          rope_parameters: { rope_type: "default", rope_theta: 10_000, partial_rotary_factor: 1 },
        }),
      ),
    } as const;
    const model = await backend.openModel({ source, trainable: { type: "frozen" } });
    const original = await backend.openModel(scratch({ type: "frozen" }));
    const outputs = { outputs: ["logprobs"] } as const;
    expect(await model.forward(data, outputs)).toEqual(await original.forward(data, outputs));
  });

  it("the wrong path is refused with a message that says so", async () => {
    const missing = { type: "pretrained", path: path.join(folder, "nowhere") } as const;
    await expect(backend.openModel({ source: missing, trainable: full })).rejects.toMatchObject(
      typed("model.missing", "nowhere"),
    );
  });
});

describe("an invalid model spec", () => {
  const bad: Record<string, readonly [ModelSpec, string, string]> = {
    "rank 0": [scratch(lora(0)), "config.invalid", "rank"],
    "rank 1.5": [scratch(lora(1.5)), "config.invalid", "rank"],
    "alpha NaN": [scratch({ type: "lora", lora: { rank: 1, alpha: Number.NaN } }), "config.invalid", "alpha"],
    "no target": [scratch({ type: "lora", lora: { rank: 1, alpha: 1, targets: [] } }), "config.invalid", "layers"],
    "an unknown target": [
      scratch({ type: "lora", lora: { rank: 1, alpha: 1, targets: ["lm_head"] } }),
      "config.unknown-name",
      "lm_head",
    ],
    "a seed that is no number": [scratch(full, { seed: Number.NaN }), "config.invalid", "seed"],
    "a value head on a frozen model": [
      { ...scratch({ type: "frozen" }), valueHead: true },
      "config.invalid",
      "value head",
    ],
    "a vocabulary below the byte tokenizer's": [
      scratch(full, { config: { vocab_size: 100 } }),
      "model.malformed",
      "263",
    ],
  };
  it.each(Object.entries(bad))("(%s) is refused", async (_, [spec, code, words]) => {
    await expect(backend.openModel(spec)).rejects.toMatchObject(typed(code, words));
  });
});

describe("an invalid request is refused:", () => {
  const term = (type: string): LossTerm => ({ type }) as LossTerm;
  const bad: Record<string, readonly [(model: Model) => Promise<unknown>, string, string]> = {
    "an unknown loss term": [(model) => model.forwardBackward(data, [term("hinge")]), "backend.unsupported", "hinge"],
    "an advantage that is not there": [
      (model) => model.forwardBackward(data, [{ type: "policyGradient" }]),
      "policy.unsupported-input",
      "advantages",
    ],
    "a behaviour policy that is not there": [
      (model) =>
        model.forwardBackward(
          data.map((datum) => ({ ...datum, advantages: datum.lossMask })),
          [{ type: "ppo", clipLow: 0.2, clipHigh: 0.2 }],
        ),
      "policy.unsupported-input",
      "behaviourLogprobs",
    ],
    "a reference that is not there": [
      (model) => model.forwardBackward(data, [{ type: "kl", estimator: "k3" }]),
      "policy.unsupported-input",
      "referenceLogprobs",
    ],
    "values without a value head": [
      (model) => model.forward(data, { outputs: ["values"] }),
      "backend.unsupported",
      "value head",
    ],
    "a value to learn without a value head": [
      (model) =>
        model.forwardBackward(
          data.map((datum) => ({ ...datum, returns: datum.lossMask })),
          [{ type: "value" }],
        ),
      "backend.unsupported",
      "value head",
    ],
    "a learning rate that is no number": [
      (model) => model.optimStep({ ...adam, learningRate: Number.NaN }, { stepId: 9 }),
      "config.invalid",
      "learningRate",
    ],
    "a clipping norm of 0": [
      (model) => model.optimStep({ ...adam, clipNorm: 0 }, { stepId: 9 }),
      "config.invalid",
      "clipNorm",
    ],
    "a PEFT export of a whole model": [(model) => model.export(newPath(), "peft"), "backend.unsupported", "adapter"],
  };
  it.each(Object.entries(bad))("%s", async (_, [attempt, code, words]) => {
    const model = await backend.openModel(scratch(full));
    await expect(attempt(model)).rejects.toMatchObject(typed(code, words));
    expect(model.version).toBe(0);
    await model.close();
  });

  const good = { promptIds: [1, 2], seed: 1, stopTokenIds: [], settings: { temperature: 1, maxTokens: 3 } };
  const settings = (change: object) => ({ ...good, settings: { ...good.settings, ...change } });
  const requests: Record<string, readonly [typeof good, string]> = {
    "an empty prompt": [{ ...good, promptIds: [] }, "empty prompt"],
    "a prompt as long as the context": [{ ...good, promptIds: new Array(64).fill(1) }, "64"],
    "an id beyond the vocabulary": [{ ...good, promptIds: [263] }, "263"],
    "an id with a fraction": [{ ...good, promptIds: [1.5] }, "1.5"],
    "a seed that is no number": [{ ...good, seed: Number.NaN }, "seed"],
    "a negative temperature": [settings({ temperature: -1 }), "temperature"],
    "an infinite temperature": [settings({ temperature: Number.POSITIVE_INFINITY }), "temperature"],
    "no tokens": [settings({ maxTokens: 0 }), "maxTokens"],
    "half a token": [settings({ maxTokens: 2.5 }), "maxTokens"],
    "a top-k of NaN": [settings({ topK: Number.NaN }), "topK"],
    "a top-p above 1": [settings({ topP: 1.1 }), "topP"],
    "a min-p above 1": [settings({ minP: 1.1 }), "minP"],
    "a stop string that every text contains": [settings({ stop: ["a", ""] }), "stop string"],
  };
  it.each(Object.entries(requests))("%s", async (_, [request, words]) => {
    const model = await backend.openModel(scratch(full));
    const sampler = await model.snapshot();
    const sampling = async (): Promise<void> => {
      for await (const _ of sampler.sample([good, request]));
    };
    await expect(sampling()).rejects.toMatchObject(typed("policy.unsupported-input", words));
    await model.close();
  });
});

describe("a loss that is NaN", () => {
  it("is an error, and leaves weights and gradient unchanged", async () => {
    const model = await backend.openModel(scratch(full));
    const untouched = await backend.openModel(scratch(full));
    for (const each of [model, untouched]) await each.forwardBackward(data, [{ type: "crossEntropy" }]);
    const poisoned = data.map((datum) => ({ ...datum, advantages: datum.lossMask.map(() => Number.NaN) }));
    await expect(model.forwardBackward(poisoned, [{ type: "policyGradient" }])).rejects.toMatchObject(
      typed("backend.not-finite", "NaN"),
    );
    for (const each of [model, untouched]) await each.optimStep(adam, { stepId: 1 });
    const outputs = { outputs: ["logprobs"] } as const;
    expect(await model.forward(data, outputs)).toEqual(await untouched.forward(data, outputs));
  });
});

describe("a training state", () => {
  async function trained(spec: ModelSpec): Promise<Model> {
    const model = await backend.openModel(spec);
    await model.forwardBackward(data, [{ type: "crossEntropy" }]);
    await model.optimStep(adam, { stepId: 1 });
    return model;
  }
  const logprobsOf = (model: Model) => model.forward(data, { outputs: ["logprobs"] });

  it("of another model is refused, and the model is unchanged", async () => {
    const adapter = newPath();
    await (await trained(scratch(lora(2)))).save(adapter);
    const whole = newPath();
    await (await trained(scratch(full))).save(whole);
    const wrong: readonly (readonly [string, ModelSpec])[] = [
      [adapter, scratch(full)],
      [adapter, scratch({ type: "frozen" })],
      [adapter, scratch(lora(3))],
      [adapter, scratch({ type: "lora", lora: { rank: 2, alpha: 8, seed: 1 } })],
      [adapter, scratch({ type: "lora", lora: { rank: 2, alpha: 4, targets: ["q_proj"] } })],
      [adapter, scratch(lora(2), { seed: 2 })],
      [whole, scratch(lora(2))],
      [whole, scratch(full, { config: { intermediate_size: 32 } })],
      [whole, scratch(full, { config: { rope_theta: 500 } })],
    ];
    for (const [saved, spec] of wrong) {
      const model = await backend.openModel(spec);
      const before = await logprobsOf(model);
      await expect(model.load(saved)).rejects.toMatchObject(typed("checkpoint.unusable", "cannot be loaded"));
      expect(model.version).toBe(0);
      expect(await logprobsOf(model)).toEqual(before);
      await model.close();
    }
  });

  it("that is incomplete or damaged is refused, and the model is unchanged", async () => {
    const saved = newPath();
    await (await trained(scratch(full))).save(saved);
    const state = JSON.parse(await readFile(path.join(saved, "state.json"), "utf8"));
    const spoils: ((folder: string) => Promise<unknown>)[] = [
      remove("state.json"),
      remove("state.safetensors"),
      write("state.json", "null"),
      write("state.json", "{"),
      write("state.json", JSON.stringify({ ...state, version: "1" })),
      write("state.json", JSON.stringify({ ...state, adamStep: undefined })),
      write("state.json", JSON.stringify({ ...state, schemaVersion: 99 })),
      write("state.safetensors", "no weights"),
      (folder) =>
        writeSafetensors(path.join(folder, "state.safetensors"), [
          { name: "parameters", shape: [1], data: Float32Array.of(1) },
        ]),
      async (folder) => {
        const file = path.join(folder, "state.safetensors");
        await writeFile(file, (await readFile(file)).subarray(0, -4));
      },
    ];
    const model = await trained(scratch(full));
    const before = await logprobsOf(model);
    for (const spoil of spoils) {
      const copy = newPath();
      await cp(saved, copy, { recursive: true });
      await spoil(copy);
      await expect(model.load(copy)).rejects.toMatchObject(typed("checkpoint.unusable", copy));
      expect(model.version).toBe(1);
      expect(await logprobsOf(model)).toEqual(before);
    }
    await model.load(saved);
  });

  it("does not overwrite anything", async () => {
    const model = await trained(scratch(lora(1)));
    const taken = newPath();
    await mkdir(taken);
    await writeFile(path.join(taken, "mine"), "1");
    await expect(model.save(taken)).rejects.toMatchObject(typed("checkpoint.write-failed", "not empty"));
    await expect(model.save(path.join(taken, "mine", "below"))).rejects.toMatchObject(
      typed("checkpoint.write-failed", "mine"),
    );
    expect(await readdir(taken)).toEqual(["mine"]);
  });

  it.skipIf(process.platform === "win32")(
    "and an export leave nothing behind if the disk is full, and report it (limits a child's file size)",
    async () => {
      const target = newPath();
      await mkdir(target);
      const engine = path.join(import.meta.dirname, "../../../trainers/backends/onnx/index.ts");
      const script = `
        const { createOnnxBackend } = await import(${JSON.stringify(engine)});
        const backend = await createOnnxBackend({ device: "cpu", threads: 1 });
        const source = ${JSON.stringify(scratch(full).source)};
        const model = await backend.openModel({ source, trainable: { type: "full" } });
        for (const write of [
          () => model.save(${JSON.stringify(path.join(target, "state"))}),
          () => model.export(${JSON.stringify(path.join(target, "model"))}, "huggingface"),
        ]) {
          await write().catch(({ code, message, hint }) => console.log(JSON.stringify({ code, message, hint })));
        }
        await backend.close();`;
      const node = `exec ${JSON.stringify(process.execPath)} --input-type=module -e "$1"`;
      const { stdout, stderr } = await promisify(execFile)("/bin/sh", ["-c", `ulimit -f 64; ${node}`, "sh", script]);
      const errors = stdout.trim().split("\n");
      expect(errors).toHaveLength(2);
      for (const line of errors) {
        expect(JSON.parse(line)).toMatchObject(typed("checkpoint.write-failed", "larger than the limit"));
      }
      expect(stderr).toBe("");
      expect(await readdir(target)).toEqual([]);
    },
  );
});
