import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { z } from "zod";
import { integers, listOf, recordOf } from "../../../src/core/network/list-schema.ts";
import { checkProtobufSize } from "../../../src/core/network/protobuf-size.ts";
import {
  type Datum as DatumMessage,
  DatumSchema,
  ForwardBackwardRequestSchema,
  type ProvenanceSpan,
  ProvenanceSpanSchema,
} from "../generated/tinker_public/tinker_public_pb.ts";
import { asInt32, bytesOf, intsOf, invalidBody } from "./bytes.ts";
import {
  DenseBudget,
  type TensorJson,
  type TinkerTensor,
  tensorFromJson,
  tensorFromMessage,
  tensorJsonSchema,
  tensorToJson,
  tensorToMessage,
} from "./tensor.ts";

/** The origin of a run of targets: a part of the prompt, or of the tokens, of a sequence that the server sampled. */
export interface TargetSpan {
  readonly source: "prompt" | "sampled";
  readonly sequenceId: string;
  /** The position of the first token in that prompt, or in those tokens. */
  readonly offset: number;
  readonly length: number;
}

/** One sequence to train on. The targets in `lossInputs` are already shifted: `target_tokens[t]` follows `tokens[t]`. */
export interface TinkerDatum {
  readonly tokens: Int32Array;
  /** By name: `target_tokens`, `weights`, `advantages`, `logprobs` and so on. */
  readonly lossInputs: Readonly<Record<string, TinkerTensor>>;
  /** The provenance of the targets: runs in their order. Only in protobuf. */
  readonly targetSpans?: readonly TargetSpan[] | undefined;
}

/** A request of `forward` or `forward_backward`, in either encoding. */
export interface PassRequest {
  readonly modelId: string;
  /** The request's place in the order of the model's requests. Undefined for old clients. */
  readonly seqId?: number | undefined;
  readonly lossName: string;
  readonly lossConfig: Readonly<Record<string, number | string>>;
  readonly data: readonly TinkerDatum[];
  /** True if no gradient is computed. */
  readonly forwardOnly: boolean;
}

/** The content type of the protobuf encoding. */
export const protobufType = "application/x-protobuf";

const chunkSchema = z.object({ type: z.string().default("encoded_text"), tokens: integers.optional() });

/** Checks the JSON form of a prompt or of the input of a datum. */
export const modelInputSchema: z.ZodType<{ chunks: { type: string; tokens?: number[] | undefined }[] }> = z.object({
  chunks: listOf(chunkSchema),
});

const inputSchema = z.object({
  data: listOf(z.object({ model_input: modelInputSchema, loss_fn_inputs: recordOf(tensorJsonSchema) })),
  loss_fn: z.string(),
  loss_fn_config: recordOf(z.union([z.number(), z.string()])).nullish(),
});

const requestSchema = z.object({
  model_id: z.string(),
  seq_id: z.int().nullish(),
  forward_input: inputSchema.optional(),
  forward_backward_input: inputSchema.optional(),
});

/** Returns a prompt of token ids, as JSON has it. */
export function promptToJson(tokens: Iterable<number>): z.output<typeof modelInputSchema> {
  return { chunks: [{ type: "encoded_text", tokens: [...tokens] }] };
}

/** Returns the token ids of a prompt. Throws `server.invalid-request` for images and audio. */
export function promptTokens(prompt: z.output<typeof modelInputSchema>): Int32Array {
  return Int32Array.from(
    prompt.chunks.flatMap(({ type, tokens }) => {
      if (type !== "encoded_text" || tokens === undefined) throw unsupportedChunk(type);
      return tokens;
    }),
    asInt32,
  );
}

/**
 * Reads the JSON body of `forward` or `forward_backward`. Throws `server.invalid-request`, or the error of the schema
 * (`ZodError`).
 */
export function passRequestFromJson(json: unknown): PassRequest {
  const body = requestSchema.parse(json);
  const input = body.forward_backward_input ?? body.forward_input;
  if (input === undefined) throw invalidBody("The body has neither forward_backward_input nor forward_input.");
  const budget = new DenseBudget();
  return {
    modelId: body.model_id,
    seqId: body.seq_id ?? undefined,
    lossName: input.loss_fn,
    lossConfig: input.loss_fn_config ?? {},
    data: input.data.map(({ model_input, loss_fn_inputs }) => ({
      tokens: promptTokens(model_input),
      lossInputs: mapValues(loss_fn_inputs, (tensor) => tensorFromJson(tensor, budget)),
    })),
    forwardOnly: body.forward_backward_input === undefined,
  };
}

/** The JSON body of `forward` or `forward_backward`. */
export type PassRequestJson = Readonly<Record<string, unknown>>;

/** Writes the JSON body: of `forward` if it is `forwardOnly`, else of `forward_backward`. */
export function passRequestToJson({
  modelId,
  seqId,
  lossName,
  lossConfig,
  data,
  forwardOnly,
}: PassRequest): PassRequestJson {
  const input = {
    data: data.map(({ tokens, lossInputs }) => ({
      model_input: promptToJson(tokens),
      loss_fn_inputs: mapValues<TinkerTensor, TensorJson>(lossInputs, tensorToJson),
    })),
    loss_fn: lossName,
    ...(Object.keys(lossConfig).length === 0 ? {} : { loss_fn_config: lossConfig }),
  };
  return { model_id: modelId, seq_id: seqId, [forwardOnly ? "forward_input" : "forward_backward_input"]: input };
}

/**
 * Reads the protobuf body of `forward_backward`. The provenance of the model's input is left out. Throws `server.invalid-request` for
 * bytes that are not this message, and for too many values. `checkModel` is called with the model's id before its
 * data become tensors, and may throw.
 */
export function passRequestFromBytes(bytes: Uint8Array, checkModel: (modelId: string) => void = () => {}): PassRequest {
  checkProtobufSize(ForwardBackwardRequestSchema, bytes);
  const message = decoded(bytes);
  checkModel(message.modelId);
  const config: Record<string, number | string> = { ...message.lossFnConfig };
  const budget = new DenseBudget();
  for (const [name, { value }] of Object.entries(message.lossFnConfigV2)) {
    if (value.case !== undefined) config[name] = value.value;
  }
  return {
    modelId: message.modelId,
    seqId: message.seqId === 0 ? undefined : message.seqId,
    lossName: message.lossFn,
    lossConfig: config,
    data: message.data.map(({ modelInput, lossFnInputs, lossFnInputSpans }) => ({
      tokens: tokensOf(modelInput),
      lossInputs: mapValues(lossFnInputs, (tensor) => tensorFromMessage(tensor, budget)),
      ...(lossFnInputSpans.length === 0 ? {} : { targetSpans: lossFnInputSpans.map(spanFromMessage) }),
    })),
    forwardOnly: message.forwardOnly,
  };
}

/** Writes the protobuf body of `forward_backward`. Numbers of the config are also in the older field. */
export function passRequestToBytes(request: PassRequest): Uint8Array<ArrayBuffer> {
  const numbers = Object.entries(request.lossConfig).filter(
    (entry): entry is [string, number] => typeof entry[1] === "number",
  );
  const message = create(ForwardBackwardRequestSchema, {
    modelId: request.modelId,
    seqId: request.seqId ?? 0,
    lossFn: request.lossName,
    lossFnConfig: Object.fromEntries(numbers),
    forwardOnly: request.forwardOnly,
    data: request.data.map(({ tokens, lossInputs, targetSpans = [] }) =>
      create(DatumSchema, {
        modelInput: [{ chunk: { case: "encodedText", value: { tokens: bytesOf(tokens) } } }],
        lossFnInputs: mapValues(lossInputs, tensorToMessage),
        lossFnInputSpans: targetSpans.map(spanToMessage),
      }),
    ),
  });
  for (const [name, value] of Object.entries(request.lossConfig)) {
    message.lossFnConfigV2[name] = {
      $typeName: "tinker_public.LossConfigValue",
      value: typeof value === "number" ? { case: "number", value } : { case: "text", value },
    };
  }
  return toBinary(ForwardBackwardRequestSchema, message);
}

function decoded(bytes: Uint8Array) {
  try {
    return fromBinary(ForwardBackwardRequestSchema, bytes);
  } catch (error) {
    throw invalidBody(`The body is not a ForwardBackwardRequest: ${(error as Error).message}`);
  }
}

function tokensOf(chunks: DatumMessage["modelInput"]): Int32Array {
  const parts = chunks.map(({ chunk }) => {
    if (chunk.case !== "encodedText") throw unsupportedChunk(chunk.case ?? "none");
    return intsOf(chunk.value.tokens);
  });
  return parts.length === 1 ? parts[0]! : Int32Array.from(parts.flatMap((part) => [...part]));
}

function spanFromMessage({ span }: ProvenanceSpan): TargetSpan {
  if (span.case === undefined) throw invalidBody("A provenance span has no origin.");
  const { sequenceId, offset, length } = span.value;
  if (offset < 0n || length < 0n) throw invalidBody("A provenance span has a negative offset or length.");
  const source = span.case === "sampledTokens" ? "sampled" : "prompt";
  return { source, sequenceId, offset: Number(offset), length: Number(length) };
}

function spanToMessage({ source, sequenceId, offset, length }: TargetSpan): ProvenanceSpan {
  const value = { sequenceId, offset: BigInt(offset), length: BigInt(length) };
  return create(ProvenanceSpanSchema, {
    span: source === "sampled" ? { case: "sampledTokens", value } : { case: "promptTokens", value },
  });
}

function unsupportedChunk(type: string) {
  return invalidBody(`A prompt has a chunk of type ${type}. Only token ids (encoded_text) are supported.`);
}

function mapValues<A, B>(values: Readonly<Record<string, A>>, map: (value: A) => B): Record<string, B> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, map(value)]));
}
