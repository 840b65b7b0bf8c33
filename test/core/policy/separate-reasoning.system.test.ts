import { expect, it } from "vitest";
import { captureServer } from "../../../server/capture/index.ts";
import { type Part, textMessage } from "../../../src/contract/message.ts";
import type { Policy } from "../../../src/contract/policy.ts";
import { defineEnvironment } from "../../../src/core/environment/define-environment.ts";
import { aiSdkPolicy } from "../../../src/core/policy/ai-sdk/index.ts";
import { openAICompatiblePolicy } from "../../../src/core/policy/openai-compatible/openai-compatible-policy.ts";
import { scriptedPolicy } from "../../../src/core/policy/scripted-policy.ts";
import { EpisodeWarnings } from "../../../src/core/rollout/episode-warnings.ts";
import { rolloutEpisode } from "../../../src/core/rollout/rollout-episode.ts";
import { chatServer } from "./chat-server.ts";

const exact = defineEnvironment<string, { turn: number }>({
  id: "exact",
  tasks: ["Six times seven?"],
  maxTurns: 2,
  reset: ({ task }) => ({ prompt: task, state: { turn: 0 } }),
  step: ({ text, state }) => {
    state.turn += 1;
    const reward = Number(text === "42") / 2;
    return state.turn === 2 ? { reward } : { reward, reply: "Again?", state };
  },
});

/** Plays the environment, and returns the reward, the parts of the first answer and the warnings. */
async function played(policy: Policy) {
  const task = await (await exact.tasks("train")).get(0);
  const episode = await rolloutEpisode({ environment: exact, task, policies: policy, seed: 1 });
  const { reward, nodes, turns } = episode.agents.agent!;
  const parts = nodes[turns[0]!.node]!.message.content.map(({ type, ...part }: Part) => [
    type,
    "text" in part && part.text,
  ]);
  return {
    reward: reward.status === "scored" ? reward.value : reward,
    parts,
    warnings: new EpisodeWarnings(exact).of([episode]),
  };
}

const body = (content: string | null, more: object = {}): object => ({
  choices: [{ finish_reason: "stop", message: { role: "assistant", content, ...more } }],
  usage: { prompt_tokens: 1, completion_tokens: 9 },
});
const sdkModel = (text: string) =>
  ({
    specificationVersion: "v2",
    provider: "p",
    modelId: "m",
    doGenerate: async () => ({
      content: [{ type: "text", text }],
      finishReason: "stop",
      usage: { inputTokens: 1, outputTokens: 2 },
      warnings: [],
    }),
  }) as never;
const plain = (text: string): Policy => ({
  specificationVersion: "v1",
  name: "plain",
  accepts: ["text"],
  act: async () => ({ action: { message: textMessage("assistant", text), finish: "stop" } }),
});

it.each([
  [
    "a right answer after wrong reasoning",
    "<think>41?</think>\n\n42",
    1,
    [
      ["reasoning", "41?"],
      ["text", "42"],
    ],
  ],
  ["a right answer in reasoning that is cut", "<think>42", 0, [["reasoning", "42"]]],
  [
    "a right answer in reasoning, and a wrong one",
    "42</think>41",
    0,
    [
      ["reasoning", "42"],
      ["text", "41"],
    ],
  ],
])("every policy scores %s alike", async (_, text, reward, parts) => {
  await using server = await chatServer(() => ({ body: body(text) }));
  const policies = [
    openAICompatiblePolicy({ baseUrl: server.baseUrl, model: "m" }),
    aiSdkPolicy(sdkModel(text)),
    scriptedPolicy(() => text),
    plain(text),
  ];
  for (const policy of policies) expect(await played(policy)).toMatchObject({ reward, parts });
  expect(server.requests).toHaveLength(2);
  expect(JSON.stringify(server.requests.map((request) => request.body.messages))).not.toMatch(/think|41\?/);
});

it("programs get reasoning apart from the answer", async () => {
  await using server = await captureServer();
  await using session = server.open({ policy: plain("<think>41?</think>42") });
  const response = await fetch(`${server.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${session.id}` },
    body: JSON.stringify({ messages: [{ role: "user", content: "?" }] }),
  });
  const { choices } = (await response.json()) as { choices: [{ message: object }] };
  expect(choices[0].message).toMatchObject({ content: "42", reasoning_content: "41?" });
});

it("says so if an answer is reasoning alone", async () => {
  await using server = await chatServer(() => ({ body: body(null, { reasoning_content: "It is 42." }) }));
  const { reward, warnings } = await played(openAICompatiblePolicy({ baseUrl: server.baseUrl, model: "m" }));
  expect(reward).toBe(0);
  expect(warnings).toEqual([expect.stringMatching(/turn 0: .*reasoning alone.*reasoning parser/)]);
  expect((await played(scriptedPolicy(() => "<think>a</think>42"))).warnings).toEqual([]);
  expect((await played(scriptedPolicy(() => ""))).warnings).toEqual([]);
});

it.each([undefined, "reasoning_content", "reasoning"] as const)("earlier reasoning is sent as %s", async (field) => {
  const answers = [body("<think>41?</think>41"), body(null, { reasoning_content: "It is 42." }), body("42")];
  await using server = await chatServer((_, index) => ({ body: answers[index]! }));
  const options = { baseUrl: server.baseUrl, model: "m", ...(field === undefined ? {} : { reasoningField: field }) };
  const policy = openAICompatiblePolicy(options);
  await played(policy);
  const { messages } = server.requests[1]!.body;
  const earlier = field === undefined ? {} : { [field]: "41?" };
  expect(messages).toEqual([
    { role: "user", content: "Six times seven?" },
    { role: "assistant", content: "41", ...earlier },
    { role: "user", content: "Again?" },
  ]);
  expect(server.requests[0]!.body.messages).toEqual(messages.slice(0, 1));
});

it("earlier reasoning has no field without messages", () => {
  const options = { baseUrl: "http://127.0.0.1/v1", model: "m", endpoint: "completions" } as const;
  expect(() => openAICompatiblePolicy({ ...options, reasoningField: "reasoning" })).toThrow(
    expect.objectContaining({ code: "config.invalid", hint: expect.stringContaining("reasoningField") }),
  );
});
