import { z } from "zod";
import { integers, listOf } from "../../../src/core/network/list-schema.ts";
import { modelInputSchema } from "./pass-request.ts";
import { tensorJsonSchema } from "./tensor.ts";

/** The JSON bodies that the server reads. Unknown keys are ignored, because newer clients send more. */

const name = z.string().min(1);
/** The maximum number of stop sequences of a request. */
const maxStops = 1024;

const sequence = z.int().nonnegative().nullish();

export const createModelBody = z.object({
  session_id: name,
  model_seq_id: z.int(),
  base_model: name,
  lora_config: z
    .object({
      rank: z.int().nonnegative(),
      seed: z.int().nullish(),
      train_attn: z.boolean().nullish(),
      train_mlp: z.boolean().nullish(),
    })
    .nullish(),
  optimizer_config: z.object({ type: z.string() }).nullish(),
});

export const modelBody = z.object({ model_id: name, seq_id: sequence });

export const optimStepBody = modelBody.extend({
  adam_params: z.object({
    learning_rate: z.number().default(1e-4),
    beta1: z.number().default(0.9),
    beta2: z.number().default(0.95),
    eps: z.number().default(1e-12),
    weight_decay: z.number().default(0),
    grad_clip_norm: z.number().default(0),
  }),
});

/** True for a name of a checkpoint. It becomes the name of a folder, next to which is a file NAME.json. */
export function isCheckpointName(text: string): boolean {
  return /^(?!\.)[\w.-]{1,128}$/.test(text) && !text.endsWith(".json");
}

const checkpointName = z
  .string()
  .refine(isCheckpointName, "A name has letters, digits, dots, hyphens and underscores, and does not end in .json.");

/** Seconds until a checkpoint is deleted: one hour to ten years. */
const ttl = z.int().min(3600).max(315_360_000).nullish();

export const ttlBody = z.object({ ttl_seconds: ttl });

export const saveBody = modelBody.extend({
  path: checkpointName.nullish(),
  overwrite: z.boolean().nullish(),
  ttl_seconds: ttl,
});

export const saveExternalBody = modelBody.extend({
  path: checkpointName,
  ttl_seconds: ttl,
  age_encryption_recipients: listOf(z.string()).nullish(),
});

export const saveForSamplerBody = saveBody.extend({
  sampling_session_seq_id: z.int().nullish(),
  /** The samplers of `inflight` share one place, whose weights each save replaces. */
  kind: z.enum(["snapshot", "inflight"]).nullish(),
});

/** Loads into a model, or into a new model of a session. */
export const loadBody = z.object({
  model_id: name.nullish(),
  seq_id: sequence,
  session_id: name.nullish(),
  model_seq_id: z.int().nullish(),
  base_model: name.nullish(),
  path: name,
  optimizer: z.boolean().default(true),
  optimizer_config: z.object({ type: z.string() }).nullish(),
});

export const samplingSessionBody = z.object({
  session_id: name,
  sampling_session_seq_id: z.int(),
  base_model: name.nullish(),
  model_path: name.nullish(),
});

export const joinSamplingSessionBody = z.object({ sampling_session_id: name });

export const sampleBody = z.object({
  prompt: modelInputSchema,
  num_samples: z.int().min(1).max(4096).default(1),
  sampling_params: z.object({
    max_tokens: z.int().min(1).nullish(),
    seed: z.int().nullish(),
    stop: z
      .union([z.string(), integers, listOf(z.string())])
      .refine((stop) => typeof stop === "string" || stop.length <= maxStops, `at most ${maxStops} stop sequences`)
      .nullish(),
    temperature: z.number().default(1),
    top_k: z.int().default(-1),
    top_p: z.number().default(1),
  }),
  sampling_session_id: name.nullish(),
  seq_id: sequence,
  base_model: name.nullish(),
  model_path: name.nullish(),
  prompt_logprobs: z.boolean().nullish(),
  prompt_logprobs_last_n: z.int().min(1).nullish(),
  topk_prompt_logprobs: z.int().min(0).max(1000).default(0),
  target_prompt_logprobs: tensorJsonSchema.nullish(),
  prompt_alt_tokens_k: z.int().nullish(),
  topk_sample_logprobs: z.int().min(0).max(100).default(0),
  record_stability_info: z.boolean().nullish(),
});

export const sessionBody = z.object({ session_id: name });

/** Asks for the requests of one sampler, or one copy of it, that have ended. */
export const retrieveManyBody = z.object({
  target: z.object({
    type: z.literal("sampling_session").default("sampling_session"),
    sampling_session_id: name,
    cloned_sampler_id: z.int().nonnegative().default(0),
  }),
  prev_cursor: z.int().nonnegative().default(0),
  /** Seconds. */
  timeout: z.number().nonnegative().nullish(),
  retrieved_request_ids: listOf(z.string()).default([]),
});

export const retrieveBody = z.object({ request_id: name });
