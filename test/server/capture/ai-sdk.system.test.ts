import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, isStepCount, type LanguageModel, streamText, tool } from "ai";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { type CapturedCall, captureServer } from "../../../server/capture/index.ts";
import { callsOf, scriptedBytes } from "./scripted-bytes.ts";

const clients: Readonly<Record<string, (url: string, apiKey: string) => LanguageModel>> = {
  "openai-compatible": (url, apiKey) =>
    createOpenAICompatible({ name: "lyceum", baseURL: `${url}/v1`, apiKey, includeUsage: true })("model"),
  "openai chat": (url, apiKey) => createOpenAI({ baseURL: `${url}/v1`, apiKey }).chat("model"),
  "openai responses": (url, apiKey) => createOpenAI({ baseURL: `${url}/v1`, apiKey }).responses("model"),
  anthropic: (url, apiKey) => createAnthropic({ baseURL: `${url}/v1`, apiKey })("model"),
};

const tools = {
  add: tool({
    description: "Adds two numbers.",
    inputSchema: z.object({ a: z.number(), b: z.number() }),
    execute: async ({ a, b }) => String(a + b),
  }),
};

const answers = [
  callsOf("Adding.", ["add", { a: 1, b: 2 }], ["add", { a: 3, b: 4 }]),
  callsOf("", ["add", { a: 3, b: 7 }]),
  "It is 10.",
];

/** Checks that each call extends exactly the tokens of the one before. */
function expectChain(calls: readonly CapturedCall[]): void {
  let ids: readonly number[] = [];
  for (const [index, { promptIds, tokens, continues }] of calls.entries()) {
    expect(continues).toBe(index === 0 ? undefined : index - 1);
    expect(tokens!.extendsPrevious).toBe(index > 0);
    expect(promptIds!.slice(0, ids.length)).toEqual(ids);
    ids = [...promptIds!, ...tokens!.completionIds];
  }
}

describe.each(Object.entries(clients))("the AI SDK's %s client", (_, modelOf) => {
  test("plays turns with tools, and each call extends the sampled ids", async () => {
    const { policy, requests } = scriptedBytes(answers);
    await using server = await captureServer();
    await using session = server.open({ policy, sampling: { temperature: 0.5 } });
    const { text, steps, usage } = await generateText({
      model: modelOf(server.url, session.id),
      system: "Use the tool.",
      prompt: "1 + 2 + (3 + 4)",
      tools,
      stopWhen: isStepCount(5),
      maxOutputTokens: 100,
      temperature: 0.9,
      maxRetries: 0,
    });
    const calls = session.calls();
    expect(text).toBe("It is 10.");
    expect(steps.map(({ finishReason }) => finishReason)).toEqual(["tool-calls", "tool-calls", "stop"]);
    expectChain(calls);
    expect(calls.map(({ promptIds }) => promptIds)).toEqual(requests.map(({ promptIds }) => promptIds));
    expect(calls[2]!.messages.map(({ role }) => role)).toEqual(
      "system user assistant tool tool assistant tool".split(" "),
    );
    expect(calls[2]!.messages[4]).toMatchObject({ toolCallId: "call00001", name: "add", content: [{ text: "7" }] });
    expect(calls[0]).toMatchObject({ sampling: { temperature: 0.5, maxTokens: 100 }, tools: [{ name: "add" }] });
    expect(calls[0]!.requestedSampling.temperature).toBe(0.9);
    expect(usage.outputTokens).toBe(calls.reduce((sum, { tokens }) => sum + tokens!.completionIds.length, 0));
  });

  test("streams the same turns", async () => {
    const { policy } = scriptedBytes(answers);
    await using server = await captureServer();
    await using session = server.open({ policy });
    const result = streamText({
      model: modelOf(server.url, session.id),
      prompt: "1 + 2 + (3 + 4)",
      tools,
      stopWhen: isStepCount(5),
      maxRetries: 0,
    });
    let streamed = "";
    for await (const piece of result.textStream) streamed += piece;
    expect(streamed).toBe("Adding.It is 10.");
    expect((await result.usage).outputTokens).toBeGreaterThan(0);
    expect(session.calls()).toHaveLength(3);
    expectChain(session.calls());
  });

  test("reports the error of a feature that is not supported", async () => {
    const { policy } = scriptedBytes([]);
    await using server = await captureServer();
    await using session = server.open({ policy });
    const failing = generateText({
      model: modelOf(server.url, session.id),
      prompt: "1 + 2",
      tools,
      toolChoice: "required",
      maxRetries: 0,
    });
    await expect(failing).rejects.toThrow("A tool_choice other than auto and none is not supported.");
  });
});
