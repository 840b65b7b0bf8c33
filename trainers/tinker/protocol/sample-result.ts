import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { z } from "zod";
import { SampleResponseSchema, StopReason } from "../generated/tinker_public/tinker_public_pb.ts";
import { bytesOf, floatsOf, intsOf, invalidBody } from "./bytes.ts";

/** A sampled completion. */
export interface TinkerSequence {
  readonly tokens: Int32Array;
  /** One per token. */
  readonly logprobs?: Float32Array | undefined;
  readonly stopReason: "stop" | "length";
}

/** The result of `asample`, in either encoding. */
export interface SampleResult {
  readonly sequences: readonly TinkerSequence[];
  /** One per prompt token, NaN for the first, if they were asked for. */
  readonly promptLogprobs?: Float32Array | undefined;
}

const resultSchema = z.object({
  sequences: z.array(
    z.object({
      tokens: z.array(z.int()),
      logprobs: z.array(z.number()).nullish(),
      stop_reason: z.enum(["stop", "length"]),
    }),
  ),
  prompt_logprobs: z.array(z.number().nullable()).nullish(),
});

/** The JSON form of a {@link SampleResult}. */
export type SampleResultJson = z.input<typeof resultSchema>;

/** Reads a result from JSON. Throws `ZodError`. */
export function sampleResultFromJson(json: unknown): SampleResult {
  const { sequences, prompt_logprobs: prompt } = resultSchema.parse(json);
  return {
    sequences: sequences.map(({ tokens, logprobs, stop_reason }) => ({
      tokens: Int32Array.from(tokens),
      logprobs: logprobs === null || logprobs === undefined ? undefined : Float32Array.from(logprobs),
      stopReason: stop_reason,
    })),
    promptLogprobs:
      prompt === null || prompt === undefined ? undefined : Float32Array.from(prompt, (x) => x ?? Number.NaN),
  };
}

/** Writes a result as JSON. NaN becomes null. */
export function sampleResultToJson({ sequences, promptLogprobs }: SampleResult): SampleResultJson {
  return {
    sequences: sequences.map(({ tokens, logprobs, stopReason }) => ({
      tokens: [...tokens],
      logprobs: logprobs === undefined ? null : [...logprobs],
      stop_reason: stopReason,
    })),
    prompt_logprobs:
      promptLogprobs === undefined ? null : Array.from(promptLogprobs, (x) => (Number.isNaN(x) ? null : x)),
  };
}

/** Reads a result from protobuf. Throws `server.invalid-request` for bytes that are not this message. */
export function sampleResultFromBytes(bytes: Uint8Array): SampleResult {
  const message = decoded(bytes);
  return {
    sequences: message.sequences.map(({ tokens, logprobs, stopReason }) => ({
      tokens: intsOf(tokens),
      logprobs: logprobs === undefined ? undefined : floatsOf(logprobs),
      stopReason: stopReason === StopReason.LENGTH ? "length" : "stop",
    })),
    promptLogprobs: message.promptLogprobs === undefined ? undefined : floatsOf(message.promptLogprobs),
  };
}

/** Writes a result as protobuf. */
export function sampleResultToBytes({ sequences, promptLogprobs }: SampleResult): Uint8Array<ArrayBuffer> {
  const message = create(SampleResponseSchema, {
    sequences: sequences.map(({ tokens, logprobs, stopReason }) => ({
      tokens: bytesOf(tokens),
      stopReason: stopReason === "length" ? StopReason.LENGTH : StopReason.STOP,
      ...(logprobs === undefined ? {} : { logprobs: bytesOf(logprobs) }),
    })),
    ...(promptLogprobs === undefined ? {} : { promptLogprobs: bytesOf(promptLogprobs) }),
  });
  return toBinary(SampleResponseSchema, message);
}

function decoded(bytes: Uint8Array) {
  try {
    return fromBinary(SampleResponseSchema, bytes);
  } catch (error) {
    throw invalidBody(`The body is not a SampleResponse: ${(error as Error).message}`);
  }
}
