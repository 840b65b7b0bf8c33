import { isTruncated, type Sample, type SampledToken, type SampleRequest } from "../../contract/sampler.ts";
import { encodeSupport, type TokenSupport } from "../../contract/token-support.ts";
import { createRandom, type Random } from "../random/random.ts";
import { createIncrementalDecoder, type IncrementalDecoder } from "../tokens/incremental-decoder.ts";
import type { Tokenizer } from "../tokens/tokenizer.ts";
import { greatest } from "./greatest.ts";
import { chooseToken, type TokenChoice } from "./token-choice.ts";

/** A sampled token, and the most likely ones with their logprobs if they were asked for. */
export interface SampledChoice extends TokenChoice {
  readonly top?: readonly (readonly [id: number, logprob: number])[];
}

/** A completion during sampling. */
export class Completion {
  readonly request: SampleRequest;
  readonly index: number;
  /** Becomes {@link Sample.reusedTokens}. */
  reusedTokens = 0;
  readonly #maxTokens: number;
  readonly #random: Random;
  readonly #ids: number[] = [];
  readonly #logprobs: number[] = [];
  readonly #supports: TokenSupport[] | undefined;
  readonly #topLogprobs: (readonly (readonly [id: number, logprob: number])[])[] | undefined;
  readonly #values: number[] = [];
  readonly #decoder: IncrementalDecoder | undefined;
  readonly #onToken: ((token: SampledToken) => void) | undefined;
  #text = "";
  #stopString: string | undefined;
  /** How the completion ends. Set when its last token is sampled. */
  #end: Sample["finish"] | undefined;

  /**
   * `tokenizer` is required only for stop sequences. Prompt and completion together have at most `maxLength` tokens.
   * `onToken` is called with each sampled token.
   */
  constructor(options: {
    readonly request: SampleRequest;
    readonly index: number;
    readonly tokenizer: Tokenizer | undefined;
    readonly maxLength: number;
    readonly onToken?: ((token: SampledToken) => void) | undefined;
  }) {
    const { promptIds, settings } = options.request;
    this.#maxTokens = Math.min(settings.maxTokens, options.maxLength - promptIds.length);
    this.request = options.request;
    this.index = options.index;
    this.#onToken = options.onToken;
    this.#random = createRandom(options.request.seed);
    this.#supports = settings.supports === true && isTruncated(settings) ? [] : undefined;
    this.#topLogprobs = (options.request.topLogprobs ?? 0) > 0 ? [] : undefined;
    const stops = options.request.settings.stop ?? [];
    this.#decoder = stops.length === 0 ? undefined : createIncrementalDecoder(options.tokenizer!);
  }

  /** The last sampled token, which is the next input. */
  get lastId(): number {
    return this.#ids.at(-1)!;
  }

  /**
   * Samples one token from probabilities. Returns the finished sample after the last token. If `value` (the value of
   * the state) is given, the sample is finished by one more call, which only adds the value of the state after the last
   * token.
   */
  advance(probabilities: Float32Array, value?: number): Sample | undefined {
    const step = { value, vocabularySize: probabilities.length };
    if (this.#end !== undefined) return this.take(undefined, step);
    const { settings, topLogprobs: k } = this.request;
    const choice = chooseToken(probabilities, settings, this.#random.next());
    const top = this.#topLogprobs && topLogprobs(probabilities, choice.kept, k!);
    return this.take(top === undefined ? choice : { ...choice, top }, step);
  }

  /**
   * Adds a token that was sampled elsewhere, as {@link advance} adds its own. `choice` is undefined if only the value of
   * the state after the last token is added.
   */
  take(
    choice: SampledChoice | undefined,
    { value, vocabularySize }: { readonly value: number | undefined; readonly vocabularySize: number },
  ): Sample | undefined {
    if (value !== undefined) this.#values.push(value);
    if (this.#end !== undefined) return this.#finish(this.#end);
    const { id, logprob, kept, top } = choice!;
    this.#ids.push(id);
    this.#logprobs.push(logprob);
    if (this.#topLogprobs !== undefined) this.#topLogprobs.push(top ?? []);
    const reported = this.#topLogprobs === undefined ? {} : { topLogprobs: top ?? [] };
    this.#onToken?.({ request: this.index, id, logprob, ...reported });
    this.#supports?.push(kept === undefined ? null : encodeSupport(kept, vocabularySize));
    if (this.request.stopTokenIds.includes(id) || this.#reachesStopString(id)) this.#end = "stop";
    else if (this.#ids.length >= this.#maxTokens) this.#end = "length";
    return this.#end === undefined || value !== undefined ? undefined : this.#finish(this.#end);
  }

  #reachesStopString(id: number): boolean {
    if (this.#decoder === undefined) return false;
    const stops = this.request.settings.stop!;
    const longest = Math.max(...stops.map((stop) => stop.length));
    const fresh = this.#decoder.push(id);
    this.#text = this.#text.slice(-longest) + fresh;
    // One token may complete several stop sequences. The text is cut at the one that begins first.
    const begins = (stop: string): number => this.#text.indexOf(stop);
    const reached = stops.filter((stop) => begins(stop) !== -1).sort((a, b) => begins(a) - begins(b));
    this.#stopString = reached[0];
    return reached.length > 0;
  }

  #finish(finish: Sample["finish"]): Sample {
    return {
      request: this.index,
      ids: this.#ids,
      logprobs: this.#logprobs,
      ...(this.#supports === undefined ? {} : { supports: this.#supports }),
      ...(this.#topLogprobs === undefined ? {} : { topLogprobs: this.#topLogprobs }),
      ...(this.#values.length === 0 ? {} : { values: this.#values }),
      finish,
      ...(this.#stopString === undefined ? {} : { stopString: this.#stopString }),
      ...(this.reusedTokens === 0 ? {} : { reusedTokens: this.reusedTokens }),
    };
  }
}

/** Returns the k most likely ids with their logprobs. If `kept` is given, only these ids are in the distribution. */
function topLogprobs(
  probabilities: Float32Array,
  kept: Uint32Array | undefined,
  k: number,
): (readonly [id: number, logprob: number])[] {
  const total = kept?.reduce((sum, id) => sum + probabilities[id]!, 0) ?? 1;
  const ids = kept?.subarray(0, k) ?? greatest(probabilities, k);
  return Array.from(ids, (id) => [id, Math.log(probabilities[id]! / total)] as const);
}
