import { describe, expect, test } from "vitest";
import { refusal } from "../../../src/core/policy/serving/refusal.ts";

/** Refusals as the servers write them. */
const of = (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}) =>
  refusal(
    { status, headers, body: typeof body === "string" ? body : JSON.stringify(body) },
    {
      url: new URL("https://host.example/v1/chat/completions"),
      model: "m",
      fields: ["temperature", "max_tokens", "seed", "stop"],
    },
  );
const google = (code: number, message: string, details: readonly object[] = []) => [
  { error: { code, message, status: "S", details } },
];
const message = (text: string) => ({ error: { message: text, type: "invalid_request_error" } });

const overlong: readonly (readonly [string, number, unknown])[] = [
  [
    "Anthropic",
    400,
    {
      type: "error",
      error: { type: "invalid_request_error", message: "prompt is too long: 208310 tokens > 200000 maximum" },
    },
  ],
  ["Anthropic, with the answer", 400, message("input length and `max_tokens` exceed context limit: 1 + 8192 > 200000")],
  ["Anthropic, size", 413, { error: { type: "request_too_large", message: "Request exceeds the maximum size" } }],
  [
    "xAI",
    400,
    {
      code: "Client specified an invalid argument",
      error: "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    },
  ],
  [
    "Gemini",
    400,
    google(400, "The input token count (1196265) exceeds the maximum number of tokens allowed (1048576)."),
  ],
  [
    "Vertex",
    400,
    message("Unable to submit request because the input token count is 40000 but model only supports up to 32768."),
  ],
  [
    "SGLang",
    400,
    { object: "error", message: "The input (6000 tokens) is longer than the model's context length (4096 tokens)." },
  ],
  [
    "SGLang, both",
    400,
    { message: "Requested token count exceeds the model's maximum context length of 4096 tokens." },
  ],
  ["SGLang, limit", 400, { message: "Input length (5000 tokens) exceeds the maximum allowed length (4095 tokens)." }],
  ["Bedrock", 400, { message: "Input is too long for requested model." }],
  [
    "Bedrock, Cohere",
    400,
    { message: "Too many input tokens. Max input tokens: 8192, request input token count: 9000" },
  ],
  [
    "LM Studio",
    400,
    {
      error:
        "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough.",
    },
  ],
  [
    "LM Studio, newer",
    400,
    { error: "The number of tokens to keep from the initial prompt is greater than the context length." },
  ],
  [
    "TensorRT-LLM",
    400,
    { message: "Prompt length (5000) exceeds maximum input length (4096). Set log level to info." },
  ],
  [
    "TensorRT-LLM, sum",
    400,
    { message: "The sum of prompt length (4000.0) and max_tokens (200) should not exceed max_seq_len (4096)" },
  ],
  [
    "vLLM",
    400,
    {
      error: {
        message: "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
        code: 400,
      },
    },
  ],
  [
    "vLLM, with the answer",
    400,
    message(
      "'max_tokens' or 'max_completion_tokens' is too large: 4096. This model's maximum context length is 4096 tokens and your request has 1000 input tokens (4096 > 4096 - 1000).",
    ),
  ],
  [
    "OpenAI",
    400,
    message("Your input exceeds the context window of this model. Please adjust your input and try again."),
  ],
  ["Ollama", 500, { error: "the input length exceeds the context length" }],
  [
    "llama.cpp",
    400,
    message("request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it"),
  ],
  [
    "Mistral",
    400,
    {
      message: "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
    },
  ],
  [
    "Cohere",
    400,
    { message: "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5000" },
  ],
  ["DashScope", 400, message("Range of input length should be [1, 30720]")],
  ["Moonshot", 400, message("Invalid request: Your request exceeded model token limit: 8192")],
  ["Fireworks", 400, { error: { message: "The prompt is too long: 10000, model maximum context length: 8191" } }],
  ["MiniMax", 400, message("invalid params, context window exceeds limit (2013)")],
  ["TGI", 422, { error: "Input validation error: `inputs` must have less than 4095 tokens. Given: 5000" }],
  ["watsonx", 400, message("the number of input tokens 5000 cannot exceed the total tokens limit 4096 for this model")],
  ["TGI, with the answer", 422, { error: "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 and 200" }],
  ["vLLM, nothing left", 400, message("max_tokens must be at least 1, got -904.")],
  ["Bedrock", 400, { message: "Malformed input request: expected maxLength: 100000, actual: 200000" }],
  ["a proxy", 413, "<html><h1>413 Request Entity Too Large</h1></html>"],
  ["Groq", 413, message("Request too large for model `l` on tokens per minute (TPM): Limit 6000, Requested 7000")],
  [
    "OpenAI, minute",
    429,
    message("Request too large for gpt-4o in organization o on tokens per min (TPM): Limit 30000, Requested 40000."),
  ],
];

test.each(overlong)("an overlong conversation is recognised: %s", (_, status, body) => {
  const failure = of(status, body);
  expect(failure.error.code).toBe("policy.prompt-too-long");
  expect(failure.transient).toBe(false);
});

test("a prompt that does not fit with its answer hints at the length of the answer", () => {
  expect(of(overlong[16]![1], overlong[16]![2]).error.hint).toContain("--max-tokens");
  expect(of(overlong[0]![1], overlong[0]![2]).error.hint).not.toContain("--max-tokens");
});

test.each([
  message(
    "max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000.",
  ),
  message("max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for claude"),
  message(
    "`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is less than the `context_window` for this model",
  ),
  message("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]"),
  message("Range of max_tokens should be [1, 8192]"),
])("too many tokens of an answer are the request's fault, with a hint: %j", (body) => {
  expect(of(400, body).error).toMatchObject({ code: "policy.rejected", hint: expect.stringContaining("--max-tokens") });
});

test.each([
  [
    "OpenRouter",
    403,
    {
      error: {
        code: 403,
        message: 'm requires moderation on P. Your input was flagged for "sexual". No credits were charged.',
        metadata: { reasons: ["sexual"], flagged_input: "..." },
      },
    },
  ],
  [
    "xAI",
    403,
    {
      code: "The caller does not have permission",
      error:
        "Content violates usage guidelines. Team: t, API key ID: k, Model: grok, Failed check: SAFETY_CHECK_TYPE_BIO",
    },
  ],
  [
    "OpenAI",
    400,
    {
      error: {
        message: "Invalid prompt: your prompt was flagged as potentially violating our usage policy.",
        code: "invalid_prompt",
      },
    },
  ],
  [
    "Azure",
    400,
    {
      error: {
        code: "content_filter",
        message: "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
      },
    },
  ],
  ["DeepSeek", 400, message("Content Exists Risk")],
  [
    "DashScope",
    400,
    { error: { code: "data_inspection_failed", message: "Input data may contain inappropriate content." } },
  ],
  ["a guardrail", 403, { detail: "Request blocked by guardrail" }],
  [
    "LiteLLM before Bedrock",
    400,
    message("{'error': 'Violated guardrail policy', 'bedrock_guardrail_response': 'No.'}"),
  ],
  ["Mistral", 403, { object: "error", message: "Request blocked: input violates moderation thresholds", code: "1930" }],
  ["Together", 422, message("NSFW content detected in prompt")],
  ["Groq", 403, { error: { message: "Blocked by the prompt guard.", code: "prompt_injection_detected" } }],
  ["Cohere", 400, { message: "blocked output: please reformulate the prompt or change the seed, then try again" }],
  ["Anthropic", 400, message("Output blocked by content filtering policy")],
  ["Vertex", 400, message("The prompt is blocked due to: SAFETY")],
  ["Zhipu", 400, { error: { code: "1301", message: "系统检测到输入或生成内容可能包含不安全或敏感内容" } }],
  ["Moonshot", 400, { error: { message: "It was considered high risk", type: "content_filter" } }],
])("a flagged prompt is refused alone: %s", (_, status, body) => {
  const { error, transient, ifNoneAnswered } = of(status, body);
  expect(error).toMatchObject({ code: "policy.rejected", data: { reason: "content-filter" } });
  expect([transient, ifNoneAnswered]).toEqual([false, undefined]);
});

const perMinute = "You exceeded your current quota, please check your plan and billing details.";
const violation = (quotaId: string) => ({
  "@type": "type.googleapis.com/google.rpc.QuotaFailure",
  violations: [{ quotaId }],
});
const retryInfo = { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34.5s" };

test.each([
  ["Gemini", google(429, perMinute, [violation("GenerateRequestsPerMinutePerProject"), retryInfo]), {}, 34_500],
  ["Gemini, its own API", google(429, perMinute, [retryInfo])[0], {}, 34_500],
  ["a header", { error: { message: perMinute, code: "insufficient_quota" } }, { "retry-after": "7" }, 7_000],
  ["a header in milliseconds", message(perMinute), { "retry-after-ms": "12" }, 12],
  [
    "Groq",
    message("Rate limit reached on tokens per day (TPD): Limit 100000. Please try again in 6m28.8s."),
    {},
    388_800,
  ],
  ["OpenAI", message("Rate limit reached for gpt-4o on requests per min. Please try again in 20ms."), {}, 20],
  [
    "Azure",
    message("have exceeded token rate limit of your current S0 pricing tier. Please retry after 24 seconds."),
    {},
    24_000,
  ],
  ["Moonshot", message("request reached max request: 3, please try again after 1 seconds"), {}, 1_000],
  ["hours", message("Please try again in 1h2m3s"), {}, 3_723_000],
  ["Cohere", { message: "You are using a Trial key, which is limited to 10 API calls / minute." }, {}, undefined],
  ["Mistral", { message: "Service tier capacity exceeded for this model.", code: "3505" }, {}, undefined],
  ["Bedrock", { message: "Too many tokens, please wait before trying again." }, {}, undefined],
  ["no wait", message("Too many requests, retry 3 models later"), {}, undefined],
])("a limit of a minute says how long to wait: %s", (_, body, headers, wait) => {
  const failure = of(429, body, headers as Record<string, string>);
  expect(failure.error.code).toBe("policy.unavailable");
  expect([failure.transient, failure.retryAfterMs]).toEqual([true, wait]);
});

test.each([
  ["Anthropic", 529, { type: "error", error: { type: "overloaded_error", message: "Overloaded" } }],
  ["Groq, flex", 498, { error: { message: "Flex tier capacity exceeded.", code: "capacity_exceeded" } }],
  ["Together", 503, message("The server is overloaded or not ready yet.")],
  ["DeepSeek", 503, message("Service is too busy.")],
])("a busy server may answer later: %s", (_, status, body) => {
  expect(of(status, body)).toMatchObject({ error: { code: "policy.unavailable" }, transient: true });
});

describe("what the account causes ends a run", () => {
  test.each([
    ["OpenAI", 429, { error: { message: perMinute, code: "insufficient_quota" } }],
    ["Gemini, day", 429, google(429, perMinute, [violation("GenerateRequestsPerDayPerProjectPerModel"), retryInfo])],
    ["Gemini, not included", 429, google(429, `${perMinute} Quota exceeded for metric: m, limit: 0`, [retryInfo])],
    ["OpenRouter", 429, message("Rate limit exceeded: free-models-per-day. Add 10 credits to unlock more")],
    ["Anthropic", 400, message("Your credit balance is too low to access the Anthropic API.")],
    ["DeepSeek", 402, message("Insufficient Balance")],
    ["xAI", 403, { error: "Your team t has either used all available credits or reached its monthly spending limit." }],
    ["Moonshot", 403, message("Your account is suspended, please check your plan: it violates our usage policies")],
    ["xAI, key", 400, { error: "Incorrect API key provided: xa***." }],
    ["Gemini, key", 400, google(400, "API key not valid. Please pass a valid API key.")],
    ["OpenAI, billing", 429, { error: { message: "Your account is not active", code: "billing_not_active" } }],
    ["Anthropic, limit", 400, message("You have reached your specified API usage limits.")],
    ["xAI, new team", 403, { error: "Your newly created team doesn't have any credits or licenses yet." }],
    ["Volcengine", 403, message("The account has an overdue balance.")],
    ["AWS", 400, { message: "The security token included in the request is invalid" }],
    ["Google, place", 400, google(400, "User location is not supported for the API use.")],
    ["Google, project", 403, google(403, "Generative Language API has not been used in project 1 before")],
    ["OpenAI, model", 403, message("Project `p` does not have access to model `gpt-5`")],
    ["OpenAI, country", 403, message("Country, region, or territory not supported")],
    ["OpenRouter", 402, message("This request requires more credits, or fewer max_tokens.")],
    ["Mistral", 402, { detail: "Payment required" }],
    ["Together, spent", 429, { error: { message: "Credit limit exceeded, please see billing", type: "credit_limit" } }],
    ["Groq, spent", 400, { error: { message: "Access has been blocked.", code: "blocked_api_access" } }],
    ["Fireworks", 412, message("Account x is suspended, possibly due to reaching the monthly spending limit.")],
    ["Cohere, month", 429, { message: "You are using a Trial key, which is limited to 1000 API calls / month." }],
    ["Cohere, key", 498, { message: "invalid api token" }],
    ["Hugging Face", 403, { error: "This authentication method does not have sufficient permissions" }],
  ])("%s", (_, status, body) => {
    expect(of(status, body)).toMatchObject({ error: { code: "policy.unauthorized" }, transient: false });
  });
});

test.each([
  [
    message(
      "Unsupported value: 'temperature' does not support 0.5 with this model. Only the default (1) value is supported.",
    ),
    "temperature",
  ],
  [message("`temperature` is deprecated for this model."), "temperature"],
  [{ detail: [{ type: "extra_forbidden", loc: ["body", "seed"], msg: "Extra inputs are not permitted" }] }, "seed"],
  [message("Unrecognized request argument supplied: seed"), "seed"],
  [message("Unsupported parameter: 'stop' is not supported with this model."), "stop"],
  [
    message(
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    ),
    "max_tokens",
  ],
  [google(400, 'Invalid JSON payload received. Unknown name "seed": Cannot find field.'), "seed"],
])("a refused field is named with the setting that leaves it out: %j", (body, field) => {
  expect(of(400, body).error).toMatchObject({
    code: "policy.rejected",
    hint: expect.stringContaining(`-M omit=[${field}]`),
  });
});

test.each([
  [400, message("messages: text content blocks must be non-empty"), "policy.rejected", false],
  [400, message("The input must be a list of messages"), "policy.rejected", false],
  [
    429,
    {
      type: "error",
      error: {
        type: "rate_limit_error",
        message: "This request would exceed your organization's rate limit of 30,000 input tokens per minute",
      },
    },
    "policy.unavailable",
    true,
  ],
  [529, { type: "error", error: { type: "overloaded_error", message: "Overloaded" } }, "policy.unavailable", true],
  [503, message("The model is overloaded. Context length exceeded elsewhere."), "policy.unavailable", true],
  [404, message("The model `m` does not exist"), "policy.rejected", false],
])("%s %j stays what it was", (status, body, code, transient) => {
  expect(of(status, body)).toMatchObject({ error: { code }, transient });
});

test("a field's name is not what a filter says", () => {
  expect(of(400, message("Unknown field: moderation_flagged")).error.data).toMatchObject({ reason: "status" });
  expect(of(400, message("The input was flagged")).error.data).toMatchObject({ reason: "content-filter" });
});
