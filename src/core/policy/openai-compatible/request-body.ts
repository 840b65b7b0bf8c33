import type { Json } from "../../../contract/json.ts";
import type { ActRequest } from "../../../contract/policy.ts";

/** The body of a request, as JSON. */
export type RequestBody = Readonly<Record<string, unknown>>;

/** What is asked for beside what the request says. */
export interface BodyOptions {
  readonly model: string;
  readonly logprobs: boolean;
  readonly tokenIds: boolean;
  readonly extraBody: Readonly<Record<string, Json>>;
}

/**
 * How an answer is drawn, which both endpoints name alike. `top_k` and `min_p`, which OpenAI's protocol lacks, are sent
 * where they are set: vLLM, SGLang, llama.cpp and Ollama know them.
 */
export function samplingFields({ sampling, seed }: Pick<ActRequest, "sampling" | "seed">): RequestBody {
  const { temperature, maxTokens, topP, topK, minP, stop = [] } = sampling;
  return {
    temperature,
    max_tokens: maxTokens,
    // Servers keep a seed in 32 bits, some of them with a sign.
    seed: seed % 2 ** 31,
    ...(topP === undefined ? {} : { top_p: topP }),
    ...(topK === undefined ? {} : { top_k: topK }),
    ...(minP === undefined ? {} : { min_p: minP }),
    ...(stop.length === 0 ? {} : { stop }),
  };
}
