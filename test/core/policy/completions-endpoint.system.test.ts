import { describe, expect, onTestFinished, test } from "vitest";
import { textMessage } from "../../../src/contract/message.ts";
import { defaultSampling } from "../../../src/contract/sampler.ts";
import { TokenPrefix } from "../../../src/contract/token-prefix.ts";
import {
  type OpenAICompatibleOptions,
  openAICompatiblePolicy,
} from "../../../src/core/policy/openai-compatible/openai-compatible-policy.ts";
import { policyConformance } from "../../../src/entry-points/testing.ts";
import { describeCases } from "../../testing/describe-cases.ts";
import { actRequest } from "./act-request.ts";
import { type ChatAnswer, chatServer, completion } from "./chat-server.ts";
import { asTextAnswer } from "./text-answer.ts";

const asked = actRequest({ messages: [textMessage("user", "def twice(n):\n")] });

/** A server with this answer, and a policy that sends it one request. */
async function subject(answer: ChatAnswer, options: Partial<OpenAICompatibleOptions> = {}) {
  const server = await chatServer(() => answer);
  onTestFinished(() => server[Symbol.asyncDispose]());
  const { baseUrl } = server;
  return {
    server,
    policy: openAICompatiblePolicy({ baseUrl, model: "m", endpoint: "completions", maxRetries: 0, ...options }),
  };
}

const text = (content: string, options: Parameters<typeof completion>[1] = {}): ChatAnswer =>
  asTextAnswer(completion(content, options));

describeCases(
  "a model at the completions endpoint",
  policyConformance(async () => {
    const { policy } = await subject(text("    return 2 * n"));
    return { policy, request: asked };
  }),
);

describe("a request", () => {
  test("is one text, every setting, the key and further fields", async () => {
    const paths: unknown[] = [];
    const { server, policy } = await subject(
      (response, { url }) => {
        paths.push(url);
        response.end(JSON.stringify((text("4") as { readonly body: object }).body));
      },
      { apiKey: "sk-1", extraBody: { add_special_tokens: false } },
    );
    await policy.act({
      ...asked,
      messages: [
        textMessage("user", "1 + 1 ="),
        {
          role: "assistant",
          content: [
            { type: "reasoning", text: "hm" },
            { type: "text", text: " 2" },
          ],
        },
        textMessage("user", "\n2 + 2 ="),
      ],
      sampling: { temperature: 0.5, maxTokens: 8, topK: 4, topP: 0.9, minP: 0.1, stop: ["\n"] },
      seed: 2 ** 31 + 7,
    });
    expect(paths).toEqual(["/v1/completions"]);
    expect(server.requests[0]!.headers.authorization).toBe("Bearer sk-1");
    expect(server.requests[0]!.body).toStrictEqual({
      model: "m",
      prompt: "1 + 1 = 2\n2 + 2 =",
      temperature: 0.5,
      max_tokens: 8,
      seed: 7,
      top_p: 0.9,
      top_k: 4,
      min_p: 0.1,
      stop: ["\n"],
      add_special_tokens: false,
    });
  });

  test("is never a tool or an image", async () => {
    const { server, policy } = await subject(text("4"), { accepts: ["text", "image"] });
    const tools = [{ name: "add", description: "Adds.", parameters: {} }];
    const image = { type: "image", mediaType: "image/png", data: "aGk=" } as const;
    const refused = { code: "policy.unsupported-input" };
    await expect(policy.act({ ...asked, tools })).rejects.toMatchObject(refused);
    const messages = [{ role: "user", content: [image] }] as const;
    await expect(policy.act({ ...asked, messages })).rejects.toMatchObject(refused);
    expect(server.requests).toHaveLength(0);
  });
});

describe("an answer", () => {
  test("is the text before the stop string, and its finish reason", async () => {
    const { policy } = await subject(text(" 4\nQuestion: 5", { choice: { finish_reason: "length" } }));
    const { action, usage } = await policy.act({ ...asked, sampling: { ...defaultSampling, stop: ["Question:"] } });
    expect(action).toEqual({ message: textMessage("assistant", " 4\n"), finish: "length" });
    expect(usage).toEqual({ promptTokens: 11, completionTokens: 2 });
  });

  test("may be empty if the model sampled its end or the server counts no tokens", async () => {
    for (const usage of [{ prompt_tokens: 5, completion_tokens: 1 }, undefined]) {
      const { policy } = await subject(text("", { body: { usage } }));
      expect((await policy.act(asked)).action).toEqual({ message: textMessage("assistant", ""), finish: "stop" });
    }
  });

  const content = [
    { token: "4", logprob: -0.25 },
    { token: "</s>", logprob: 1e-7 },
  ];

  test("has log-probabilities in either form of servers", async () => {
    const lists = await subject(text("4", { choice: { logprobs: { content } } }), { logprobs: true });
    expect((await lists.policy.act(asked)).logprobs).toEqual([
      { text: "4", logprob: -0.25 },
      { text: "</s>", logprob: 0 },
    ]);
    expect(lists.server.requests[0]!.body).toMatchObject({ logprobs: 1 });
    expect(lists.server.requests[0]!.body).not.toHaveProperty("return_token_ids");

    const withIds = content.map((entry, id) => ({ ...entry, id }));
    const body = { choices: [{ text: "4", finish_reason: "stop", logprobs: { content: withIds } }] };
    const chatForm = await subject({ body }, { logprobs: true });
    expect((await chatForm.policy.act(asked)).logprobs).toEqual([
      { text: "4", logprob: -0.25, id: 0 },
      { text: "</s>", logprob: 0, id: 1 },
    ]);
  });

  test("with two lists that do not fit is the server's fault", async () => {
    const logprobs = { tokens: ["4", "</s>"], token_logprobs: [-0.25] };
    const body = { choices: [{ text: "4", finish_reason: "stop", logprobs }] };
    const { policy } = await subject({ body }, { logprobs: true });
    await expect(policy.act(asked)).rejects.toMatchObject({
      code: "policy.unavailable",
      message: expect.stringContaining("2 tokens and 1 log-probabilities"),
    });
  });

  test("has tokens to train on if the server returns their ids, and extends those of earlier turns", async () => {
    const answer = text("4", {
      choice: { logprobs: { content }, token_ids: [9, 2] },
      body: { prompt_token_ids: [1, 5, 6] },
    });
    const { server, policy } = await subject(answer, { tokenIds: true });
    const previous = { ids: TokenPrefix.empty.append([1, 5]), messageCount: 1 };
    const { tokens, logprobs } = await policy.act({ ...asked, previous });
    expect(server.requests[0]!.body).toMatchObject({ logprobs: 1, return_token_ids: true });
    expect(tokens).toEqual({
      extendsPrevious: true,
      newPromptIds: [6],
      promptLength: 3,
      completionIds: [9, 2],
      logprobs: [-0.25, 0],
      weightsVersion: 0,
    });
    expect(logprobs).toBeUndefined();
    const warm = await policy.act({ ...asked, sampling: { ...defaultSampling, temperature: 0.5 } });
    expect(warm.tokens).toBeUndefined();
    expect(warm.logprobs).toMatchObject([{ id: 9 }, { id: 2 }]);
  });
});
