import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { z } from "zod";
import { integers, listOf, numbers } from "../../../src/core/network/list-schema.ts";
import { checkProtobufSize } from "../../../src/core/network/protobuf-size.ts";
import { SampleResponseSchema, StopReason } from "../generated/tinker_public/tinker_public_pb.ts";
import { bytesOf, floatsOf, intsOf, invalidBody } from "./bytes.ts";
import { type TargetLogprobs, targetLogprobsToJson, targetLogprobsToMessage } from "./prompt-targets.ts";
import type { TensorJson } from "./tensor.ts";

/** A sampled completion. */
export interface TinkerSequence {
  readonly tokens: Int32Array;
  /** One per token. */
  readonly logprobs?: Float32Array | undefined;
  readonly stopReason: "stop" | "length";
  /** Of each token, if they were asked for. Only written: Lyceum's client does not ask for them. */
  readonly topTokens?: TopTokens | undefined;
}

/** The most likely tokens at each place of a prompt or completion, likeliest first. */
export interface TopTokens {
  /** The number of tokens at each place. */
  readonly k: number;
  /** `k` for each place. A place without tokens has 0. */
  readonly ids: Int32Array;
  /** The logprobs of `ids`. A place without tokens has {@link noLogprob}. */
  readonly logprobs: Float32Array;
}

/** The value of the protocol for a place without a most likely token. */
export const noLogprob = -99_999;

/** The result of `asample`, in either encoding. */
export interface SampleResult {
  readonly sequences: readonly TinkerSequence[];
  /** One per prompt token, NaN for the first, if they were asked for. */
  readonly promptLogprobs?: Float32Array | undefined;
  /** Of each prompt token, if they were asked for. The first has none. */
  readonly topPromptTokens?: TopTokens | undefined;
  /** Of the ids that were asked for. Only written: Lyceum's client does not ask for them. */
  readonly targetPromptLogprobs?: TargetLogprobs | undefined;
}

const resultSchema = z.object({
  sequences: listOf(
    z.object({
      tokens: integers,
      logprobs: numbers.nullish(),
      stop_reason: z.enum(["stop", "length"]),
    }),
  ),
  prompt_logprobs: listOf(z.number().nullable()).nullish(),
  topk_prompt_logprobs: listOf(listOf(z.tuple([z.int(), z.number()])).nullable()).nullish(),
});

/** The JSON form of a {@link SampleResult}. */
export type SampleResultJson = z.input<typeof resultSchema> & {
  readonly target_prompt_logprobs?: TensorJson;
};

/** Reads a result from JSON. Throws `ZodError`. */
export function sampleResultFromJson(json: unknown): SampleResult {
  const { sequences, prompt_logprobs: prompt, topk_prompt_logprobs: top } = resultSchema.parse(json);
  return {
    sequences: sequences.map(({ tokens, logprobs, stop_reason }) => ({
      tokens: Int32Array.from(tokens),
      logprobs: logprobs === null || logprobs === undefined ? undefined : Float32Array.from(logprobs),
      stopReason: stop_reason,
    })),
    promptLogprobs:
      prompt === null || prompt === undefined ? undefined : Float32Array.from(prompt, (x) => x ?? Number.NaN),
    topPromptTokens: top === null || top === undefined ? undefined : topTokensOf(top),
  };
}

/** Writes a result as JSON. NaN becomes null. */
export function sampleResultToJson(result: SampleResult): SampleResultJson {
  const { sequences, promptLogprobs, topPromptTokens, targetPromptLogprobs } = result;
  return {
    sequences: sequences.map(({ tokens, logprobs, stopReason, topTokens }) => ({
      tokens: [...tokens],
      logprobs: logprobs === undefined ? null : [...logprobs],
      stop_reason: stopReason,
      ...(topTokens === undefined ? {} : { topk_logprobs: topTokenLists(topTokens) }),
    })),
    prompt_logprobs:
      promptLogprobs === undefined ? null : Array.from(promptLogprobs, (x) => (Number.isNaN(x) ? null : x)),
    topk_prompt_logprobs: topPromptTokens === undefined ? null : topTokenLists(topPromptTokens),
    ...(targetPromptLogprobs === undefined
      ? {}
      : { target_prompt_logprobs: targetLogprobsToJson(targetPromptLogprobs) }),
  };
}

/** Reads a result from protobuf. Throws `server.invalid-request` for bytes that are not this message. */
export function sampleResultFromBytes(bytes: Uint8Array): SampleResult {
  const message = decoded(bytes);
  const { topkPromptLogprobs: top } = message;
  return {
    sequences: message.sequences.map(({ tokens, logprobs, stopReason }) => ({
      tokens: intsOf(tokens),
      logprobs: logprobs === undefined ? undefined : floatsOf(logprobs),
      stopReason: stopReason === StopReason.LENGTH ? "length" : "stop",
    })),
    promptLogprobs: message.promptLogprobs === undefined ? undefined : floatsOf(message.promptLogprobs),
    topPromptTokens:
      top === undefined ? undefined : { k: top.k, ids: intsOf(top.tokenIds), logprobs: floatsOf(top.logprobs) },
  };
}

/** Writes a result as protobuf. */
export function sampleResultToBytes({
  sequences,
  promptLogprobs,
  topPromptTokens,
  targetPromptLogprobs,
}: SampleResult): Uint8Array<ArrayBuffer> {
  const message = create(SampleResponseSchema, {
    sequences: sequences.map(({ tokens, logprobs, stopReason, topTokens }) => ({
      tokens: bytesOf(tokens),
      stopReason: stopReason === "length" ? StopReason.LENGTH : StopReason.STOP,
      ...(logprobs === undefined ? {} : { logprobs: bytesOf(logprobs) }),
      ...(topTokens === undefined ? {} : { topkSampledLogprobs: topTokenMatrices(topTokens) }),
    })),
    ...(promptLogprobs === undefined ? {} : { promptLogprobs: bytesOf(promptLogprobs) }),
    ...(topPromptTokens === undefined ? {} : { topkPromptLogprobs: topTokenMatrices(topPromptTokens) }),
    ...(targetPromptLogprobs === undefined
      ? {}
      : { targetPromptLogprobs: targetLogprobsToMessage(targetPromptLogprobs) }),
  });
  return toBinary(SampleResponseSchema, message);
}

function topTokenMatrices({ k, ids, logprobs }: TopTokens) {
  return { tokenIds: bytesOf(ids), logprobs: bytesOf(logprobs), k, length: ids.length / k };
}

function topTokenLists({ k, ids, logprobs }: TopTokens): ([number, number][] | null)[] {
  return Array.from({ length: ids.length / k }, (_, place) => {
    if (logprobs[place * k] === noLogprob) return null;
    const list = Array.from({ length: k }, (_, i): [number, number] => [ids[place * k + i]!, logprobs[place * k + i]!]);
    return list.filter(([, logprob]) => logprob !== noLogprob);
  });
}

/** The maximum number of likely tokens of one result: 32,768 places with the 1,000 tokens of the largest request. */
const maxTopTokens = 2 ** 25;

/**
 * Lays out lists of at most `k` ids with their logprobs. By default `k` is the length of the longest list. Throws
 * `server.invalid-request` for more than a result may have.
 */
export function topTokensOf(
  lists: readonly (readonly (readonly [id: number, logprob: number])[] | null)[],
  k: number = lists.reduce((longest, list) => Math.max(longest, list?.length ?? 0), 0),
): TopTokens {
  if (lists.length * k > maxTopTokens) throw invalidBody(`It has ${k} likely tokens at ${lists.length} places.`);
  const padded = lists.flatMap((list) => Array.from({ length: k }, (_, i) => list?.[i] ?? ([0, noLogprob] as const)));
  return {
    k,
    ids: Int32Array.from(padded, ([id]) => id),
    logprobs: Float32Array.from(padded, ([, logprob]) => logprob),
  };
}

function decoded(bytes: Uint8Array) {
  checkProtobufSize(SampleResponseSchema, bytes);
  try {
    return fromBinary(SampleResponseSchema, bytes);
  } catch (error) {
    throw invalidBody(`The body is not a SampleResponse: ${(error as Error).message}`);
  }
}
