import { LyceumError } from "../../../contract/errors/index.ts";
import type { Json } from "../../../contract/json.ts";
import type { PartType } from "../../../contract/message.ts";
import type { ActRequest, Policy } from "../../../contract/policy.ts";
import { refusal } from "../serving/refusal.ts";
import { RequestFailure } from "../serving/request-failure.ts";
import { type ServedResult, servedPolicy } from "../serving/served-policy.ts";
import type { ServingOptions } from "../serving/serving-options.ts";
import { contentFiltered } from "../serving/unusable-answer.ts";
import { blocksPrompt, errorStatus, parseBody } from "./answer-body.ts";
import { apiUrl } from "./api-url.ts";
import { chatAnswer } from "./chat-answer.ts";
import { chatBody } from "./chat-request.ts";
import { completionAnswer } from "./completion-answer.ts";
import { completionBody } from "./completion-request.ts";
import { httpJson } from "./http-json.ts";
import { requestHeaders } from "./request-headers.ts";

/** The options of {@link openAICompatiblePolicy}. */
export interface OpenAICompatibleOptions extends ServingOptions {
  /** The base URL of the API, such as `http://127.0.0.1:8000/v1`. */
  readonly baseUrl: string;
  /** The name of the model on the server. */
  readonly model: string;
  /**
   * `chat` (the default) uses `/chat/completions`: the server applies the model's chat template. `completions` uses
   * `/completions`: the model continues the text of the messages, as in evaluations of base models.
   */
  readonly endpoint?: "chat" | "completions";
  /** Sent as `Authorization: Bearer ...`. It never appears in errors or traces. */
  readonly apiKey?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The name of the policy. The model's name by default. */
  readonly name?: string;
  /** The part types that the model accepts. Text by default. */
  readonly accepts?: readonly PartType[];
  /**
   * Requests the logprob of each sampled token. False by default, because some servers reject it. An answer with
   * logprobs for only some tokens is an error. An answer without any fails with `policy.rejected`, or is accepted with
   * `if-given`.
   */
  readonly logprobs?: boolean | "if-given";
  /**
   * Requests token ids too (vLLM's `return_token_ids`), which training on the sampled tokens needs. False by default.
   * Implies `logprobs: true`, unless `logprobs` is `if-given`.
   */
  readonly tokenIds?: boolean;
  /**
   * True if the server's logprobs are computed after temperature and truncation (vLLM: `--logprobs-mode
   * processed_logprobs`). False by default. Actions then have tokens to train on only if they were sampled greedily, or
   * at temperature 1 without top-k, top-p and min-p.
   */
  readonly processedLogprobs?: boolean;
  /**
   * The field with the maximum number of tokens. By default `max_tokens`, and `max_completion_tokens` once the server
   * asks for it, as for gpt-5 and the o-series.
   */
  readonly maxTokensField?: "max_tokens" | "max_completion_tokens";
  /**
   * Fields of the request to leave out, such as `["temperature"]`, for models that refuse them. The server's default
   * then applies. None by default.
   */
  readonly omit?: readonly string[];
  /**
   * The field of earlier assistant messages in which their reasoning is sent, for servers whose chat template or API
   * asks for it, such as `reasoning_content` for DeepSeek, Kimi, GLM and Qwen with preserved thinking. By default,
   * earlier reasoning is not sent: most models are trained without it, and some servers refuse the field.
   */
  readonly reasoningField?: "reasoning_content" | "reasoning";
  /** Further fields of the request's body, such as `{ chat_template_kwargs: { enable_thinking: false } }`. */
  readonly extraBody?: Readonly<Record<string, Json>>;
}

/** The fields without which there is no request. */
const neededFields: readonly string[] = ["model", "messages", "prompt"];

const endpoints = {
  chat: { path: "chat/completions", body: chatBody, answer: chatAnswer },
  completions: { path: "completions", body: completionBody, answer: completionAnswer },
} as const;

/**
 * Creates the policy of a model behind an OpenAI-compatible server: vLLM, SGLang, llama.cpp, Ollama, TGI and others.
 * The server applies sampling settings, stop sequences, the seed and tools, and parses tool calls.
 *
 * Transient failures (429, 5xx, network, timeout, malformed answer) are retried, after the time of Retry-After if there
 * is one. After the last retry, `act` rejects with `policy.unavailable`. It rejects immediately with
 * `policy.unauthorized` for a missing or wrong API key, `policy.prompt-too-long` for a prompt that does not fit the
 * context, and `policy.rejected` for other rejections. All of these make an episode unscored. Throws `config.invalid`
 * if options are invalid.
 *
 * @example
 * import { openAICompatiblePolicy } from "lyceum";
 * const policy = openAICompatiblePolicy({
 *   baseUrl: "http://127.0.0.1:8000/v1",
 *   model: "Qwen/Qwen3-0.6B",
 *   extraBody: { chat_template_kwargs: { enable_thinking: false } },
 * });
 * policy.name; // => "Qwen/Qwen3-0.6B"
 */
export function openAICompatiblePolicy(options: OpenAICompatibleOptions): Policy {
  const {
    model,
    name = model,
    logprobs = false,
    tokenIds = false,
    extraBody = {},
    omit = [],
    reasoningField,
  } = options;
  let maxTokensField = options.maxTokensField ?? "max_tokens";
  const endpoint = endpoints[options.endpoint ?? "chat"];
  const url = apiUrl(options.baseUrl, endpoint.path);
  const headers = requestHeaders(options);
  const asked = logprobs === false ? tokenIds : logprobs;
  const needed = omit.find((field) => neededFields.includes(field));
  if (needed !== undefined) {
    throw new LyceumError({
      code: "config.invalid",
      message: `A request needs the field ${needed}, so omit cannot have it.`,
      hint: "Leave out fields such as temperature, seed or max_tokens.",
    });
  }
  if (reasoningField !== undefined && options.endpoint === "completions") {
    throw new LyceumError({
      code: "config.invalid",
      message: "The endpoint completions sends no messages, so earlier reasoning has no field.",
      hint: "Leave out reasoningField, or use the endpoint chat.",
    });
  }
  return servedPolicy({ ...options, name }, async (request, signal) => {
    const send = async (): Promise<ServedResult> => {
      const body = { model, logprobs: asked !== false, tokenIds, extraBody, maxTokensField, omit, reasoningField };
      const json = endpoint.body(request, body);
      const fields = Object.keys(json).filter((field) => !neededFields.includes(field));
      const answer = await httpJson({ url, headers, json, signal });
      if (answer.status < 200 || answer.status > 299) throw refusal(answer, { url, model, fields });
      const value = parseBody(answer.body);
      const status = errorStatus(value);
      if (status !== undefined) throw refusal({ ...answer, status }, { url, model, fields });
      if (blocksPrompt(value)) throw contentFiltered("blocked the prompt");
      const tokensAreSampled = options.processedLogprobs === true || isPlain(request, omit);
      return endpoint.answer(value, { request, logprobs: asked, tokensAreSampled });
    };
    const used = maxTokensField;
    try {
      return await send();
    } catch (error) {
      if (options.maxTokensField !== undefined || used !== "max_tokens" || !wantsOtherName(error)) throw error;
      // The same limit under its newer name, which changes nothing that is sampled.
      maxTokensField = "max_completion_tokens";
      return send();
    }
  });
}

/** True if a server refuses `max_tokens` and names `max_completion_tokens` in its place. */
function wantsOtherName(error: unknown): boolean {
  if (!(error instanceof RequestFailure) || error.transient) return false;
  const { code, message } = error.error;
  return code === "policy.rejected" && /use.{0,3}max_completion_tokens/i.test(message);
}

/**
 * True if the sampling distribution is the model's own, which servers report by default. Greedy sampling counts,
 * because its logprobs are reported at temperature 1.
 */
function isPlain({ sampling: { temperature, topK, topP, minP } }: ActRequest, omit: readonly string[]): boolean {
  // The server then samples at a temperature that is not known here.
  if (omit.includes("temperature")) return false;
  if (temperature === 0) return true;
  return temperature === 1 && topK === undefined && topP === undefined && minP === undefined;
}
