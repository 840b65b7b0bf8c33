import { describe, expect, test } from "vitest";
import { errorStatus } from "../../../src/core/policy/openai-compatible/answer-body.ts";
import { refusal } from "../../../src/core/policy/serving/refusal.ts";

/** What becomes of a request that a server refuses in these words. */
function fateOf(status: number, body: unknown): string {
  const failure = refusal(
    { status: status === 200 ? (errorStatus(body) ?? 0) : status, headers: {}, body: JSON.stringify(body) },
    { url: new URL("https://host.example/v1/chat/completions"), model: "m", fields: ["temperature", "seed"] },
  );
  if (failure.transient) return "is retried";
  if (failure.error.code === "policy.unauthorized") return "ends the run";
  if (failure.error.code === "policy.prompt-too-long") return "is too long";
  const ended = failure.ifNoneAnswered?.data as { readonly reason?: string } | undefined;
  return ended?.reason === "configuration" ? "ends the run if every prompt gets it" : "leaves the prompt unscored";
}

const openai = (message: string, more: object = {}) => ({ error: { message, type: "invalid_request_error", ...more } });
const minimax = (status_code: number, status_msg: string) => ({
  choices: null,
  base_resp: { status_code, status_msg },
});

const table: Readonly<Record<string, readonly (readonly [string, number, unknown])[]>> = {
  "ends the run": [
    ["a gateway", 429, openai("You have no remaining credits.")],
    ["Zhipu, balance", 429, { error: { code: "1113", message: "余额不足或无可用资源包,请充值。" } }],
    ["Zhipu, locked", 429, { error: { code: "1112", message: "您的账号已被锁定，请联系客服。" } }],
    ["Zhipu, plan", 429, { error: { code: "1309", message: "您的GLM Coding Plan套餐已到期，暂无法使用" } }],
    [
      "Volcengine",
      403,
      { error: { code: "AccountOverdueError", message: "The request failed because of an unpaid balance." } },
    ],
    ["a host", 400, openai("Your account has an unpaid balance.")],
    ["a host, invoices", 403, openai("Unpaid invoices: the organization cannot send requests.")],
    [
      "Gemini, key",
      400,
      { error: { code: 400, message: "API Key not found. Please pass a valid API key.", status: "INVALID_ARGUMENT" } },
    ],
    [
      "Gemini, prepaid",
      429,
      {
        error: {
          code: 429,
          message: "Your prepayment credits are depleted. Please go to AI Studio to manage your project and billing.",
        },
      },
    ],
    [
      "Gemini, billing",
      403,
      {
        error: {
          code: 403,
          message: "This API method requires billing to be enabled. Please enable billing on project #1.",
          status: "PERMISSION_DENIED",
        },
      },
    ],
    [
      "Gemini, leaked",
      403,
      { error: { code: 403, message: "Your API key was reported as leaked. Please use another API key." } },
    ],
    ["SiliconFlow", 403, { code: 30001, message: "Sorry, your account balance is insufficient", data: null }],
    ["Novita", 403, { code: 403, reason: "NOT_ENOUGH_BALANCE", message: "not enough balance" }],
    ["MiniMax, balance", 200, minimax(1008, "insufficient balance")],
    ["MiniMax, key", 200, minimax(1004, "login fail: Please carry the API secret key in the 'Authorization' field")],
    [
      "Moonshot",
      429,
      openai("Your account org-1 <ak-2> is suspended, please recharge your account or check your plan", { type: "x" }),
    ],
    [
      "DashScope",
      400,
      { code: "Arrearage", message: "Access denied, please make sure your account is in good standing." },
    ],
    ["Tencent", 400, openai("账户已欠费，请前往充值", { code: "ResourceUnavailable.InArrears" })],
    ["new-api, user", 403, openai("用户额度不足, 剩余额度: ¥0.00", { code: "insufficient_user_quota" })],
    ["new-api, token", 403, openai("该令牌额度已用尽", { type: "new_api_error" })],
    [
      "Vercel",
      403,
      openai("AI Gateway requires a valid credit card on file to service requests.", {
        type: "customer_verification_required",
      }),
    ],
    ["DeepInfra", 403, { detail: { error: "inference prohibited, please enter a Payment Method" } }],
    ["Hugging Face", 429, { error: "You have exceeded your monthly included credits for Inference Providers." }],
    ["Ollama, week", 429, { error: "you've reached your weekly usage limit, please upgrade to continue" }],
    ["a proxy, key", 400, openai("Invalid API key format")],
    ["a proxy, no key", 403, openai("No API key provided.")],
    ["a proxy, unknown key", 404, openai("The API key does not exist.")],
    ["Baidu", 429, { error: { code: "17", message: "Open api daily request limit reached" } }],
    ["Chinese, key", 400, openai("无效的API Key")],
    ["Chinese, key not found", 403, openai("API Key 不存在或已过期")],
  ],
  "ends the run if every prompt gets it": [
    ["OpenAI", 400, openai("Unknown parameter: 'moderation'.", { code: "unknown_parameter", param: "moderation" })],
    ["OpenAI, older", 400, openai("Unrecognized request argument supplied: content_filter")],
    ["Azure", 400, openai("Unsupported parameter: 'guardrail' is not supported with this model.")],
    [
      "Gemini",
      400,
      {
        error: {
          code: 400,
          message: 'Invalid JSON payload received. Unknown name "safety_settings": Cannot find field.',
        },
      },
    ],
    ["Bedrock", 400, { message: "The guardrail identifier or version provided in the request does not exist." }],
    [
      "vLLM",
      400,
      {
        object: "error",
        message:
          "[{'type': 'extra_forbidden', 'loc': ('body', 'moderation'), 'msg': 'Extra inputs are not permitted'}]",
      },
    ],
    [
      "FastAPI",
      422,
      { detail: [{ type: "extra_forbidden", loc: ["body", "moderation"], msg: "Extra inputs are not permitted" }] },
    ],
    ["Groq", 400, openai("property 'moderation' is unsupported, did you mean 'model'?")],
    [
      "Mistral",
      422,
      {
        object: "error",
        message: {
          detail: [{ type: "extra_forbidden", loc: ["body", "moderation"], msg: "Extra inputs are not permitted" }],
        },
      },
    ],
    ["temperature", 400, openai("Unsupported value: 'temperature' does not support 0.5 with this model.")],
    ["no model", 404, openai("The model `m` does not exist", { code: "model_not_found" })],
    ["DeepSeek, model", 400, openai("Model Not Exist")],
    ["OpenRouter, model", 400, openai("m is not a valid model ID")],
    ["Chinese, model", 400, { error: { code: "1211", message: "模型不存在，请检查模型代码。" } }],
    ["no path", 404, { detail: "Not Found" }],
    ["no method", 405, { detail: "Method Not Allowed" }],
    ["no code", 501, { error: "not implemented" }],
    ["Azure, version", 400, openai("Unknown api-version query parameter")],
    ["MiniMax, parameter", 200, minimax(2013, "invalid params, unknown field 'moderation'")],
  ],
  "is retried": [
    ["Hugging Face", 503, { error: "Model m is currently loading", estimated_time: 20 }],
    ["llama.cpp", 503, { error: { code: 503, message: "Loading model", type: "unavailable_error" } }],
    ["a host", 400, openai("The model is still loading, please wait.")],
    ["LM Studio", 404, { error: "Model is loading" }],
    ["TGI", 424, { error: "Request failed during generation", error_type: "generation" }],
    ["Bedrock", 424, { message: "The request failed due to an error while processing the model." }],
    ["Bedrock, cold", 429, { message: "Model is not ready for inference. Wait and try your request again." }],
    ["Baseten", 400, { error: "The model is warming up." }],
    ["Zhipu, busy", 429, { error: { code: "1305", message: "该模型当前访问量过大，请您稍后再试" } }],
    ["Zhipu, rate", 429, { error: { code: "1302", message: "您的账户已达到速率限制，请您控制请求频率" } }],
    ["new-api", 429, openai("当前分组上游负载已饱和，请稍后再试")],
    ["MiniMax, rate", 200, minimax(1002, "rate limit exceeded(RPM)")],
    ["MiniMax, timeout", 200, minimax(1001, "request timeout")],
    ["Cloudflare", 522, "<html>Connection timed out</html>"],
    ["nginx", 499, ""],
    ["OpenRouter", 200, { error: { code: 502, message: "Provider returned error" } }],
    [
      "Anthropic",
      429,
      {
        type: "error",
        error: { type: "rate_limit_error", message: "This request would exceed your account's rate limit." },
      },
    ],
  ],
  "leaves the prompt unscored": [
    ["OpenAI", 400, openai("Your request was flagged by moderation.")],
    ["MiniMax", 200, minimax(1026, "input new_sensitive")],
    [
      "Zhipu",
      400,
      {
        contentFilter: [{ level: 1, role: "user" }],
        error: { code: "1301", message: "系统检测到输入或生成内容可能包含不安全或敏感内容" },
      },
    ],
    ["Bedrock", 400, { message: "Blocked by guardrail: the value of the topic is not allowed." }],
    ["a flagged parameter", 400, openai("The prompt was flagged: it names an unknown chemical.")],
    ["a flagged loading", 400, openai("The prompt was flagged: unsafe instructions for loading a weapon.")],
    ["Groq", 400, openai("Failed to call a function.", { code: "tool_use_failed" })],
    ["a template", 400, openai("Conversation roles must alternate user/assistant/user/assistant/...")],
    ["an empty message", 400, openai("messages: text content blocks must be non-empty")],
    ["a flagged key", 400, openai("The prompt was flagged: it contains an API key.")],
  ],
  "is too long": [
    ["vLLM", 400, openai("This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.")],
    ["MiniMax", 200, minimax(2013, "invalid params, context window exceeds limit (2013)")],
    ["a gateway", 400, openai("Prompt is too long: your account balance is not charged.")],
  ],
};

describe.each(Object.entries(table))("a request %s", (fate, refusals) => {
  test.each(refusals)("%s", (_, status, body) => {
    expect(fateOf(status, body)).toBe(fate);
  });
});
