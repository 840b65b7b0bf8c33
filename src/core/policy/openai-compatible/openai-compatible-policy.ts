import type { Json } from "../../../contract/json.ts";
import type { PartType } from "../../../contract/message.ts";
import type { ActRequest, ActResult, Policy } from "../../../contract/policy.ts";
import { ModelServer } from "../serving/model-server.ts";
import { refusal } from "../serving/refusal.ts";
import type { ServingOptions } from "../serving/serving-options.ts";
import { withoutSecrets } from "../serving/without-secrets.ts";
import { apiUrl } from "./api-url.ts";
import { chatAnswer } from "./chat-answer.ts";
import { chatBody } from "./chat-request.ts";
import { completionAnswer } from "./completion-answer.ts";
import { completionBody } from "./completion-request.ts";
import { httpJson } from "./http-json.ts";
import { requestHeaders } from "./request-headers.ts";

/** Where a model is served, and what its server can do. */
export interface OpenAICompatibleOptions extends ServingOptions {
  /** Where the API begins, such as `http://127.0.0.1:8000/v1`. */
  readonly baseUrl: string;
  /** The model's name as the server has it. */
  readonly model: string;
  /**
   * `chat`, the default: `/chat/completions`, where the server applies the model's chat template. `completions`:
   * `/completions`, where the model goes on with the text of the messages, as base models are measured.
   */
  readonly endpoint?: "chat" | "completions";
  /** Sent as `Authorization: Bearer ...`. Stands in no error and no trace. */
  readonly apiKey?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** What the policy is called; the model's name by default. */
  readonly name?: string;
  /** What the model can read; text by default (earlier reasoning is accepted, and left out). */
  readonly accepts?: readonly PartType[];
  /**
   * Ask for the log-probability of each sampled token. False by default: some servers refuse it. An answer with those of
   * only some tokens is refused, and one without any with `policy.rejected`. `if-given` takes an answer without any.
   */
  readonly logprobs?: boolean | "if-given";
  /**
   * Ask for token ids too (vLLM's `return_token_ids`), to train on what was sampled. False by default. Asks for
   * log-probabilities as `logprobs: true` does, unless that is `if-given`.
   */
  readonly tokenIds?: boolean;
  /**
   * The server's log-probabilities are those after temperature and truncation (vLLM: `--logprobs-mode
   * processed_logprobs`). False by default: then only what was sampled greedily, or at temperature 1 without top-k,
   * top-p and min-p, comes with tokens to train on.
   */
  readonly processedLogprobs?: boolean;
  /** Further fields of the request's body, such as `{ chat_template_kwargs: { enable_thinking: false } }`. */
  readonly extraBody?: Readonly<Record<string, Json>>;
}

const endpoints = {
  chat: { path: "chat/completions", body: chatBody, answer: chatAnswer },
  completions: { path: "completions", body: completionBody, answer: completionAnswer },
} as const;

/**
 * The policy of a model behind a server that speaks OpenAI's protocol: vLLM, SGLang, llama.cpp, Ollama, TGI and
 * others. Sampling settings, stop strings, the seed and tools are the server's to heed; tool calls are its to parse.
 *
 * A failure that may pass (429, 5xx, network, a time limit, an answer that makes no sense) is tried again, after what
 * Retry-After asks, and in the end rejects with `policy.unavailable`; a missing or wrong key rejects at once with
 * `policy.unauthorized`, a prompt that does not fit with `policy.prompt-too-long`, another refusal with
 * `policy.rejected`. All of them leave an episode unscored. Throws `config.invalid` for options that cannot be.
 */
export function openAICompatiblePolicy(options: OpenAICompatibleOptions): Policy {
  const { model, name = model, logprobs = false, tokenIds = false, extraBody = {} } = options;
  const endpoint = endpoints[options.endpoint ?? "chat"];
  const url = apiUrl(options.baseUrl, endpoint.path);
  const headers = requestHeaders(options);
  const server = new ModelServer(name, options);
  const asked = logprobs === false ? tokenIds : logprobs;
  const ask = async (request: ActRequest, signal: AbortSignal): Promise<ActResult> => {
    const json = endpoint.body(request, { model, logprobs: asked !== false, tokenIds, extraBody });
    const answer = await httpJson({ url, headers, json, signal });
    if (answer.status !== 200) throw refusal(answer, { url, model });
    const tokensAreSampled = options.processedLogprobs === true || isPlain(request);
    return endpoint.answer(answer.body, { request, logprobs: asked, tokensAreSampled });
  };
  return {
    specificationVersion: "v1",
    name,
    accepts: options.accepts ?? ["text", "reasoning"],
    act: async (request) => {
      request.signal?.throwIfAborted();
      try {
        return await server.ask(request, (signal) => ask(request, signal));
      } catch (error) {
        throw withoutSecrets(error, options);
      }
    },
  };
}

/** Sampled from the model's own distribution, which is what servers report; a greedy choice is told at temperature 1. */
function isPlain({ sampling: { temperature, topK, topP, minP } }: ActRequest): boolean {
  if (temperature === 0) return true;
  return temperature === 1 && topK === undefined && topP === undefined && minP === undefined;
}
