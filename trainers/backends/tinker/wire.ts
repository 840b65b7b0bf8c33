import { z } from "zod";

/** The JSON encoding of the Tinker API: the answers that the client reads. Unknown keys are ignored. */

/** The answer to every request whose result is computed later. */
export interface WirePromise {
  readonly request_id: string;
}

/** A schema that reads an answer. */
type Schema<T> = z.ZodType<T>;

const requestId = z.union([z.string(), z.number()]).transform(String);

/** Reads a {@link WirePromise}. */
export const promiseSchema: Schema<WirePromise> = z.object({ request_id: requestId });

/** Reads the answer to `create_model`. */
export const createModelSchema: Schema<WirePromise & { readonly model_id: string }> = z.object({
  request_id: requestId,
  model_id: z.string(),
});

/** Reads the answer to `create_session`. */
export const createSessionSchema: Schema<{ readonly session_id: string }> = z.object({ session_id: z.string() });

/** Reads the answer to `create_sampling_session`. */
export const createSamplingSessionSchema: Schema<{ readonly sampling_session_id: string }> = z.object({
  sampling_session_id: z.string(),
});

/** Reads the answer to `client/config`: the flags of the API's own client. */
export const clientConfigSchema: Schema<{ readonly proto_write_fwdbwd?: boolean | null | undefined }> = z.object({
  proto_write_fwdbwd: z.boolean().nullish(),
});

/** The answer to `get_server_capabilities`. Few servers list their losses. */
export interface WireCapabilities {
  readonly supported_models: readonly { readonly model_name?: string | null | undefined }[];
  readonly supported_loss_fns?: readonly string[] | null | undefined;
}

/** Reads {@link WireCapabilities}. */
export const capabilitiesSchema: Schema<WireCapabilities> = z.object({
  supported_models: z.array(z.object({ model_name: z.string().nullish() })),
  supported_loss_fns: z.array(z.string()).nullish(),
});

/** The result of `forward` and `forward_backward`: one output per datum. */
export interface WirePassResult {
  readonly loss_fn_outputs: readonly { readonly logprobs: { readonly data: readonly number[] } }[];
}

const passResultSchema = z.object({
  loss_fn_outputs: z.array(z.object({ logprobs: z.object({ data: z.array(z.number()) }) })),
});

/** Reads a {@link WirePassResult} for data with these numbers of targets. */
export function passResultOf(lengths: readonly number[]): Schema<WirePassResult> {
  return passResultSchema.refine(
    ({ loss_fn_outputs: outputs }) =>
      outputs.length === lengths.length && outputs.every(({ logprobs }, i) => logprobs.data.length === lengths[i]),
    { message: "its log-probabilities do not fit the data that were sent", path: ["loss_fn_outputs"] },
  );
}

/** The result of `optim_step`. */
export interface WireStepResult {
  readonly metrics?: Readonly<Record<string, number | null>> | null | undefined;
}

/** Reads a {@link WireStepResult}. */
export const stepResultSchema: Schema<WireStepResult> = z.object({
  metrics: z.record(z.string(), z.number().nullable()).nullish(),
});

/** Reads the result of `save_weights` and `save_weights_for_sampler`. */
export const savedSchema: Schema<{ readonly path: string }> = z.object({ path: z.string() });

/** The result of `asample`. */
export interface WireSampleResult {
  readonly sequences: readonly {
    readonly tokens: readonly number[];
    readonly logprobs?: readonly number[] | null | undefined;
    readonly stop_reason: "stop" | "length";
  }[];
}

/** Reads a {@link WireSampleResult}. */
export const sampleResultSchema: Schema<WireSampleResult> = z.object({
  sequences: z.array(
    z.object({
      tokens: z.array(z.int()),
      logprobs: z.array(z.number()).nullish(),
      stop_reason: z.enum(["stop", "length"]),
    }),
  ),
});

/** Reads a result whose content does not matter. */
export const anySchema: Schema<unknown> = z.unknown();

/** One sequence to train on. The targets are already shifted. */
export interface WireDatum {
  readonly model_input: WirePrompt;
  readonly loss_fn_inputs: Readonly<Record<string, WireTensor>>;
}

/** The tokens that the model reads. */
export interface WirePrompt {
  readonly chunks: readonly { readonly type: "encoded_text"; readonly tokens: readonly number[] }[];
}

/** A tensor of one dimension. */
export interface WireTensor {
  readonly data: readonly number[];
  readonly dtype: "float32" | "int64";
  readonly shape: readonly number[];
}

/** Returns a prompt of token ids. */
export function wirePrompt(tokens: Iterable<number>): WirePrompt {
  return { chunks: [{ type: "encoded_text", tokens: [...tokens] }] };
}

/** Returns a tensor of token ids. */
export function idTensor(values: Int32Array): WireTensor {
  return { data: [...values], dtype: "int64", shape: [values.length] };
}

/** Returns a tensor of numbers. */
export function floatTensor(values: Float32Array): WireTensor {
  return { data: [...values], dtype: "float32", shape: [values.length] };
}
