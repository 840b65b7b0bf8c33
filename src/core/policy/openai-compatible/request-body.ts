import type { Json } from "../../../contract/json.ts";
import type { ActRequest } from "../../../contract/policy.ts";

/** The body of a request, as JSON. */
export type RequestBody = Readonly<Record<string, unknown>>;

/** The settings of a request's body besides those of the request itself. */
export interface BodyOptions {
  readonly model: string;
  readonly logprobs: boolean;
  readonly tokenIds: boolean;
  readonly extraBody: Readonly<Record<string, Json>>;
}

/**
 * Returns the sampling fields of a request. Both endpoints use the same names. `top_k` and `min_p` are not in OpenAI's
 * protocol. They are sent if they are set, and vLLM, SGLang, llama.cpp and Ollama support them.
 */
export function samplingFields({ sampling, seed }: Pick<ActRequest, "sampling" | "seed">): RequestBody {
  const { temperature, maxTokens, topP, topK, minP, stop = [] } = sampling;
  return {
    temperature,
    max_tokens: maxTokens,
    // Servers store seeds in 32 bits, some of them signed.
    seed: seed % 2 ** 31,
    top_p: topP,
    top_k: topK,
    min_p: minP,
    ...(stop.length === 0 ? {} : { stop }),
  };
}
