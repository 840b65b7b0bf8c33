import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { textMessage, textOf } from "../../src/contract/message.ts";
import type { Policy } from "../../src/contract/policy.ts";
import { openAICompatiblePolicy } from "../../src/core/policy/openai-compatible/openai-compatible-policy.ts";
import { loadTokenizer } from "../../src/core/tokens/huggingface-tokenizer.ts";
import { loadRenderer } from "../../src/core/tokens/load-renderer.ts";
import { createTextRenderer } from "../../src/core/tokens/text-renderer.ts";
import { greedyReference } from "./reference.ts";
import { provideServingPackages } from "./serving-packages.ts";
import { startTransformersServer, type TransformersServer } from "./transformers-server.ts";

const { smollm2, environment, quick } = inject("interop");

const questions = ["What is the capital of France?", "Write one sentence about the sea.", "What is 12 + 7?"];
const maxTokens = 16;

describe.skipIf(quick)("SmolLM2-135M-Instruct behind transformers serve (skipped in the quick run)", () => {
  let server: TransformersServer;
  let policy: Policy;

  beforeAll(async () => {
    const packages = await provideServingPackages(environment);
    server = await startTransformersServer({ environment, packages, model: smollm2 });
    policy = openAICompatiblePolicy({ baseUrl: server.baseUrl, model: smollm2, maxRetries: 0 });
  });
  afterAll(() => server?.[Symbol.asyncDispose]());

  const ask = (question: string, stop?: readonly string[]) =>
    policy.act({
      agent: "agent",
      messages: [textMessage("user", question)],
      sampling: { temperature: 0, maxTokens, ...(stop === undefined ? {} : { stop }) },
      seed: 1,
    });

  test("answers greedily like transformers' generate, and counts the same tokens", async () => {
    const renderer = await loadRenderer(smollm2);
    const prompts = questions.map((question) => renderer.start({ messages: [textMessage("user", question)] }));
    const [reference] = await greedyReference([{ checkpoint: smollm2, prompts, tokens: maxTokens }]);
    for (const [index, question] of questions.entries()) {
      const { ids, gaps } = reference![index]!;
      expect(Math.min(...gaps), "a near tie: choose another question").toBeGreaterThan(1e-3);
      const end = ids.findIndex((id) => renderer.stopTokenIds.includes(id));
      const sampled = end < 0 ? ids : ids.slice(0, end + 1);
      const { action, usage } = await ask(question);
      expect(action).toEqual(renderer.parse({ ids: sampled, finish: end < 0 ? "length" : "stop" }));
      expect(usage).toEqual({ promptTokens: prompts[index]!.length, completionTokens: sampled.length });
    }
  });

  test("continues a text at its completions endpoint like transformers' generate", async () => {
    const { baseUrl } = server;
    const continuing = openAICompatiblePolicy({ baseUrl, model: smollm2, endpoint: "completions", maxRetries: 0 });
    const renderer = createTextRenderer(await loadTokenizer(smollm2));
    const texts = [
      "The capital of France is",
      "Question: 2 + 2?\nAnswer: 4\n\nQuestion: 3 + 4?\nAnswer: 7\n\nQuestion: 5 + 1?\nAnswer:",
      "def add(a, b):\n    ",
    ];
    const messages = texts.map((text) => [textMessage("user", text)]);
    const prompts = messages.map((conversation) => renderer.start({ messages: conversation }));
    const [reference] = await greedyReference([{ checkpoint: smollm2, prompts, tokens: maxTokens }]);
    for (const [index, conversation] of messages.entries()) {
      const { ids, gaps } = reference![index]!;
      expect(Math.min(...gaps), "a near tie: choose another text").toBeGreaterThan(1e-3);
      const end = ids.findIndex((id) => renderer.stopTokenIds.includes(id));
      const sampled = end < 0 ? ids : ids.slice(0, end + 1);
      const sampling = { temperature: 0, maxTokens };
      const { action, usage } = await continuing.act({ agent: "agent", messages: conversation, sampling, seed: 1 });
      expect(action).toEqual(renderer.parse({ ids: sampled, finish: end < 0 ? "length" : "stop" }));
      expect(usage).toEqual({ promptTokens: prompts[index]!.length, completionTokens: sampled.length });
    }
  });

  test("ends before a stop sequence, which this server keeps", async () => {
    const { action } = await ask(questions[0]!, ["capital"]);
    expect(textOf(action.message)).toBe("The ");
    expect(action.finish).toBe("stop");
  });

  test("reports the server's error for an unknown field", async () => {
    const asking = openAICompatiblePolicy({ baseUrl: server.baseUrl, model: smollm2, extraBody: { nonsense: 1 } });
    const request = {
      agent: "a",
      messages: [textMessage("user", "Hi")],
      sampling: { temperature: 0, maxTokens: 1 },
      seed: 1,
    };
    await expect(asking.act(request)).rejects.toMatchObject({
      code: "policy.rejected",
      message: expect.stringContaining("nonsense"),
    });
  });
});
