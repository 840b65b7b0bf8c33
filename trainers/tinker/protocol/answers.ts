import { z } from "zod";

/** The JSON answers that the client reads. Unknown keys are ignored. */

/** The answer to every request whose result is computed later. */
export interface Promised {
  readonly request_id: string;
}

/** A schema that reads an answer. */
type Schema<T> = z.ZodType<T>;

const requestId = z.union([z.string(), z.number()]).transform(String);

/** Reads a {@link Promised}. */
export const promiseSchema: Schema<Promised> = z.object({ request_id: requestId });

/** Reads the answer to `create_model`. */
export const createModelSchema: Schema<Promised & { readonly model_id: string }> = z.object({
  request_id: requestId,
  model_id: z.string(),
});

/** Reads the answer to `create_session`. */
export const createSessionSchema: Schema<{ readonly session_id: string }> = z.object({ session_id: z.string() });

/** Reads the answer to `create_sampling_session`. */
export const createSamplingSessionSchema: Schema<{ readonly sampling_session_id: string }> = z.object({
  sampling_session_id: z.string(),
});

/** The answer to `client/config`: the flags of the API's own client. */
export interface ClientConfig {
  /** True if the server prefers passes in protobuf. */
  readonly proto_write_fwdbwd?: boolean | null | undefined;
  /** True if one request waits for all samples of a sampler. */
  readonly sample_use_retrieve_futures?: boolean | null | undefined;
}

/** Reads a {@link ClientConfig}. */
export const clientConfigSchema: Schema<ClientConfig> = z.object({
  proto_write_fwdbwd: z.boolean().nullish(),
  sample_use_retrieve_futures: z.boolean().nullish(),
});

/** Reads the answer to `retrieve_futures`: the requests that have ended after a cursor, and the next cursor. */
export const completionsSchema: Schema<{
  readonly completions: readonly { readonly request_id: string }[];
  readonly cursor: number;
}> = z.object({ completions: z.array(z.object({ request_id: requestId })), cursor: z.int() });

/** The answer to `get_server_capabilities`. Few servers list their losses. */
export interface Capabilities {
  readonly supported_models: readonly { readonly model_name?: string | null | undefined }[];
  readonly supported_loss_fns?: readonly string[] | null | undefined;
}

/** Reads {@link Capabilities}. */
export const capabilitiesSchema: Schema<Capabilities> = z.object({
  supported_models: z.array(z.object({ model_name: z.string().nullish() })),
  supported_loss_fns: z.array(z.string()).nullish(),
});

/** The result of `optim_step`. */
export interface StepResult {
  readonly metrics?: Readonly<Record<string, number | null>> | null | undefined;
}

/** Reads a {@link StepResult}. */
export const stepResultSchema: Schema<StepResult> = z.object({
  metrics: z.record(z.string(), z.number().nullable()).nullish(),
});

/** Reads the result of `save_weights` and `save_weights_for_sampler`. */
export const savedSchema: Schema<{ readonly path: string }> = z.object({ path: z.string() });

/** Reads the answer to `weights_info`. The rank is undefined if every weight was trained. */
export const weightsInfoSchema: Schema<{ readonly lora_rank?: number | null | undefined }> = z.object({
  lora_rank: z.int().nullish(),
});

/** Reads an answer whose content does not matter. */
export const anySchema: Schema<unknown> = z.unknown();
