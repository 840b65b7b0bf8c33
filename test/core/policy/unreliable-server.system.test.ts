import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Episode } from "../../../src/contract/episode.ts";
import { defineEnvironment } from "../../../src/core/environment/define-environment.ts";
import {
  type OpenAICompatibleOptions,
  openAICompatiblePolicy,
} from "../../../src/core/policy/openai-compatible/openai-compatible-policy.ts";
import { rollout } from "../../../src/core/rollout/rollout.ts";
import { type ChatAnswer, type ChatRequest, type ChatServer, chatServer, completion } from "./chat-server.ts";
import { stallingFaults, transientFaults } from "./server-faults.ts";
import { asTextAnswer } from "./text-answer.ts";

/** The number of tasks. */
const count = 5;

/** Two questions per task. A wrong answer has a reward of 0.1, so a reward of 1 proves that the model answered. */
const doubling = defineEnvironment<number, { left: number; asked: number }>({
  id: "doubling",
  tasks: Array.from({ length: count }, (_, index) => index),
  maxTurns: 2,
  reset: ({ task }) => ({ prompt: `Twice ${task}?`, state: { left: 2, asked: task } }),
  step: ({ state, text }) => {
    const reward = text === String(2 * state.asked) ? 0.5 : 0;
    state.left -= 1;
    if (state.left === 0) return { reward };
    state.asked += 100;
    return { reward, reply: `And twice ${state.asked}?` };
  },
});

type Endpoint = NonNullable<OpenAICompatibleOptions["endpoint"]>;

/** Faults that a text completion can have too. */
const textFaults = Object.fromEntries(
  Object.entries(transientFaults)
    .filter(([name]) => name !== "tool calls without a name")
    .map(([name, fault]) => [name, asTextAnswer(fault)]),
);

/** The requests to each endpoint, and the faults of their answers. */
const faultsAt: Readonly<Record<Endpoint, Readonly<Record<string, ChatAnswer>>>> = {
  chat: { ...transientFaults, ...stallingFaults },
  completions: { ...textFaults, ...stallingFaults },
};

/** Every fault at every endpoint. */
const cases = Object.entries(faultsAt).flatMap(([endpoint, faults]) =>
  Object.entries(faults).map(([name, fault]) => [endpoint as Endpoint, name, fault] as const),
);

/** All texts so far. */
function conversation({ messages, prompt }: ChatRequest): string {
  return messages === undefined ? String(prompt) : messages.map(({ content }) => content).join("");
}

/** The right answer to the last question, in the form of its endpoint. */
function honest(request: ChatRequest): ChatAnswer {
  const asked = [...conversation(request).matchAll(/twice (\d+)/gi)].at(-1)![1]!;
  const answer = completion(String(2 * Number(asked)));
  return request.messages === undefined ? asTextAnswer(answer) : answer;
}

const quick = { model: "m", timeoutMs: 20_000, maxRetries: 3, retryDelayMs: 1, maxRetryDelayMs: 2 } as const;

async function play(server: ChatServer, options: Partial<OpenAICompatibleOptions> = {}): Promise<readonly Episode[]> {
  const policies = openAICompatiblePolicy({ ...quick, baseUrl: server.baseUrl, ...options });
  const episodes: Episode[] = [];
  const tasks = await doubling.tasks("train");
  for await (const event of rollout({ environment: doubling, tasks, policies, seed: 1, concurrency: 4 })) {
    if (event.type === "episode-end") episodes.push(event.episode);
  }
  return episodes;
}

/** Checks every episode: it has the reward of the model's own answer, or it is unscored. */
function checkOutcome({ status, agents, error }: Episode): void {
  const { reward } = agents.agent!;
  if (status === "completed") expect(reward).toMatchObject({ status: "scored", value: 1 });
  else {
    expect(status).toBe("failed");
    expect(reward).toMatchObject({ status: "unscored", error: { code: "policy.unavailable" } });
    expect(error!.hint).toBeDefined();
  }
}

const rejections: unknown[] = [];
const onRejection = (reason: unknown): void => {
  rejections.push(reason);
};
beforeEach(() => void process.on("unhandledRejection", onRejection));
afterEach(async () => {
  await new Promise((resolve) => setImmediate(resolve));
  process.off("unhandledRejection", onRejection);
  expect(rejections.splice(0)).toEqual([]);
});

/** Short for tests that wait for it. */
const stallTimeouts = Object.keys(stallingFaults).map((name) => [name, 100] as const);
const timeouts = new Map<string, number>(stallTimeouts);

describe("a temporary fault", () => {
  test.each(cases)("%s: %s", async (endpoint, name, fault) => {
    const tried = new Set<string>();
    await using server = await chatServer((request) => {
      const key = conversation(request);
      if (tried.has(key) || !key.includes("wice 10")) return honest(request);
      tried.add(key);
      return fault;
    });
    const timeoutMs = timeouts.get(name) ?? quick.timeoutMs;
    const episodes = await play(server, { endpoint, timeoutMs });
    expect(episodes).toHaveLength(count);
    for (const episode of episodes) expect(episode).toMatchObject({ status: "completed" });
    for (const episode of episodes) checkOutcome(episode);
    expect(tried.size).toBeGreaterThan(1);
    const retried = episodes.flatMap(({ agents }) => agents.agent!.turns.filter(({ retries = 0 }) => retries > 0));
    // A valid answer may be late too if the time is short.
    if (timeoutMs === quick.timeoutMs) expect(retried.map(({ retries }) => retries)).toEqual(Array(tried.size).fill(1));
    else expect(retried.length).toBeGreaterThanOrEqual(tried.size);
  });
});

describe("a permanent fault", () => {
  test.each(cases)("%s: %s", async (endpoint, name, fault) => {
    await using server = await chatServer((request) =>
      conversation(request).includes("wice 3") ? fault : honest(request),
    );
    const timeoutMs = timeouts.get(name) ?? quick.timeoutMs;
    const episodes = await play(server, { endpoint, timeoutMs, maxRetries: 1 });
    expect(episodes).toHaveLength(count);
    for (const episode of episodes) checkOutcome(episode);
    const failed = episodes.filter(({ status }) => status === "failed");
    expect(failed.map(({ task }) => task.index)).toContain(3);
    if (!timeouts.has(name)) expect(failed).toHaveLength(1);
    expect(failed.find(({ task }) => task.index === 3)!.error!.message).toMatch(/The last of 2 tries: /);
  });
});

test.each(
  Object.entries(faultsAt),
)("whatever a server does at %s, a run ends, loses nothing and scores no agent for its fault", async (endpoint, faults) => {
  const fault = fc.constantFrom(null, null, ...Object.keys(faults));
  await fc.assert(
    fc.asyncProperty(fc.array(fault, { minLength: 1, maxLength: 40 }), async (schedule) => {
      await using server = await chatServer((request, index) => {
        const name = schedule[index % schedule.length];
        return name === null || name === undefined ? honest(request) : faults[name]!;
      });
      const episodes = await play(server, { endpoint: endpoint as Endpoint, timeoutMs: 40, maxRetries: 2 });
      expect(episodes.map(({ task }) => task.index).sort((a, b) => a - b)).toEqual(Array.from(Array(count).keys()));
      for (const episode of episodes) checkOutcome(episode);
      if (schedule.every((name) => name === null)) {
        expect(episodes.every(({ status }) => status === "completed")).toBe(true);
      }
    }),
    { numRuns: 15 },
  );
});

describe.each(["chat", "completions"] as const)("a permanent refusal, at %s", (endpoint) => {
  test.each([
    [401, { error: { message: "Incorrect API key provided: sk-secret." } }, "policy.unauthorized", /apiKey/],
    [403, { error: { message: "Your API key has no permission" } }, "policy.unauthorized", /apiKey/],
    [402, { detail: "Payment required" }, "policy.unauthorized", /credit/],
    [
      429,
      { error: { message: "You exceeded your current quota", code: "insufficient_quota" } },
      "policy.unauthorized",
      /credit/,
    ],
    [404, { error: "model 'm' not found" }, "policy.rejected", /serves the model "m"/],
    [
      400,
      { object: "error", message: "top_k must be -1 or at least 1", code: 400 },
      "policy.rejected",
      /rejects this request/,
    ],
    [422, { detail: [{ loc: ["body"] }] }, "policy.rejected", /rejects this request/],
    [501, "", "policy.rejected", /rejects this request/],
    [307, "", "policy.rejected", /redirects/],
  ])("%s ends the action immediately: %j", async (status, body, code, hint) => {
    await using server = await chatServer(() => ({ status, body }));
    const episodes = await play(server, { endpoint, apiKey: "sk-secret" });
    for (const { error, agents } of episodes) {
      expect(error).toMatchObject({ code, hint: expect.stringMatching(hint) });
      expect(agents.agent!.reward.status).toBe("unscored");
    }
    expect(server.requests).toHaveLength(count);
    expect(JSON.stringify(episodes)).not.toContain("sk-secret");
  });

  test.each([
    {
      error: {
        code: 400,
        message: "the request exceeds the available context size",
        type: "exceed_context_size_error",
      },
    },
    {
      message: "This model's maximum context length is 2048 tokens. However, you requested 3000.",
      type: "BadRequestError",
    },
    { error: { message: "Too long.", code: "context_length_exceeded" } },
    { error: "Input validation error: `inputs tokens + max_new_tokens` must be <= 4096. Given: 5000" },
  ])("a prompt that does not fit: %j", async (body) => {
    await using server = await chatServer((request) =>
      conversation(request).includes("And") ? { status: 400, body } : honest(request),
    );
    const episodes = await play(server, { endpoint });
    for (const episode of episodes) expect(episode).toMatchObject({ status: "truncated", limit: "tokens", turns: 1 });
  });

  test("a content filter", async () => {
    const filtered = completion("I", { choice: { finish_reason: "content_filter" } });
    await using server = await chatServer(() => (endpoint === "chat" ? filtered : asTextAnswer(filtered)));
    const [episode] = await play(server, { endpoint });
    expect(episode).toMatchObject({ status: "failed", error: { code: "policy.rejected" } });
    expect(server.requests).toHaveLength(count);
  });
});
