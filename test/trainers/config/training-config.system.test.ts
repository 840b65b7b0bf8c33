import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { EnvironmentDefinition } from "../../../src/contract/environment.ts";
import { LyceumError } from "../../../src/contract/errors/index.ts";
import type { Json } from "../../../src/contract/json.ts";
import type { Sampler } from "../../../src/contract/sampler.ts";
import { configReference, loadConfig } from "../../../src/core/config/index.ts";
import { defineEnvironment } from "../../../src/core/environment/define-environment.ts";
import { mapTaskset } from "../../../src/core/taskset/map-taskset.ts";
import { memoryTaskset } from "../../../src/core/taskset/memory-taskset.ts";
import type { PassProgress } from "../../../trainers/backend/training-backend.ts";
import { policySpec, referenceSpec } from "../../../trainers/config/model-config.ts";
import {
  checkConfig,
  rolloutLimits,
  type TrainingConfigInput,
  trainingConfigSchema,
} from "../../../trainers/config/training-config.ts";
import { exportFormat } from "../../../trainers/models/export-model.ts";
import { createRewardProcessors } from "../../../trainers/rewards/reward-processor-config.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { createBigramBackend } from "../bigram-backend.ts";
import { changedBackend } from "../changed-backend.ts";
import { letterEnvironment } from "../letter-environment.ts";
import { checkpointState, letterConfig, runTraining } from "../run-training.ts";
import { teamEnvironment } from "../team-environment.ts";

type Changes = readonly (readonly [key: string, value: Json])[];

/** A run that uses every part of the config. */
const base = {
  ...letterConfig({
    algorithm: { id: "grpo", groupSize: 4, klWeight: 0.1, epochs: 2, minibatches: 2, clipLow: 0.01, clipHigh: 0.01 },
    evaluation: { split: "test[:8]", temperature: 1, episodesPerTask: 2 },
  }),
  sampling: { maxTokens: 2 },
  preflight: false,
  probe: { groups: 0 },
  checkpoint: { every: 1, keep: 2 },
  training: { steps: 4, batchSize: 6, learningRate: 0.6, epsilon: 1e-3, warmupSteps: 2, schedule: "linear" },
};

/** Returns the base config with some keys set by their dotted paths. */
function configWith(changes: Changes): TrainingConfigInput {
  const config = structuredClone(base) as unknown as { [key: string]: Json };
  for (const [path, value] of changes) {
    const keys = path.split(".");
    let section = config;
    for (const key of keys.slice(0, -1)) {
      section[key] ??= {};
      section = section[key] as { [key: string]: Json };
    }
    section[keys.at(-1)!] = structuredClone(value);
  }
  return config as unknown as TrainingConfigInput;
}

/** Everything that can be observed of a run: its events, files and weights, and the calls to its backend. */
async function traces(changes: Changes, environment: EnvironmentDefinition = letterEnvironment()): Promise<unknown> {
  const output = temporaryFolder();
  const calls: unknown[] = [];
  const backend = changedBackend((model) => ({
    forwardBackward: (data, terms, options) => {
      const onProgress = (done: PassProgress): void => {
        calls.push(done);
        options?.onProgress?.(done);
      };
      return model.forwardBackward(data, terms, { ...options, onProgress });
    },
    export: (folder, format, options) => {
      calls.push([format, options]);
      return model.export(folder, format, options);
    },
    snapshot: async (): Promise<Sampler> => {
      const sampler = await model.snapshot();
      return {
        specificationVersion: "v1",
        version: sampler.version,
        sample: (requests, options) => {
          calls.push(requests);
          return sampler.sample(requests, options);
        },
        close: () => sampler.close(),
      };
    },
  }));
  const trainableSampling = ["temperature", "topK", "topP", "minP"] as const;
  const { events, error } = await runTraining({
    output,
    config: configWith(changes),
    environment,
    backend: { ...backend, capabilities: { ...backend.capabilities, trainableSampling } },
  });
  const files = await readdir(output);
  const last = events.findLast((event) => event.type === "step")?.step ?? 0;
  const seen = {
    events,
    error: String(error),
    files,
    calls,
    checkpoints: files.includes("checkpoints") ? await readdir(join(output, "checkpoints")) : [],
    state: await checkpointState(output, last).catch(() => ""),
  };
  const noise = /Ms$|-ms$|per-second$|^path$|^exported$|^checkpoint$/;
  return JSON.parse(JSON.stringify(seen), (key, value) => (noise.test(key) ? "" : value));
}

/** A run of two agents over two turns. */
const team = (changes: Changes): Promise<unknown> =>
  traces([["sampling.maxTokens", 1], ["training.steps", 2], ...changes], teamEnvironment({ partial: 0.3 }));

const dialogue = (changes: Changes): Promise<unknown> =>
  traces([["sampling.maxTokens", 1], ["training.steps", 2], ...changes], teamEnvironment({ context: "append" }));

/** A run over rows. One row is longer than the model reads. */
const overlongRows = (changes: Changes): Promise<unknown> =>
  traces(
    changes,
    defineEnvironment<string>({
      id: "rows",
      tasks: (split) => (split === "test" ? ["T"] : ["A", "x".repeat(600)]),
      reset: ({ task }) => task,
      step: () => ({ reward: 1 }),
      demonstrate: () => "1",
    }) as EnvironmentDefinition,
  );

/** A run over rows. One row is malformed. */
const malformedRows = (changes: Changes): Promise<unknown> =>
  traces(
    changes,
    defineEnvironment<string>({
      id: "rows",
      tasks: (split) =>
        mapTaskset(memoryTaskset("rows", split === "test" ? ["T"] : ["A", ""]), (row) => {
          if (row !== "") return row;
          throw new LyceumError({ code: "data.malformed", message: "rows:2: an empty row", hint: "Fill it." });
        }),
      reset: ({ task }) => task,
      step: () => ({ reward: 1 }),
      demonstrate: () => "1",
    }) as EnvironmentDefinition,
  );

/** The settings of another algorithm than that of the base config. */
const using = (id: string, settings: { readonly [key: string]: Json } = {}): Changes => [
  ["algorithm", { id, ...settings }],
];
const tree = (settings: { readonly [key: string]: Json } = {}): Changes =>
  using("magrpo", { groupSize: 2, ...settings });

/** What was seen before. Most keys are compared with the run of the base config. */
const seen = new Map<string, unknown>();
const see = (look: (changes: Changes) => unknown, changes: Changes): unknown => {
  const key = `${look.name} ${JSON.stringify(changes)}`;
  if (!seen.has(key)) seen.set(key, look(changes));
  return seen.get(key);
};

/** The effect of a value on a pure part of the trainer, for keys that a run on letters cannot show. */
const specOf = (changes: Changes): unknown => {
  const { model, seed } = checkConfig(configWith(changes));
  return [policySpec(model, { seed }), referenceSpec(model, { seed })];
};
const limitsOf = (changes: Changes): unknown => rolloutLimits(checkConfig(configWith(changes)).rollout);

/** The result of the `rewards` processors for a few rewards. */
const processed = (changes: Changes): unknown => {
  const { rewards } = checkConfig(configWith(changes));
  const chain = createRewardProcessors(rewards);
  return [-3, 0, 1].map((value) => chain.reduce((reward, process) => process(reward, { length: 10, seed: 1 }), value));
};

const pretrained: Changes = [["model", { path: "folder" }]];
const lora: Changes = [["model", { scratch: {}, adapter: { type: "lora" } }]];

const prompts = [..."ABCDEFGH"].flatMap((one) => [..."abcdefgh"].map((other) => one + other));
const easyFirst: Changes = [["tasks.curriculum", { by: "prompt", start: 0.1, end: 0.9, steps: 3 }]];
const best: Changes = [
  ["checkpoint.best", {}],
  ["evaluation.every", 1],
];

/** For every key, a value that must change the observed result: `[value, what to observe, what to set in addition]`. */
const proofs: Readonly<
  Record<string, readonly [value: Json, look?: (changes: Changes) => unknown, besides?: Changes]>
> = {
  seed: [5],
  "algorithm.id": ["sft", traces, [["algorithm", { id: "grpo" }]]],
  "algorithm.groupSize": [5],
  "algorithm.advantage": ["group-mean"],
  "algorithm.clipLow": [0.9],
  "algorithm.clipHigh": [3],
  "algorithm.klWeight": [0.5],
  "algorithm.klEstimator": ["k2"],
  "algorithm.epochs": [3],
  "algorithm.minibatches": [3],
  "algorithm.dropGroupsWithoutSignal": [false],
  "algorithm.resampleRounds": [2],
  "algorithm.lossAggregation": [{ fixedLength: 5 }],
  "algorithm.surrogate": ["none"],
  "algorithm.klIn": ["reward"],
  "algorithm.entropyWeight": [0.5],
  "algorithm.targetKl": [1e-6],
  "algorithm.maskTruncated": [true],
  "algorithm.importanceCap": [0.5],
  "algorithm.whiten": [true, traces, [["algorithm.advantage", "none"]]],
  "algorithm.creditBy": ["turn", team, using("rloo", { groupSize: 4 })],
  "algorithm.discount": [0.5, team, tree()],
  "algorithm.turnWeights": [[1.2, 0.8], team, tree()],
  "algorithm.turnStructure": ["handoff", team, tree()],
  "algorithm.jointMode": ["cross", team, tree()],
  "algorithm.crossReturn": ["sum", team, tree({ jointMode: "cross" })],
  "algorithm.handoff": ["best", team, tree({ turnStructure: "handoff", groupSize: 4 })],
  "algorithm.terminationThreshold": [0.1, team, tree()],
  "algorithm.terminationWeight": [3, team, tree({ terminationThreshold: 0.1 })],
  "algorithm.maxNodes": [2, team, tree()],
  "algorithm.critic": ["separate", traces, using("ppo")],
  "algorithm.valueWeight": [2, traces, using("ppo")],
  "algorithm.valueClip": [1e-3, traces, using("ppo")],
  "algorithm.lambda": [0.5, traces, using("ppo")],
  "algorithm.criticLearningRateScale": [3, traces, using("iac")],
  "algorithm.criticInput": ["q", traces, using("iac")],
  "algorithm.source": ["demonstrations", traces, using("dpo")],
  "algorithm.pairs": ["all", traces, using("dpo", { groupSize: 8 })],
  "algorithm.margin": [2, traces, using("dpo")],
  "algorithm.beta": [0.5, traces, using("dpo")],
  "algorithm.form": ["ipo", traces, using("dpo")],
  "algorithm.labelSmoothing": [0.2, traces, using("dpo")],
  "algorithm.referenceFree": [true, traces, [...using("dpo"), ["model.scratch", {}]]],
  "algorithm.actionWeight": [0.5, traces, using("sft", { lossAggregation: { fixedLength: 1 } })],
  "algorithm.observationWeight": [1, dialogue, using("sft")],
  "agents.weights": ["shared", team, using("rloo")],
  "rewards[].type": [[{ type: "scale", factor: 2 }], processed],
  "rewards[].minimum": [[{ type: "clamp", minimum: 0.5 }], processed, [["rewards", [{ type: "clamp" }]]]],
  "rewards[].maximum": [[{ type: "clamp", maximum: 0.5 }], processed, [["rewards", [{ type: "clamp" }]]]],
  "rewards[].factor": [[{ type: "scale", factor: 2 }], processed, [["rewards", [{ type: "scale" }]]]],
  "rewards[].by": [[{ type: "shift", by: 2 }], processed, [["rewards", [{ type: "shift" }]]]],
  "rewards[].full": [
    [{ type: "normalize-by-length", full: 20 }],
    processed,
    [["rewards", [{ type: "normalize-by-length" }]]],
  ],
  "rewards[].probability": [[{ type: "random", probability: 0.25 }], processed, [["rewards", [{ type: "random" }]]]],
  "rewards[].cache": [
    [{ type: "overlong-penalty", cache: 5, maxTokens: 12 }],
    processed,
    [["rewards", [{ type: "overlong-penalty", cache: 10, maxTokens: 12 }]]],
  ],
  "rewards[].maxTokens": [
    [{ type: "overlong-penalty", cache: 2, maxTokens: 20 }],
    processed,
    [["rewards", [{ type: "overlong-penalty", cache: 2 }]]],
  ],
  "model.path": ["other", specOf, pretrained],
  "model.revision": ["main", specOf, pretrained],
  "model.base": ["other", specOf, pretrained],
  "model.chatTemplate": ["none", specOf, pretrained],
  "model.templateVariables": [{ enable_thinking: false }, specOf, pretrained],
  "model.scratch.family": ["qwen3", specOf],
  "model.scratch.hiddenSize": [64, specOf],
  "model.scratch.layers": [2, specOf],
  "model.scratch.heads": [2, specOf],
  "model.scratch.keyValueHeads": [2, specOf],
  "model.scratch.intermediateSize": [99, specOf],
  "model.scratch.maxLength": [99, specOf],
  "model.scratch.tieEmbeddings": [false, specOf],
  "model.scratch.ropeTheta": [5000, specOf],
  "model.scratch.normEpsilon": [1e-5, specOf],
  "model.scratch.initializerRange": [0.1, specOf],
  "model.adapter.type": ["lora", specOf],
  "model.adapter.start": ["merge", specOf, lora],
  "model.adapter.rank": [4, specOf, lora],
  "model.adapter.alpha": [4, specOf, lora],
  "model.adapter.targets": [["q_proj"], specOf, lora],
  "model.adapter.dropout": [0.5, specOf, lora],
  "model.device": ["cpu"],
  "tasks.split": ["train[:9]"],
  "data.invalid": ["drop", malformedRows, using("sft")],
  "data.overlong": ["drop", overlongRows, using("sft")],
  "tasks.curriculum.by": ["prompt.length", traces, easyFirst],
  "tasks.curriculum.order": [prompts.toReversed(), traces, easyFirst],
  "tasks.curriculum.start": [1, traces, easyFirst],
  "tasks.curriculum.end": [0.2, traces, easyFirst],
  "tasks.curriculum.steps": [1, traces, easyFirst],
  "sampling.temperature": [0.5],
  "sampling.maxTokens": [3],
  "sampling.topK": [5],
  "sampling.topP": [0.5],
  "sampling.minP": [0.5],
  "sampling.stop": [["x"]],
  "rollout.concurrency": [3],
  "rollout.maxStaleness": [1],
  "rollout.trace": [true],
  "rollout.limits.turns": [1, limitsOf],
  "rollout.limits.tokens": [1, limitsOf],
  "rollout.limits.episodeSeconds": [9, limitsOf],
  "rollout.limits.environmentSeconds": [9, limitsOf],
  "rollout.limits.actSeconds": [9, limitsOf],
  "training.steps": [5],
  "training.epochs": [
    2,
    traces,
    [
      ["training.steps", undefined as never],
      ["tasks.split", "train[:4]"],
      ["training.epochs", 1],
    ],
  ],
  "training.batchSize": [7],
  "training.learningRate": [0.1],
  "training.schedule": ["constant"],
  "training.warmupSteps": [3],
  "training.finalLearningRateFraction": [0.5],
  "training.clipNorm": [0.01],
  "training.weightDecay": [0.1],
  "training.beta1": [0.5],
  "training.beta2": [0.9],
  "training.epsilon": [1e-2],
  "training.maxTokensPerMicroBatch": [8],
  "training.sampleEvery": [1],
  "evaluation.split": ["test[:9]"],
  "evaluation.every": [1],
  "evaluation.limit": [3],
  "evaluation.temperature": [0],
  "evaluation.episodesPerTask": [3],
  "checkpoint.every": [2],
  "checkpoint.keep": [1],
  "checkpoint.best.metric": ["evaluation/episodes/failed", traces, best],
  "checkpoint.best.mode": ["min", traces, best],
  preflight: [true],
  "probe.groups": [2],
  "export.format": ["none"],
  "export.dtype": ["bfloat16"],
  "export.from": ["best", traces, [...best, ["checkpoint.best.mode", "min"]]],
};

/** Keys that are passed to the backend before there is a run. They are tested for `lyceum train`. */
const usedByTheCommandLine = [
  "model.precision",
  "model.deviceIndex",
  "model.threads",
  "agents.policies",
  "agents.programs.*.command",
  "agents.programs.*.module",
  "agents.programs.*.timeoutSeconds",
  "agents.programs.*.maxModelCalls",
  "evaluation.opponent",
];

describe("the training config", () => {
  it("has an effect for every key, and the list of effects has no other key", () => {
    const keys = new Set(configReference(trainingConfigSchema()).map(({ key }) => key));
    // The model of one agent has the same keys as the model of all agents.
    const ofAgents = [...keys].filter((key) => key.startsWith("agents.models."));
    expect(ofAgents).toEqual(
      [...keys].filter((key) => key.startsWith("model.")).map((key) => `agents.models.*.${key.slice(6)}`),
    );
    const proven = [...Object.keys(proofs), ...usedByTheCommandLine, ...ofAgents];
    expect(proven.toSorted()).toEqual([...keys].toSorted());
  });

  it("describes every key", () => {
    for (const { key, description } of configReference(trainingConfigSchema())) {
      expect(description, key).toMatch(/^\w.*\.$/);
    }
  });

  it.each(
    Object.entries(proofs).map(([key, [value, look = traces, besides = []]]) => ({ key, value, look, besides })),
  )("uses $key", async ({ key, value, look, besides }) => {
    const path = key.replace(/\[\].*/, "");
    expect(await see(look, [...besides, [path, value]])).not.toEqual(await see(look, besides));
  });

  it.each([
    16, 128, 2048,
  ])("makes the random weights of a model from scratch as large as its width %d asks", (width) => {
    const { model } = checkConfig(configWith([["model", { scratch: { hiddenSize: width } }]]));
    const { source } = policySpec(model, { seed: 0 });
    expect(source.type === "scratch" && source.config.initializer_range).toBeCloseTo(1 / Math.sqrt(width), 12);
  });

  it("gives the same run for the same config, so that the comparisons are meaningful", async () => {
    expect(await traces([])).toEqual(await traces([]));
  });

  it("fills in every default, and parses its own result to the same value", () => {
    const config = checkConfig({ algorithm: { id: "grpo" }, model: { path: "owner/name" } });
    expect(checkConfig(config as unknown as TrainingConfigInput)).toEqual(config);
    expect(config).toMatchObject({
      seed: 0,
      tasks: { split: "train" },
      algorithm: { groupSize: 8, advantage: "group-z-score" },
      model: { adapter: { type: "full" }, device: "auto" },
      training: { batchSize: 16, beta2: 0.999 },
    });
  });

  it.each<[string, Partial<TrainingConfigInput>, RegExp]>([
    ["neither path nor scratch", { model: {} }, /either path .* or scratch/],
    ["both path and scratch", { model: { path: "a", scratch: {} } }, /either path .* or scratch/],
    ["a revision without a path", { model: { scratch: {}, revision: "main" } }, /revision/],
    ["variables without a template", { model: { scratch: {}, templateVariables: { a: 1 } } }, /templateVariables/],
    [
      "variables of no template",
      { model: { path: "a", chatTemplate: "none", templateVariables: { a: 1 } } },
      /templateVariables/,
    ],
    ["a base without an adapter", { model: { scratch: {}, base: "other" } }, /base/],
    ["heads that do not divide", { model: { scratch: { hiddenSize: 100, heads: 3 } } }, /hiddenSize/],
    ["key heads that do not divide", { model: { scratch: { keyValueHeads: 3 } } }, /keyValueHeads/],
    ["a temperature of 0", { sampling: { temperature: 0 } }, /temperature/],
    ["a group of one", { algorithm: { id: "grpo", groupSize: 1 } }, /groupSize/],
    ["NaN", { training: { learningRate: Number.NaN } }, /learningRate/],
    ["a setting of another algorithm", { algorithm: { id: "sft", groupSize: 4 } }, /groupSize/],
    ["an unknown aggregation", { algorithm: { id: "sft", lossAggregation: "mean" } }, /lossAggregation/],
  ])("refuses %s", (_, changes, message) => {
    expect(() => checkConfig({ algorithm: { id: "grpo" }, model: { scratch: {} }, ...changes })).toThrow(
      expect.objectContaining({ code: "config.invalid", message: expect.stringMatching(message) }),
    );
  });

  it("is read from YAML, and an unknown key names its line and the nearest key", async () => {
    const text = "algorithm:\n  id: grpo\nmodel:\n  path: a/b\ntraining:\n  learningrate: 1e-4\n";
    await expect(loadConfig({ text, schema: trainingConfigSchema() })).rejects.toMatchObject({
      code: "config.invalid",
      message: expect.stringMatching(/:6:\d+.*learningrate/),
      hint: expect.stringContaining('"learningRate"'),
    });
  });
});

describe("exportFormat", () => {
  const { capabilities } = createBigramBackend();
  const formatOf = (format: "auto" | "none" | "peft", type: "lora" | "full", formats: ("huggingface" | "peft")[]) =>
    exportFormat(
      checkConfig({ algorithm: { id: "sft" }, model: { path: "a", adapter: { type } }, export: { format } }),
      { capabilities: { ...capabilities, exportFormats: formats }, agents: ["agent"] },
    );

  it("is an adapter for LoRA and otherwise a whole model, if the backend supports it", () => {
    expect(formatOf("auto", "lora", ["huggingface", "peft"])).toBe("peft");
    expect(formatOf("auto", "full", ["huggingface", "peft"])).toBe("huggingface");
    expect(formatOf("auto", "full", [])).toBeUndefined();
    expect(formatOf("none", "full", ["huggingface"])).toBeUndefined();
    expect(formatOf("peft", "lora", ["peft"])).toBe("peft");
  });
});
