import { beforeAll, describe, expect, inject, test } from "vitest";
import { textMessage } from "../../src/contract/message.ts";
import type { ActRequest } from "../../src/contract/policy.ts";
import { type AiSdkModel, aiSdkPolicy } from "../../src/core/policy/ai-sdk/index.ts";
import { type ChatAnswer, chatServer, completion } from "../core/policy/chat-server.ts";
import { stallingFaults, transientFaults } from "../core/policy/server-faults.ts";
import { providePackage } from "./serving-packages.ts";

const { environment } = inject("interop");

/** The part of `@ai-sdk/openai-compatible` that is used. */
interface Providers {
  createOpenAICompatible(options: { readonly name: string; readonly baseURL: string; readonly apiKey: string }): {
    chatModel(modelId: string): AiSdkModel;
  };
}

let providers: Providers;
beforeAll(async () => {
  const name = "@ai-sdk/openai-compatible";
  const installed = { environment, name, version: "3.0.92", main: "dist/index.js", download: "2 MB" };
  providers = (await providePackage(installed)) as Providers;
});

const request: ActRequest = {
  agent: "agent",
  messages: [textMessage("user", "Twice 2?")],
  sampling: { temperature: 0.5, maxTokens: 16, topP: 0.9, stop: ["END"] },
  seed: 1,
};

async function ask(answers: readonly [ChatAnswer, ...ChatAnswer[]], asked: ActRequest = request) {
  await using server = await chatServer((_, index) => answers[Math.min(index, answers.length - 1)]!);
  const { createOpenAICompatible } = providers;
  const model = createOpenAICompatible({ name: "local", baseURL: server.baseUrl, apiKey: "k" }).chatModel("m");
  const serving = { retryDelayMs: 1, maxRetryDelayMs: 2, timeoutMs: 2_000, maxRetries: 1 };
  const result = await aiSdkPolicy(model, serving).act(asked);
  return { result, requests: server.requests };
}

describe("a model of @ai-sdk/openai-compatible", () => {
  test("receives every setting, tool and key, and its calls are returned", async () => {
    const call = { id: "c", type: "function", function: { name: "add", arguments: '{"a":2}' } };
    const choice = { finish_reason: "tool_calls" };
    const parameters = { type: "object", properties: { a: { type: "number" } } };
    const asked = { ...request, tools: [{ name: "add", description: "Adds.", parameters }] };
    const { result, requests } = await ask([completion(null, { choice, message: { tool_calls: [call] } })], asked);
    expect(requests[0]!.headers.authorization).toBe("Bearer k");
    expect(requests[0]!.body).toMatchObject({
      model: "m",
      messages: [{ role: "user", content: "Twice 2?" }],
      temperature: 0.5,
      max_tokens: 16,
      top_p: 0.9,
      stop: ["END"],
      seed: 1,
      tools: [{ type: "function", function: { name: "add", description: "Adds.", parameters } }],
    });
    expect(result).toMatchObject({
      action: { finish: "tool-calls", message: { toolCalls: [{ id: "c", name: "add", arguments: { a: 2 } }] } },
      usage: { promptTokens: 11, completionTokens: 2 },
    });
  });

  /** Responses that this provider accepts as an answer, so its caller cannot detect them. */
  const unseen: readonly string[] = [
    "two choices",
    "log-probabilities above 0",
    "a log-probability of null",
    "fewer log-probabilities than tokens",
    "a token id below 0",
    "text that is no UTF-8",
  ];
  const faults = Object.entries({ ...transientFaults, ...stallingFaults }).filter(([name]) => !unseen.includes(name));

  test.each(faults)("is retried after: %s", async (_, fault) => {
    const { result } = await ask([fault, completion("4")]);
    expect(result).toMatchObject({ action: { finish: "stop", message: textMessage("assistant", "4") }, retries: 1 });
    await expect(ask([fault])).rejects.toMatchObject({ code: "policy.unavailable" });
  });

  test.each([
    [401, "policy.unauthorized"],
    [400, "policy.rejected"],
    [404, "policy.rejected"],
  ])("is not retried after a status of %s", async (status, code) => {
    await expect(ask([{ status, body: { error: { message: "no" } } }])).rejects.toMatchObject({ code });
  });
});
