import type { Json } from "../../../contract/json.ts";
import type { ActRequest } from "../../../contract/policy.ts";

/** The body of a request, as JSON. */
export type RequestBody = Readonly<Record<string, unknown>>;

/** The names of the field with the maximum number of tokens. */
export type MaxTokensField = "max_tokens" | "max_completion_tokens";

/** The names of the field of a message with its reasoning. */
export type ReasoningField = "reasoning_content" | "reasoning";

/** The settings of a request's body besides those of the request itself. */
export interface BodyOptions {
  readonly model: string;
  readonly logprobs: boolean;
  readonly tokenIds: boolean;
  readonly maxTokensField: MaxTokensField;
  readonly omit: readonly string[];
  /** The field of earlier answers with their reasoning. */
  readonly reasoningField?: ReasoningField | undefined;
  readonly extraBody: Readonly<Record<string, Json>>;
}

/**
 * Returns the sampling fields of a request. Both endpoints use the same names. `top_k` and `min_p` are not in OpenAI's
 * protocol. They are sent if they are set, and vLLM, SGLang, llama.cpp and Ollama support them.
 */
function samplingFields(
  { sampling, seed }: Pick<ActRequest, "sampling" | "seed">,
  maxTokensField: MaxTokensField,
): RequestBody {
  const { temperature, maxTokens, topP, topK, minP, stop = [] } = sampling;
  return {
    temperature,
    [maxTokensField]: maxTokens,
    // Servers store seeds in 32 bits, some of them signed.
    seed: seed % 2 ** 31,
    top_p: topP,
    top_k: topK,
    min_p: minP,
    ...(stop.length === 0 ? {} : { stop }),
  };
}

/** Adds the sampling fields and those of the options to the fields of an endpoint, without the ones to leave out. */
export function requestBody(
  own: RequestBody,
  request: Pick<ActRequest, "sampling" | "seed">,
  { model, maxTokensField, omit, tokenIds, extraBody }: BodyOptions,
): RequestBody {
  const all = {
    model,
    ...samplingFields(request, maxTokensField),
    ...own,
    ...(tokenIds ? { return_token_ids: true } : {}),
    ...extraBody,
  };
  return Object.fromEntries(Object.entries(all).filter(([field]) => !omit.includes(field)));
}
