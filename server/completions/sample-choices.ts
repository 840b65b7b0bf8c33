import { randomInt } from "node:crypto";
import type { Action } from "../../src/contract/action.ts";
import { LyceumError } from "../../src/contract/errors/index.ts";
import type { ToolSpec } from "../../src/contract/message.ts";
import type { Sample, SampleOptions, SampleRequest, SamplingSettings } from "../../src/contract/sampler.ts";
import type { SampledModel } from "../../src/core/policy/sampled-model.ts";
import { createIncrementalDecoder } from "../../src/core/tokens/incremental-decoder.ts";
import type { Renderer } from "../../src/core/tokens/renderer.ts";
import type { Tokenizer } from "../../src/core/tokens/tokenizer.ts";
import { type ChoiceToken, choiceToken } from "./choice-token.ts";

/** A request to sample: prompts of token ids, and settings for all choices. */
export interface ChoiceRequest {
  readonly prompts: readonly (readonly number[])[];
  /** The number of choices of each prompt. */
  readonly count: number;
  /** The default temperature is 1. By default a completion may fill the model's maximum length. */
  readonly sampling: Partial<SamplingSettings>;
  /** The seed of the first choice. Each further choice adds 1. A random seed by default. */
  readonly seed?: number | undefined;
  /** Token ids that end a completion, in addition to those of the renderer. */
  readonly stopTokenIds: readonly number[];
  /** The number of most likely tokens to report with each token. */
  readonly topLogprobs: number;
  /** Parses the completions. */
  readonly renderer: Renderer;
  /** The tools of the prompts. */
  readonly tools?: readonly ToolSpec[] | undefined;
}

/** A completion. */
export interface Choice {
  /** The index among the choices of all prompts, those of the first prompt first. */
  readonly index: number;
  readonly promptIds: readonly number[];
  readonly action: Action;
  readonly sample: Sample;
  /** The sampled tokens with their texts. */
  readonly tokens: readonly ChoiceToken[];
}

/** The maximum number of choices of one request. */
export const maxChoices = 4096;

/**
 * Samples the choices of a request. Yields them in the order in which they finish. Throws `policy.prompt-too-long`,
 * `server.invalid-request` for an empty prompt and for more than 4,096 choices, and `policy.unsupported-input` if the
 * sampler does not report the most likely tokens.
 */
export async function* sampleChoices(
  { sampler, tokenizer, maxLength }: SampledModel,
  { prompts, count, sampling, seed = randomInt(2 ** 31), stopTokenIds, topLogprobs, renderer, tools }: ChoiceRequest,
  options: Pick<SampleOptions, "signal" | "onSampled">,
): AsyncGenerator<Choice> {
  if (prompts.length * count > maxChoices) throw tooManyChoices(prompts.length * count);
  const stops = [...renderer.stopTokenIds, ...stopTokenIds];
  const requests = prompts.flatMap((promptIds, prompt) => {
    const room = maxLength - promptIds.length;
    if (promptIds.length === 0) throw emptyPrompt();
    if (room <= 0) throw promptTooLong(promptIds.length, maxLength);
    const maxTokens = Math.min(sampling.maxTokens ?? room, room);
    const settings = { temperature: 1, ...sampling, maxTokens };
    const shared = { promptIds, settings, stopTokenIds: stops, ...(topLogprobs > 0 ? { topLogprobs } : {}) };
    return Array.from({ length: count }, (_, i): SampleRequest => {
      return { ...shared, seed: (seed + prompt * count + i) % 2 ** 31 };
    });
  });
  for await (const sample of sampler.sample(requests, options)) {
    const { ids, finish, stopString } = sample;
    if (topLogprobs > 0 && sample.topLogprobs === undefined) throw noTopLogprobs();
    yield {
      index: sample.request,
      promptIds: requests[sample.request]!.promptIds,
      action: renderer.parse({
        // The renderer removes only its own stop ids.
        ids: stopTokenIds.includes(ids.at(-1)!) ? ids.slice(0, -1) : ids,
        finish,
        ...(stopString === undefined ? {} : { stopString }),
        ...(tools === undefined ? {} : { tools }),
      }),
      sample,
      tokens: tokensOf(tokenizer, sample),
    };
  }
}

function tokensOf(tokenizer: Tokenizer, { ids, logprobs, topLogprobs }: Sample): ChoiceToken[] {
  const decoder = createIncrementalDecoder(tokenizer);
  return ids.map((id, i) => {
    const top = topLogprobs === undefined ? {} : { topLogprobs: topLogprobs[i]! };
    return choiceToken(decoder, { id, logprob: logprobs[i]!, ...top }, i === ids.length - 1);
  });
}

function noTopLogprobs(): LyceumError {
  return new LyceumError({
    code: "policy.unsupported-input",
    message: "The sampler of this model does not report the most likely tokens.",
    hint: "Omit top_logprobs from chats, and set logprobs to 0 for texts.",
  });
}

function tooManyChoices(count: number): LyceumError {
  return new LyceumError({
    code: "server.invalid-request",
    message: `The request asks for ${count} choices, but one request has at most ${maxChoices}.`,
    hint: "Send fewer prompts in a request, or lower n.",
  });
}

function emptyPrompt(): LyceumError {
  return new LyceumError({
    code: "server.invalid-request",
    message: "The prompt has no tokens.",
    hint: "Send at least one token or message.",
  });
}

function promptTooLong(promptLength: number, maxLength: number): LyceumError {
  return new LyceumError({
    code: "policy.prompt-too-long",
    message: `The prompt has ${promptLength} tokens, but the model accepts ${maxLength} including the answer.`,
    hint: "Send a shorter prompt.",
    data: { promptLength, maxLength },
  });
}
