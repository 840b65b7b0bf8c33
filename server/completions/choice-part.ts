import { textOf } from "../../src/contract/message.ts";
import type { SampledToken } from "../../src/contract/sampler.ts";
import type { SampledModel } from "../../src/core/policy/sampled-model.ts";
import { reasoningOf } from "../../src/core/tokens/assistant-text.ts";
import { createIncrementalDecoder, type IncrementalDecoder } from "../../src/core/tokens/incremental-decoder.ts";
import { withoutStartOf } from "../../src/core/tokens/settled-parts.ts";
import { type ChoiceToken, choiceToken } from "./choice-token.ts";
import type { Choice, ChoiceRequest } from "./sample-choices.ts";

/** A piece of a choice in a stream. The joined pieces are the choice. */
export interface ChoicePart {
  readonly index: number;
  readonly promptIds: readonly number[];
  /** True for the first piece of a choice. */
  readonly isFirst: boolean;
  readonly reasoning: string;
  readonly text: string;
  readonly tokens: readonly ChoiceToken[];
  /** The position of the first token's text in the texts of all tokens, in UTF-16 code units. */
  readonly offset: number;
  /** Present in the last piece. */
  readonly choice?: Choice;
}

const replacement = "\uFFFD";

/** Divides a choice into pieces while it is sampled: each has all that is settled when it is taken. */
export class ChoiceParts {
  readonly #index: number;
  readonly #promptIds: readonly number[];
  readonly #request: ChoiceRequest;
  readonly #decode: (ids: readonly number[]) => string;
  readonly #decoder: IncrementalDecoder;
  readonly #stopTokenIds: ReadonlySet<number>;
  #text = "";
  #waiting: ChoiceToken[] = [];
  #choice: Choice | undefined;
  #sent = { parts: 0, reasoning: 0, text: 0, tokens: 0, offset: 0 };

  constructor(options: { readonly index: number; readonly model: SampledModel; readonly request: ChoiceRequest }) {
    const { index, model, request } = options;
    this.#index = index;
    this.#request = request;
    this.#promptIds = request.prompts[Math.floor(index / request.count)]!;
    this.#decode = model.tokenizer.decode;
    this.#decoder = createIncrementalDecoder(model.tokenizer);
    this.#stopTokenIds = new Set([...request.renderer.stopTokenIds, ...request.stopTokenIds]);
  }

  /** Adds a sampled token. */
  add(sampled: SampledToken): void {
    const { renderer, topLogprobs } = this.#request;
    // A stop token ends the choice. It has no text.
    if (renderer.settledParts === undefined || this.#stopTokenIds.has(sampled.id)) return;
    // The finished sample may still have them. If it has none, the call fails.
    if (topLogprobs > 0 && sampled.topLogprobs === undefined) return;
    const token = choiceToken(this.#decoder, sampled, false);
    this.#text += token.text;
    this.#waiting.push(token);
  }

  /** Adds the finished choice. */
  end(choice: Choice): void {
    this.#choice = choice;
  }

  /** Returns what is settled and was not taken yet. Undefined if there is nothing. */
  take(): ChoicePart | undefined {
    const choice = this.#choice;
    if (choice !== undefined) {
      const { message } = choice.action;
      const parts = { reasoning: reasoningOf(message), text: textOf(message) };
      return { ...this.#part(parts, choice.tokens.slice(this.#sent.tokens)), choice };
    }
    const last = this.#waiting.at(-1);
    // The text of the last token of a choice includes an incomplete character.
    if (last === undefined || this.#decode([last.id]).endsWith(replacement)) return undefined;
    const settled = this.#request.renderer.settledParts!(this.#visibleText());
    const { reasoning, text: sent } = this.#sent;
    if (settled.reasoning.length <= reasoning && settled.text.length <= sent) return undefined;
    return this.#part(settled, this.#waiting);
  }

  /** The text before a stop sequence, or before its possible beginning at the end. */
  #visibleText(): string {
    const stops = this.#request.sampling.stop ?? [];
    const ends = stops.map((stop) => this.#text.indexOf(stop)).filter((at) => at >= 0);
    return ends.length > 0 ? this.#text.slice(0, Math.min(...ends)) : withoutStartOf(this.#text, stops);
  }

  #part(parts: { readonly reasoning: string; readonly text: string }, tokens: readonly ChoiceToken[]): ChoicePart {
    const sent = this.#sent;
    const length = tokens.reduce((sum, { text }) => sum + text.length, 0);
    this.#waiting = [];
    this.#sent = {
      parts: sent.parts + 1,
      reasoning: Math.max(sent.reasoning, parts.reasoning.length),
      text: Math.max(sent.text, parts.text.length),
      tokens: sent.tokens + tokens.length,
      offset: sent.offset + length,
    };
    return {
      index: this.#index,
      promptIds: this.#promptIds,
      isFirst: sent.parts === 0,
      reasoning: parts.reasoning.slice(sent.reasoning),
      text: parts.text.slice(sent.text),
      tokens,
      offset: sent.offset,
    };
  }
}
