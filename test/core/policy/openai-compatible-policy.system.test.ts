import { describe, expect, test } from "vitest";
import { textMessage } from "../../../src/contract/message.ts";
import type { ActRequest } from "../../../src/contract/policy.ts";
import { defaultSampling } from "../../../src/contract/sampler.ts";
import { TokenPrefix } from "../../../src/contract/token-prefix.ts";
import {
  type OpenAICompatibleOptions,
  openAICompatiblePolicy,
} from "../../../src/core/policy/openai-compatible/openai-compatible-policy.ts";
import { type ModelRequest, modelPolicyConformance } from "../../../src/entry-points/testing.ts";
import { describeCases } from "../../testing/describe-cases.ts";
import { actRequest } from "./act-request.ts";
import { type ChatRequest, chatServer, completion } from "./chat-server.ts";

describeCases(
  "an OpenAI-compatible server",
  modelPolicyConformance(async (answer) => {
    const server = await chatServer((body) => {
      const answered = answer(askedOf(body));
      if (answered === "never") return () => {};
      const { text, finish, toolCalls = [] } = answered;
      return completion(text, {
        choice: { finish_reason: finish === "tool-calls" ? "tool_calls" : finish },
        message: {
          tool_calls: toolCalls.map(({ id, ...called }) => ({ id, type: "function", function: called })),
        },
      });
    });
    return {
      policy: openAICompatiblePolicy({ baseUrl: server.baseUrl, model: "m" }),
      aborted: server.abandoned,
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    };
  }),
);

function askedOf(body: ChatRequest): ModelRequest {
  const {
    messages,
    tools = [],
    ...settings
  } = body as ChatRequest & {
    readonly tools?: readonly { readonly function: { readonly name: string } }[];
    readonly temperature: number;
    readonly max_tokens: number;
    readonly seed: number;
    readonly top_p?: number;
    readonly top_k?: number;
    readonly stop?: readonly string[];
  };
  return {
    texts: messages.map(({ content }) => String(content)),
    tools: tools.map(({ function: { name } }) => name),
    temperature: settings.temperature,
    maxTokens: settings.max_tokens,
    seed: settings.seed,
    topP: settings.top_p,
    topK: settings.top_k,
    stop: settings.stop,
  };
}

const quick = { model: "m", retryDelayMs: 1, maxRetryDelayMs: 2 } as const;

describe("a request", () => {
  test("follows the chat protocol, with the key and further fields", async () => {
    await using server = await chatServer(() => completion("4"));
    const policy = openAICompatiblePolicy({
      ...quick,
      baseUrl: `${server.baseUrl}/`,
      apiKey: "sk-1",
      headers: { "x-team": "gym" },
      extraBody: { chat_template_kwargs: { enable_thinking: false } },
    });
    const tool = { name: "add", description: "Adds.", parameters: { type: "object" } };
    const call = { id: "c1", name: "add", arguments: { a: [1, "x"] } };
    await policy.act(
      actRequest({
        tools: [tool],
        sampling: { temperature: 0.5, maxTokens: 8, topK: 4, topP: 0.9, minP: 0.1, stop: ["."] },
        messages: [
          textMessage("system", "Hi."),
          {
            role: "user",
            name: "ann",
            content: [
              { type: "text", text: "a" },
              { type: "text", text: "b" },
            ],
          },
          { role: "assistant", content: [{ type: "reasoning", text: "hm" }], toolCalls: [call] },
          { role: "tool", toolCallId: "c1", content: [{ type: "text", text: "3" }] },
        ],
      }),
    );
    const [{ body, headers }] = server.requests as [(typeof server.requests)[0]];
    expect(headers).toMatchObject({
      authorization: "Bearer sk-1",
      "x-team": "gym",
      "content-type": "application/json",
    });
    expect(body).toStrictEqual({
      model: "m",
      messages: [
        { role: "system", content: "Hi." },
        { role: "user", content: "ab", name: "ann" },
        {
          role: "assistant",
          content: "",
          tool_calls: [{ id: "c1", type: "function", function: { name: "add", arguments: '{"a":[1,"x"]}' } }],
        },
        { role: "tool", content: "3", tool_call_id: "c1" },
      ],
      temperature: 0.5,
      max_tokens: 8,
      seed: 1,
      top_p: 0.9,
      top_k: 4,
      min_p: 0.1,
      stop: ["."],
      tools: [{ type: "function", function: tool }],
      chat_template_kwargs: { enable_thinking: false },
    });
  });

  test("contains images as data, for models that accept them, in user messages only", async () => {
    await using server = await chatServer(() => completion("A cat."));
    const policy = openAICompatiblePolicy({ ...quick, baseUrl: server.baseUrl, accepts: ["text", "image"] });
    const image = { type: "image", mediaType: "image/png", data: "aGk=" } as const;
    await policy.act(actRequest({ messages: [{ role: "user", content: [image, { type: "text", text: "What?" }] }] }));
    expect(server.requests[0]!.body.messages[0]!.content).toEqual([
      { type: "image_url", image_url: { url: "data:image/png;base64,aGk=" } },
      { type: "text", text: "What?" },
    ]);
    const messages = [{ role: "tool", toolCallId: "c", content: [image] }] as const;
    await expect(policy.act(actRequest({ messages }))).rejects.toMatchObject({ code: "policy.unsupported-input" });
    expect(server.requests).toHaveLength(1);
  });
});

describe("an answer", () => {
  const answered = async (
    answer: { readonly body: object },
    options: Partial<OpenAICompatibleOptions> = {},
    asked: Partial<ActRequest> = {},
  ) => {
    await using server = await chatServer(() => answer);
    const policy = openAICompatiblePolicy({ ...quick, maxRetries: 0, baseUrl: server.baseUrl, ...options });
    const result = await policy.act(actRequest(asked));
    return { result, body: server.requests[0]!.body };
  };

  test("may contain reasoning, a refusal, and parsed arguments", async () => {
    const message = async (fields: object, choice: object = {}) =>
      (await answered(completion(null, { message: fields, choice }))).result.action.message;
    for (const key of ["reasoning_content", "reasoning"]) {
      expect(await message({ [key]: "Hm.", content: "4" })).toEqual({
        role: "assistant",
        content: [
          { type: "reasoning", text: "Hm." },
          { type: "text", text: "4" },
        ],
      });
    }
    expect(await message({ refusal: "No." })).toEqual(textMessage("assistant", "No."));
    const called = { function: { name: "add", arguments: { a: 2 } } };
    expect(await message({ tool_calls: [called] })).toEqual({
      role: "assistant",
      content: [],
      toolCalls: [{ id: "call-1", name: "add", arguments: { a: 2 } }],
    });
  });

  test("may be empty if the model sampled its end", async () => {
    const usage = { prompt_tokens: 5, completion_tokens: 1 };
    const { result } = await answered(completion("", { body: { usage } }));
    expect(result.action).toStrictEqual({ message: textMessage("assistant", ""), finish: "stop" });
  });

  test("is counted with cached and reasoning tokens", async () => {
    const usage = {
      prompt_tokens: 50,
      completion_tokens: 20,
      prompt_tokens_details: { cached_tokens: 48 },
      completion_tokens_details: { reasoning_tokens: 15 },
    };
    const { result } = await answered(completion("4", { body: { usage } }));
    expect(result.usage).toStrictEqual({
      promptTokens: 50,
      completionTokens: 20,
      cachedPromptTokens: 48,
      reasoningTokens: 15,
    });
  });

  const logprobs = {
    content: [
      { token: "4", logprob: -0.25 },
      { token: "<eos>", logprob: 1e-7 },
    ],
  };
  const withIds = completion("4", {
    choice: { logprobs, token_ids: [9, 2] },
    body: { prompt_token_ids: [1, 5, 6] },
  });

  test("has log-probabilities if they are requested, with llama.cpp's ids", async () => {
    const content = logprobs.content.map((entry, index) => ({ ...entry, id: index }));
    const { result, body } = await answered(completion("4", { choice: { logprobs: { content } } }), { logprobs: true });
    expect(body).toMatchObject({ logprobs: true });
    expect(body).not.toHaveProperty("return_token_ids");
    expect(result.logprobs).toStrictEqual([
      { text: "4", logprob: -0.25, id: 0 },
      { text: "<eos>", logprob: 0, id: 1 },
    ]);
    expect(result.tokens).toBeUndefined();
    expect((await answered(completion("4"))).body).not.toHaveProperty("logprobs");
  });

  const counted = (tokens: number, reasoning?: number): object => ({
    usage: {
      prompt_tokens: 5,
      completion_tokens: tokens,
      ...(reasoning === undefined ? {} : { completion_tokens_details: { reasoning_tokens: reasoning } }),
    },
  });
  const told = (content: string, tokens: readonly string[], body: object = {}) =>
    completion(content, {
      choice: { logprobs: { content: tokens.map((token) => ({ token, logprob: -1 })) } },
      body,
    });

  test.each([
    ["fewer than the server counts", told("1234", ["12", "34"], counted(5)), "2 log-probabilities and 5 tokens"],
    ["less than the text", told("12345", ["12", "34"], { usage: undefined }), "make 4 of 5 characters"],
  ])("is rejected if the requested log-probabilities are %s", async (_, answer, words) => {
    for (const options of [{ logprobs: true }, { tokenIds: true }]) {
      await expect(answered(answer, { ...options, maxRetries: 0 })).rejects.toMatchObject({
        code: "policy.unavailable",
        message: expect.stringContaining(words),
      });
    }
    expect((await answered(answer)).result.action.message).toMatchObject({ role: "assistant" });
  });

  test.each([
    ["the end of the turn is not among them", told("1234", ["12", "34"], counted(3))],
    ["reasoning is hidden", told("1234", ["12", "34"], counted(40, 37))],
    ["the text was cut at a stop string", told("12", ["12", "34"], counted(2))],
    ["a character is of several tokens", told("\u{1f600}", ["\ufffd", "\ufffd", "\ufffd"], counted(3))],
    ["a tool is called", completion(null, { message: { tool_calls: [{ function: { name: "f" } }] } })],
    ["the model says nothing", completion("", { body: counted(1) })],
  ])("is accepted if log-probabilities were requested and %s", async (_, answer) => {
    await answered(answer, { logprobs: true, maxRetries: 0 });
  });

  test.each([
    ["no list", completion("1234")],
    ["null", completion("1234", { choice: { logprobs: null } })],
    ["an empty list", told("1234", [])],
  ])("is rejected immediately if log-probabilities were requested and there are none: %s", async (_, answer) => {
    for (const options of [{ logprobs: true }, { tokenIds: true }]) {
      await using server = await chatServer(() => answer);
      const policy = openAICompatiblePolicy({ ...quick, ...options, baseUrl: server.baseUrl });
      await expect(policy.act(actRequest())).rejects.toMatchObject({
        code: "policy.rejected",
        message: expect.stringContaining("no log-probabilities"),
        hint: expect.stringMatching(/--max-logprobs.* set logprobs and tokenIds to false/),
      });
      expect(server.requests).toHaveLength(1);
    }
    for (const options of [{}, { logprobs: "if-given" }, { logprobs: "if-given", tokenIds: true }] as const) {
      const { result } = await answered(answer, { ...options, maxRetries: 0 });
      expect(result).not.toHaveProperty("logprobs");
      expect(result).not.toHaveProperty("tokens");
    }
  });

  test("is rejected if log-probabilities are optional and only some tokens have one", async () => {
    const some = told("12345", ["12", "34"], counted(5));
    await expect(answered(some, { logprobs: "if-given", maxRetries: 0 })).rejects.toMatchObject({
      code: "policy.unavailable",
    });
    const { result, body } = await answered(told("1234", ["12", "34"]), { logprobs: "if-given" });
    expect(body).toMatchObject({ logprobs: true });
    expect(result.logprobs).toHaveLength(2);
  });

  test("has tokens to train on if the server returns their ids", async () => {
    const { result, body } = await answered(withIds, { tokenIds: true });
    expect(body).toMatchObject({ logprobs: true, return_token_ids: true });
    expect(result.tokens).toStrictEqual({
      extendsPrevious: false,
      newPromptIds: [1, 5, 6],
      promptLength: 3,
      completionIds: [9, 2],
      logprobs: [-0.25, 0],
      weightsVersion: 0,
    });
    expect(result.logprobs).toBeUndefined();
  });

  test("extends the tokens of earlier turns only if its prompt begins with them", async () => {
    for (const [ids, newPromptIds] of [
      [[1, 5], [6]],
      [[1, 5, 6], []],
      [[1, 6], undefined],
      [[1, 5, 6, 7], undefined],
    ] as const) {
      const previous = { ids: TokenPrefix.empty.append(ids), messageCount: 1 };
      const { result } = await answered(withIds, { tokenIds: true }, { previous });
      expect(result.tokens).toMatchObject({
        extendsPrevious: newPromptIds !== undefined,
        newPromptIds: newPromptIds ?? [1, 5, 6],
        promptLength: 3,
      });
    }
  });

  test("has no tokens to train on if the log-probabilities are not of the sampled distribution", async () => {
    for (const setting of [{ temperature: 0.5 }, { topK: 5 }, { topP: 0.9 }, { minP: 0.1 }]) {
      const asked = { sampling: { ...defaultSampling, ...setting } };
      const { result } = await answered(withIds, { tokenIds: true }, asked);
      expect(result.tokens).toBeUndefined();
      expect(result.logprobs).toHaveLength(2);
      const processed = await answered(withIds, { tokenIds: true, processedLogprobs: true }, asked);
      expect(processed.result.tokens).toBeDefined();
    }
  });
});

describe("limits", () => {
  test("of concurrent requests are respected", async () => {
    await using server = await chatServer(async () => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      return completion("4");
    });
    const policy = openAICompatiblePolicy({ ...quick, baseUrl: server.baseUrl, maxConcurrent: 3 });
    await Promise.all(Array.from({ length: 20 }, (_, seed) => policy.act(actRequest({ seed }))));
    expect(server.requests).toHaveLength(20);
    expect(server.busiest()).toBe(3);
  });

  test("of time close the connection, and an abort ends the wait for a retry", async () => {
    await using server = await chatServer(() => () => {});
    const timed = openAICompatiblePolicy({ ...quick, baseUrl: server.baseUrl, timeoutMs: 500, maxRetries: 1 });
    await expect(timed.act(actRequest())).rejects.toMatchObject({
      code: "policy.unavailable",
      message: expect.stringMatching(/2 tries: No answer came from "m" within 500 ms/),
      data: { reason: "timeout" },
    });
    while (server.abandoned() < 2) await new Promise((resolve) => setImmediate(resolve));

    await using failing = await chatServer(() => ({ status: 500, body: "" }));
    const patient = openAICompatiblePolicy({
      model: "m",
      baseUrl: failing.baseUrl,
      retryDelayMs: 1e6,
      maxRetryDelayMs: 1e6,
    });
    const controller = new AbortController();
    const waiting = patient.act(actRequest({ signal: controller.signal }));
    while (failing.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
    setTimeout(() => controller.abort(new Error("enough")), 20);
    await expect(waiting).rejects.toThrow("enough");
  });

  test("of Retry-After end the action if the wait would be too long", async () => {
    await using server = await chatServer(() => ({ status: 429, headers: { "retry-after": "3600" }, body: "later" }));
    const policy = openAICompatiblePolicy({ ...quick, baseUrl: server.baseUrl });
    await expect(policy.act(actRequest())).rejects.toMatchObject({
      code: "policy.unavailable",
      message: expect.stringContaining("3600 seconds"),
      data: { reason: "rate-limit", status: 429 },
    });
    expect(server.requests).toHaveLength(1);
  });

  test("of Retry-After apply to every request to that server", async () => {
    const at: number[] = [];
    await using server = await chatServer(() => {
      at.push(performance.now());
      if (at.length > 1) return completion("4");
      return { status: 429, headers: { "retry-after-ms": "2000" }, body: "" };
    });
    const policy = openAICompatiblePolicy({ ...quick, baseUrl: server.baseUrl });
    const first = policy.act(actRequest());
    while (at.length === 0) await new Promise((resolve) => setImmediate(resolve));
    // By then the policy has read the answer, on a busy machine too.
    await new Promise((resolve) => setTimeout(resolve, 500));
    await Promise.all([first, policy.act(actRequest({ seed: 2 }))]);
    expect(at).toHaveLength(3);
    for (const time of at.slice(1)) expect(time - at[0]!).toBeGreaterThanOrEqual(1_998);
  });

  test("of an answer's length are respected", async () => {
    await using server = await chatServer(() => ({ body: " ".repeat(65 * 2 ** 20) }));
    const policy = openAICompatiblePolicy({ ...quick, maxRetries: 0, baseUrl: server.baseUrl });
    await expect(policy.act(actRequest())).rejects.toMatchObject({ message: expect.stringContaining("longer than") });
  });

  test.each([
    [{ baseUrl: "localhost:8000" }, /not the URL/],
    [{ baseUrl: "ftp://host/v1" }, /not the URL/],
    [{ baseUrl: "http://me:secret@host/v1" }, /contains a password/],
    [{ baseUrl: "http://host/v1", timeoutMs: 0 }, /timeoutMs cannot be 0/],
    [{ baseUrl: "http://host/v1", maxConcurrent: 0 }, /maxConcurrent cannot be 0/],
    [{ baseUrl: "http://host/v1", maxRetries: 1.5 }, /maxRetries cannot be 1.5/],
    [{ baseUrl: "http://host/v1", requestsPerMinute: Number.NaN }, /requestsPerMinute cannot be NaN/],
  ])("that are invalid are rejected: %j", (options, message) => {
    expect(() => openAICompatiblePolicy({ model: "m", ...options })).toThrow(message);
    expect(() => openAICompatiblePolicy({ model: "m", ...options })).not.toThrow(/secret/);
  });
});

describe("retries", () => {
  test("wait longer each time", async () => {
    const at: number[] = [];
    await using server = await chatServer(() => {
      at.push(performance.now());
      return { status: 500, body: "" };
    });
    const policy = openAICompatiblePolicy({ model: "m", baseUrl: server.baseUrl, retryDelayMs: 40, maxRetries: 3 });
    await policy.act(actRequest()).catch(() => {});
    expect(at).toHaveLength(4);
    // A wait is never shorter than half of 40, 80, 160 ms; timers round down by up to a millisecond.
    for (let index = 0; index < 3; index++)
      expect(at[index + 1]! - at[index]!).toBeGreaterThanOrEqual(20 * 2 ** index - 2);
  });
});
