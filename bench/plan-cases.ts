import type { TrainingConfigInput } from "../trainers/config/training-config.ts";

/** A real training whose memory and speed are compared with its plan. */
export interface PlanCase {
  readonly name: string;
  /** The constants of the plan were chosen on `calibration`, without `check`. */
  readonly set: "calibration" | "check";
  /** `scratch`: the shape is in the config. `135m`: the shape of SmolLM2-135M, with random weights. */
  readonly base: "scratch" | "135m";
  readonly config: TrainingConfigInput;
  readonly agents: readonly string[];
  /** The number of bytes, and so of tokens, of the prompts. */
  readonly promptTokens: number;
  /** The number of bytes of demonstrated answers. */
  readonly answerTokens: number;
}

const sft = { id: "sft" };
const grpo = (groupSize: number) => ({ id: "grpo", groupSize });
const lora = (rank: number) => ({ type: "lora" as const, rank });
const demo = { hiddenSize: 128, layers: 3, heads: 8, intermediateSize: 384, tieEmbeddings: false };
const medium = { hiddenSize: 384, layers: 6, heads: 6, keyValueHeads: 2, intermediateSize: 1024 };

function planCase(given: {
  readonly name: string;
  readonly set: PlanCase["set"];
  readonly scratch?: NonNullable<TrainingConfigInput["model"]["scratch"]>;
  readonly adapter?: ReturnType<typeof lora>;
  readonly algorithm: TrainingConfigInput["algorithm"];
  readonly batchSize: number;
  readonly steps: number;
  readonly agents?: readonly string[];
  readonly prompt: number;
  readonly answer: number;
  readonly maxTokensPerMicroBatch?: number;
}): PlanCase {
  const { name, set, scratch, adapter = { type: "full" as const }, algorithm, batchSize, steps } = given;
  const { agents = ["policy"], prompt, answer, maxTokensPerMicroBatch } = given;
  return {
    name,
    set,
    base: scratch === undefined ? "135m" : "scratch",
    agents,
    promptTokens: prompt,
    answerTokens: answer,
    config: {
      algorithm,
      model: { ...(scratch === undefined ? { path: "BASE" } : { scratch }), adapter, device: "cpu" },
      sampling: { maxTokens: answer },
      training: { steps, batchSize, learningRate: 1e-5, ...(maxTokensPerMicroBatch && { maxTokensPerMicroBatch }) },
      checkpoint: { every: 0 },
      export: { format: "none" },
    },
  };
}

const team = ["writer", "editor"];

/** The trainings of `npm run bench -- --only plan`. */
export const planCases: readonly PlanCase[] = [
  planCase({
    name: "demo-sft",
    set: "calibration",
    scratch: demo,
    algorithm: sft,
    batchSize: 128,
    steps: 12,
    prompt: 24,
    answer: 8,
  }),
  planCase({
    name: "demo-grpo",
    set: "calibration",
    scratch: demo,
    algorithm: grpo(8),
    batchSize: 16,
    steps: 6,
    prompt: 32,
    answer: 32,
  }),
  planCase({
    name: "medium-sft",
    set: "calibration",
    scratch: medium,
    algorithm: sft,
    batchSize: 16,
    steps: 5,
    prompt: 64,
    answer: 128,
  }),
  planCase({
    name: "135m-lora-grpo",
    set: "calibration",
    adapter: lora(16),
    algorithm: grpo(8),
    batchSize: 2,
    steps: 3,
    prompt: 64,
    answer: 32,
  }),
  planCase({
    name: "135m-full-sft",
    set: "calibration",
    algorithm: sft,
    batchSize: 8,
    steps: 3,
    prompt: 64,
    answer: 64,
  }),
  planCase({
    name: "135m-lora-team",
    set: "calibration",
    adapter: lora(8),
    algorithm: grpo(4),
    batchSize: 2,
    steps: 3,
    prompt: 96,
    answer: 24,
    agents: team,
  }),
  planCase({
    name: "demo-long-grpo",
    set: "check",
    scratch: { ...demo, maxLength: 1024 },
    algorithm: grpo(4),
    batchSize: 8,
    steps: 4,
    prompt: 256,
    answer: 64,
  }),
  planCase({
    name: "medium-grpo",
    set: "check",
    scratch: medium,
    algorithm: grpo(8),
    batchSize: 4,
    steps: 4,
    prompt: 96,
    answer: 64,
  }),
  planCase({
    name: "medium-lora-team",
    set: "check",
    scratch: medium,
    adapter: lora(16),
    algorithm: grpo(8),
    batchSize: 4,
    steps: 4,
    prompt: 64,
    answer: 48,
    agents: team,
  }),
  planCase({
    name: "135m-lora-long-grpo",
    set: "check",
    adapter: lora(32),
    algorithm: grpo(16),
    batchSize: 1,
    steps: 3,
    prompt: 192,
    answer: 64,
  }),
  planCase({
    name: "135m-full-grpo",
    set: "check",
    algorithm: grpo(4),
    batchSize: 2,
    steps: 3,
    prompt: 64,
    answer: 48,
  }),
  planCase({
    name: "135m-lora-sft",
    set: "check",
    adapter: lora(16),
    algorithm: sft,
    batchSize: 8,
    steps: 3,
    prompt: 128,
    answer: 128,
    maxTokensPerMicroBatch: 1024,
  }),
];
