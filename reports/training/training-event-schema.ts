import { z } from "zod";
import type { ErrorCode } from "../../src/contract/errors/index.ts";
import type { TrainingEvent } from "../../src/contract/training-event.ts";

// JSON has no NaN and no infinity. In metrics.jsonl they are these words.
const numberSchema = z.union([z.number(), z.enum(["NaN", "Infinity", "-Infinity"]).transform((word) => Number(word))]);
const metricsSchema = z.record(z.string(), numberSchema);
const stepSchema = z.int().nonnegative();
const errorSchema = z.object({
  name: z.string(),
  code: z.string().transform((code) => code as ErrorCode),
  message: z.string(),
  hint: z.string().exactOptional(),
  data: z.json().exactOptional(),
});

const sampleShape = {
  prompt: z.string(),
  agent: z.string().exactOptional(),
  completion: z.string(),
  reward: numberSchema.exactOptional(),
  conversation: z
    .array(
      z.object({
        turn: z.int().nonnegative(),
        author: z.string().exactOptional(),
        readers: z.array(z.string()).exactOptional(),
        role: z.string(),
        text: z.string(),
      }),
    )
    .exactOptional(),
  rewards: z.record(z.string(), numberSchema).exactOptional(),
};

/**
 * The schema of a {@link TrainingEvent} in metrics.jsonl. Unknown keys are dropped, because a later version may have
 * more.
 */
export const trainingEventSchema: z.ZodType<TrainingEvent> = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("run-start"),
    algorithm: z.string(),
    environment: z.string(),
    model: z.object({ name: z.string(), trainableParameters: z.number(), device: z.string() }),
    machine: z.object({ hardware: z.string(), versions: z.record(z.string(), z.string()) }).exactOptional(),
    agents: z
      .record(z.string(), z.object({ policy: z.string(), frozen: z.literal(true).exactOptional() }))
      .exactOptional(),
    rewardRange: z.tuple([numberSchema, numberSchema]).exactOptional(),
    definesCorrect: z.literal(false).exactOptional(),
    seed: z.number(),
    learningRate: z.object({ value: z.number(), defaultOf: z.string().exactOptional() }).exactOptional(),
    steps: stepSchema,
    resumedFrom: stepSchema,
  }),
  z.object({
    type: z.literal("preflight"),
    step: stepSchema,
    checks: z.array(
      z.object({
        name: z.enum(["sampled-ids", "mask", "logprobs", "update", "sync", "restore", "save"]),
        status: z.enum(["passed", "failed", "skipped"]),
        detail: z.string(),
        cause: z.string().exactOptional(),
        learner: z.string().exactOptional(),
      }),
    ),
    elapsedMs: numberSchema,
  }),
  z.object({
    type: z.literal("probe"),
    step: z.literal(0),
    groups: z.int().nonnegative(),
    withSignal: z.int().nonnegative(),
    comparison: z.enum(["group", "batch"]),
    metrics: metricsSchema,
    elapsedMs: numberSchema,
    samples: z.array(z.object(sampleShape)),
    advice: z.array(z.string()),
  }),
  z.object({
    type: z.literal("step"),
    step: stepSchema,
    steps: stepSchema,
    metrics: metricsSchema,
    elapsedMs: numberSchema,
    etaMs: numberSchema,
    traceLength: z.int().nonnegative().exactOptional(),
  }),
  z.object({
    type: z.literal("sample"),
    step: stepSchema,
    ...sampleShape,
    messages: z.array(z.object({ role: z.string(), text: z.string() })).exactOptional(),
    demonstration: z.literal(true).exactOptional(),
  }),
  z.object({
    type: z.literal("evaluation"),
    step: stepSchema,
    split: z.string(),
    opponent: z.string().exactOptional(),
    metrics: metricsSchema,
  }),
  z.object({ type: z.literal("checkpoint"), step: stepSchema, path: z.string() }),
  z.object({
    type: z.literal("warning"),
    step: stepSchema,
    message: z.string(),
    check: z.string().exactOptional(),
    subject: z.string().exactOptional(),
    over: z.literal(true).exactOptional(),
  }),
  z.object({
    type: z.literal("run-end"),
    reason: z.enum(["completed", "aborted", "failed"]),
    step: stepSchema,
    elapsedMs: numberSchema,
    checkpoint: z.string().exactOptional(),
    exported: z.string().exactOptional(),
    exportedStep: stepSchema.exactOptional(),
    untrained: z.literal(true).exactOptional(),
    error: errorSchema.exactOptional(),
  }),
]);
