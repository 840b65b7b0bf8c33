import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { ActResult } from "../../../src/contract/policy.ts";
import { defineEnvironment } from "../../../src/core/environment/define-environment.ts";
import {
  type OpenAICompatibleOptions,
  openAICompatiblePolicy,
} from "../../../src/core/policy/openai-compatible/openai-compatible-policy.ts";
import { rolloutEpisode } from "../../../src/core/rollout/rollout-episode.ts";
import { actRequest } from "./act-request.ts";
import { type ChatAnswer, type ChatRequest, chatServer, completion } from "./chat-server.ts";

const quick = { model: "m", retryDelayMs: 1, maxRetryDelayMs: 2 } as const;

/** Asks a server once. Returns the result and the requests. */
async function askScript(
  script: (request: ChatRequest, index: number) => ChatAnswer,
  options: Partial<OpenAICompatibleOptions> = {},
): Promise<ActResult & { readonly requests: readonly ChatRequest[] }> {
  await using server = await chatServer(script);
  const policy = openAICompatiblePolicy({ ...quick, baseUrl: server.baseUrl, ...options });
  const result = await policy.act(actRequest());
  return { ...result, requests: server.requests.map(({ body }) => body) };
}

const ask = (answer: ChatAnswer, options?: Partial<OpenAICompatibleOptions>) => askScript(() => answer, options);

describe("bookkeeping never costs an answer", () => {
  test.each([
    [
      "parts",
      [
        { type: "text", text: "4" },
        { type: "text", text: "2" },
      ],
    ],
    ["output parts", [{ type: "output_text", text: "42", annotations: [] }]],
    ["texts", ["4", "2"]],
    ["a refusal", [{ type: "refusal", refusal: "42" }]],
    [
      "an image beside it",
      [
        { type: "image_url", image_url: { url: "data:" } },
        { type: "text", text: "42" },
      ],
    ],
  ])("content as %s", async (_, content) => {
    const { action, requests } = await ask(completion(content as never));
    expect(action.message.content).toEqual([{ type: "text", text: "42" }]);
    expect(requests).toHaveLength(1);
  });

  test.each([
    ["a text", [{ type: "something_new", text: "42" }]],
    ["an inner text", [{ type: "something_new", content: "42" }]],
    ["pieces of a text", [{ type: "something_new", content: [{ type: "text", text: "4" }, { text: "2" }] }]],
    ["a text in an object", [{ type: "something_new", text: { value: "42", annotations: [] } }]],
    ["a call", [{ type: "something_new", name: "look", input: {} }, "42"]],
    [
      "a text of another form",
      [
        { type: "something_new", text: 42 },
        { type: "text", text: "42" },
      ],
    ],
    [
      "an image",
      [
        { type: "something_new", image_url: { url: "data:" } },
        { type: "text", text: "42" },
      ],
    ],
    [
      "two of them",
      [
        { type: "something_new", text: "4" },
        { type: "something_new", text: "2" },
      ],
    ],
    ["a refusal", [{ type: "something_new", refusal: "42" }]],
    [
      "reasoning",
      [
        { type: "something_new", thinking: "Hm." },
        { type: "text", text: "42" },
      ],
    ],
  ])("a part of an unknown type with %s is told once, and its text kept", async (_, content) => {
    const warned = vi.spyOn(process, "emitWarning").mockReturnValue();
    onTestFinished(() => warned.mockRestore());
    await using server = await chatServer(() => completion(content as never));
    const policy = openAICompatiblePolicy({ ...quick, baseUrl: server.baseUrl });
    for (const { action } of [await policy.act(actRequest()), await policy.act(actRequest())]) {
      expect(action.message.content.filter(({ type }) => type === "text")).toEqual([{ type: "text", text: "42" }]);
    }
    expect(warned.mock.calls.map(([message]) => message)).toEqual([
      expect.stringMatching(/unknown type "something_new"/),
    ]);
  });

  test.each([
    "text",
    "output_text",
    "refusal",
    "thinking",
    "reasoning",
    "reasoning_text",
    "redacted_thinking",
    "reference",
    null,
    undefined,
    7,
  ])("a part of type %s is known", async (type) => {
    const warned = vi.spyOn(process, "emitWarning").mockReturnValue();
    onTestFinished(() => warned.mockRestore());
    const { action } = await ask(completion([{ type, text: "Hm." }, "42"] as never));
    const kinds = action.message.content.map((part) => [part.type, "text" in part && part.text]);
    const isThought = /thinking|reasoning/.test(String(type));
    expect(kinds).toEqual(
      isThought
        ? [
            ["reasoning", "Hm."],
            ["text", "42"],
          ]
        : [["text", "Hm.42"]],
    );
    expect(warned).not.toHaveBeenCalled();
  });

  test("content as parts with reasoning", async () => {
    const content = [
      { type: "thinking", thinking: [{ type: "text", text: "Hm." }] },
      { type: "text", text: "42" },
    ];
    expect((await ask(completion(content as never))).action.message.content).toEqual([
      { type: "reasoning", text: "Hm." },
      { type: "text", text: "42" },
    ]);
  });

  test.each([
    ...[
      "stop",
      "eos",
      "STOP",
      "end_turn",
      "",
      null,
      undefined,
      "tool_calls",
      "eos_token",
      "FINISH_REASON_STOP",
      "endTurn",
      "Stop",
    ].map((reason) => [reason, "stop", undefined] as const),
    ...["length", "model_length", "MAX_TOKENS", "max-tokens", "maxTokens", "model_context_window_exceeded"].map(
      (reason) => [reason, "length", undefined] as const,
    ),
    ["paused", "stop", "paused"] as const,
  ])("finish reason %j is %s", async (reason, finish, recorded) => {
    const result = await ask(completion("4", { choice: { finish_reason: reason } }));
    expect([result.action.finish, result.finishReason]).toEqual([finish, recorded]);
    expect(result.requests).toHaveLength(1);
  });

  test("an answer without a reason that has all of its tokens is cut off", async () => {
    const usage = { prompt_tokens: 1, completion_tokens: actRequest().sampling.maxTokens };
    const { action } = await ask(completion("4", { choice: { finish_reason: null }, body: { usage } }));
    expect(action.finish).toBe("length");
  });

  test.each(["content_filter: PROHIBITED_CONTENT", "SAFETY", "refusal"])("%s is a filter", async (reason) => {
    const filtered = ask(completion("4", { choice: { finish_reason: reason } }));
    await expect(filtered).rejects.toMatchObject({ code: "policy.rejected", data: { reason: "content-filter" } });
  });

  test.each([
    {},
    null,
    [],
    "13",
    { prompt_tokens: null, completion_tokens: null },
    { prompt_tokens: -1, completion_tokens: 2 },
    { prompt_tokens: 1.5, completion_tokens: 2 },
    { prompt_tokens: "5", completion_tokens: 2 },
  ])("usage of %j is none", async (usage) => {
    const result = await ask(completion("4", { body: { usage } }));
    expect([result.action.finish, result.usage, result.requests.length]).toEqual(["stop", undefined, 1]);
  });

  test.each(["", "user", "model", null, 5])("role %j", async (role) => {
    expect((await ask(completion("4", { message: { role } }))).requests).toHaveLength(1);
  });

  test.each([
    ['{"a":1}', { a: 1 }],
    ['{}""', {}],
    ['null""', {}],
    ['[] ""', {}],
    ['{"a":1}""', { a: 1 }],
    ['{}{"a":1}', { a: 1 }],
    ["null", {}],
    [null, {}],
    [undefined, {}],
    ["", {}],
    [" \n", {}],
    ['"{\\"a\\":1}"', { a: 1 }],
    ['""', {}],
    ["[]", {}],
    [[], {}],
    [{ a: 1 }, { a: 1 }],
    ['"word"', "word"],
    ["[1]", [1]],
  ])("arguments %j", async (given, expected) => {
    const calls = [{ id: 7, function: { name: "f", arguments: given } }];
    const { action } = await ask(completion(null, { message: { tool_calls: calls } }));
    expect(action).toMatchObject({
      finish: "tool-calls",
      message: { toolCalls: [{ id: "7", name: "f", arguments: expected }] },
    });
    expect(action.parseErrors).toBeUndefined();
  });

  test.each(['{"a":', '{"a":1}{"b":2}', "{}x", "a"])("arguments %j are the model's mistake", async (given) => {
    const calls = [{ id: "c", function: { name: "f", arguments: given } }];
    const { action } = await ask(completion(null, { message: { tool_calls: calls } }));
    expect(action.parseErrors).toMatchObject([{ text: given }]);
  });

  test("a call in the form before tools, and status 201", async () => {
    const called = completion(null, { message: { function_call: { name: "f", arguments: "{}" } } });
    expect((await ask({ ...called, status: 201 })).action).toMatchObject({
      finish: "tool-calls",
      message: { toolCalls: [{ name: "f", arguments: {} }] },
    });
  });

  test.each([
    { logprobs: { content: [{ token: "4", logprob: 0.5 }] } },
    { logprobs: { content: [{ token: "4", logprob: null }] } },
    { logprobs: "none" },
    { token_ids: [-1] },
  ])("tokens that nobody asked for: %j", async (choice) => {
    expect((await ask(completion("4", { choice }))).requests).toHaveLength(1);
    if ("logprobs" in choice) {
      await expect(ask(completion("4", { choice }), { logprobs: true, maxRetries: 0 })).rejects.toThrow();
    }
  });
});

describe("a retry", () => {
  test("does not pay again for an answer that is wrong in the same way", async () => {
    await using server = await chatServer(() => completion("4", { message: { content: 4 } }));
    const policy = openAICompatiblePolicy({ ...quick, baseUrl: server.baseUrl });
    await expect(policy.act(actRequest())).rejects.toMatchObject({ code: "policy.unavailable" });
    expect(server.requests).toHaveLength(2);
  });

  test.each([
    [{ error: { code: 429, message: "Slow" } }, "policy.unavailable", 2],
    [{ error: { code: "400", message: "prompt is too long: 3 tokens > 2" } }, "policy.prompt-too-long", 1],
    [{ error: { code: 403, message: "Your input was flagged" } }, "policy.rejected", 1],
    [{ error: "Overloaded" }, "policy.unavailable", 2],
    [{ choices: [{ error: { code: 502, message: "Bad" }, finish_reason: "error" }] }, "policy.unavailable", 2],
  ])("depends on the error in place of a completion: %j", async (body, code, requests) => {
    await using server = await chatServer(() => ({ body }));
    const policy = openAICompatiblePolicy({ ...quick, maxRetries: 1, baseUrl: server.baseUrl });
    await expect(policy.act(actRequest())).rejects.toMatchObject({ code });
    expect(server.requests).toHaveLength(requests);
  });

  test("waits as long as the words of a quota say", async () => {
    const quota = {
      error: { message: "You exceeded your current quota. Please retry in 20ms.", code: "insufficient_quota" },
    };
    const { retries } = await askScript((_request, index) =>
      index === 0 ? { status: 429, body: quota } : completion("4"),
    );
    expect(retries).toBe(1);
  });
});

describe("an answer without a message whose prompt was blocked", () => {
  const filtered = { hate: { filtered: false }, violence: { filtered: true, severity: "high" } };
  test.each([
    { promptFeedback: { blockReason: "PROHIBITED_CONTENT" }, usageMetadata: { promptTokenCount: 5 } },
    [{ promptFeedback: { blockReason: "SAFETY", safetyRatings: [] } }],
    { choices: [], promptFeedback: { blockReason: "OTHER" } },
    { choices: [{ index: 0, finish_reason: "content_filter", logprobs: null }] },
    { choices: [{ index: 0, finish_reason: "content_filter: PROHIBITED_CONTENT", message: null }] },
    { choices: [{ index: 0, finish_reason: "SAFETY" }] },
    { choices: [], prompt_filter_results: [{ prompt_index: 0, content_filter_results: filtered }] },
  ])("is not asked for again: %j", async (body) => {
    await using server = await chatServer(() => ({ body }));
    const policy = openAICompatiblePolicy({ ...quick, baseUrl: server.baseUrl });
    await expect(policy.act(actRequest())).rejects.toMatchObject({
      code: "policy.rejected",
      message: "The server's content filter blocked the prompt.",
      data: { reason: "content-filter" },
    });
    expect(server.requests).toHaveLength(1);
  });

  test.each([
    { choices: [] },
    { choices: [{ finish_reason: "stop" }] },
    { choices: [], prompt_filter_results: [{ content_filter_results: { hate: { filtered: false } } }] },
    { promptFeedback: {} },
  ])("is asked for again if nothing says so: %j", async (body) => {
    await using server = await chatServer((_, index) => (index === 0 ? { body } : completion("4")));
    const policy = openAICompatiblePolicy({ ...quick, baseUrl: server.baseUrl });
    expect((await policy.act(actRequest())).retries).toBe(1);
  });
});

describe("a refusal without a reason", () => {
  const forbidden = { status: 403, body: { error: "Forbidden" } };
  const asked = (text: string) => actRequest({ messages: [{ role: "user", content: [{ type: "text", text }] }] });

  test("is that of the prompt, until the server has refused three prompts and answered none", async () => {
    await using server = await chatServer(() => forbidden);
    const policy = openAICompatiblePolicy({ ...quick, baseUrl: server.baseUrl });
    const codeOf = (text: string) => policy.act(asked(text)).catch(({ code }) => code);
    expect(await Promise.all(["a", "a", "b", "a"].map(codeOf))).toEqual(Array(4).fill("policy.rejected"));
    expect(await codeOf("c")).toBe("policy.unauthorized");
    expect(await codeOf("d")).toBe("policy.unauthorized");
  });

  test("never ends a run after an answer", async () => {
    await using server = await chatServer((_, index) => (index === 0 ? completion("4") : forbidden));
    const policy = openAICompatiblePolicy({ ...quick, baseUrl: server.baseUrl });
    await policy.act(asked("first"));
    for (const text of ["a", "b", "c", "d"]) {
      await expect(policy.act(asked(text))).rejects.toMatchObject({ code: "policy.rejected" });
    }
  });
});

test("an overlong conversation is truncated with its reward", async () => {
  const environment = defineEnvironment({
    id: "chatty",
    tasks: [1],
    maxTurns: 5,
    reset: () => "Go.",
    step: () => ({ reward: 0.5, reply: "More." }),
  });
  const body = {
    code: "invalid",
    error: "This model's maximum prompt length is 9 but the request contains 12 tokens.",
  };
  await using server = await chatServer((_, index) => (index === 0 ? completion("4") : { status: 400, body }));
  const episode = await rolloutEpisode({
    environment,
    task: await (await environment.tasks("train")).get(0),
    policies: openAICompatiblePolicy({ ...quick, baseUrl: server.baseUrl }),
    seed: 1,
  });
  expect(episode).toMatchObject({ status: "truncated", limit: "tokens" });
  expect(episode.agents.agent!.reward).toMatchObject({ status: "scored", value: 0.5 });
});

describe("fields that a model refuses", () => {
  const refused = (text: string): ChatAnswer => ({ status: 400, body: { error: { message: text } } });
  /** Answers as gpt-5 and the o-series do. */
  const strict = (request: ChatRequest, _index: number): ChatAnswer => {
    if ("max_tokens" in request) {
      return refused(
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
      );
    }
    if ("temperature" in request) {
      return refused(
        "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.",
      );
    }
    return completion("4");
  };

  test("max_tokens is renamed once the server asks for it", async () => {
    await using server = await chatServer(strict);
    const policy = openAICompatiblePolicy({ ...quick, baseUrl: server.baseUrl, omit: ["temperature"] });
    await policy.act(actRequest());
    await policy.act(actRequest({ seed: 2 }));
    const { maxTokens } = actRequest().sampling;
    expect(server.requests.map(({ body }) => [body.max_tokens, body.max_completion_tokens, body.temperature])).toEqual([
      [maxTokens, undefined, undefined],
      [undefined, maxTokens, undefined],
      [undefined, maxTokens, undefined],
    ]);
  });

  test("a temperature is refused with the setting that leaves it out", async () => {
    await expect(askScript(strict)).rejects.toMatchObject({
      code: "policy.rejected",
      hint: expect.stringContaining("-M omit=[temperature]"),
    });
  });

  test("max_tokens is not renamed against the setting, and can be left out", async () => {
    await expect(askScript(strict, { maxTokensField: "max_tokens" })).rejects.toMatchObject({
      code: "policy.rejected",
    });
    const { requests } = await askScript(strict, { omit: ["max_tokens", "temperature", "seed"] });
    expect(requests).toEqual([{ model: "m", messages: [expect.anything()] }]);
    const renamed = await askScript(strict, { maxTokensField: "max_completion_tokens", omit: ["temperature"] });
    expect(renamed.requests).toHaveLength(1);
  });

  test("a field that every request needs cannot be left out", () => {
    expect(() => openAICompatiblePolicy({ ...quick, baseUrl: "http://h/v1", omit: ["messages"] })).toThrow(/needs/);
  });
});
