import { z } from "zod";
import { integers } from "../../src/core/network/list-schema.ts";
import type { SampledModel } from "../../src/core/policy/sampled-model.ts";
import type { StreamEvent } from "../capture/dialects/dialect.ts";
import type { ChoicePart } from "./choice-part.ts";
import type { Choice, ChoiceRequest } from "./sample-choices.ts";

/** At least one choice. */
export type Choices = readonly [Choice, ...Choice[]];

/** A call of an endpoint: the request to sample, and the form of the endpoint's answers. */
export interface CompletionCall {
  /** The name of the model. */
  readonly model: string;
  readonly stream: boolean;
  /** Returns the request to sample. Throws the errors of rendering the prompt. */
  request(model: SampledModel): ChoiceRequest;
  /** Returns the body of the answer with all choices in order. */
  answer(choices: Choices): unknown;
  /** Returns the events of a piece of a choice in a stream. */
  partEvents(part: ChoicePart): readonly StreamEvent[];
  /** Returns the events that end a stream. */
  endEvents(choices: Choices): readonly StreamEvent[];
}

/** The number of most likely tokens of a request. 20 is the limit of OpenAI's chats, and of vLLM at both endpoints. */
export const topCount: z.ZodType<number | null | undefined> = z.int().min(0).max(20).nullish();

/** The fields of both endpoints besides those of the dialects. `stop_token_ids` is vLLM's. */
export const choiceShape: {
  readonly n: z.ZodType<number | null | undefined>;
  readonly stop_token_ids: z.ZodType<readonly number[] | null | undefined>;
} = {
  n: z.int().min(1).max(128).nullish(),
  stop_token_ids: integers
    .refine((ids) => ids.length <= 1024 && ids.every((id) => id >= 0), "expected at most 1,024 token ids")
    .nullish(),
};
