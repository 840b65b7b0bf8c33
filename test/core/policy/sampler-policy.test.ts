import { getEventListeners } from "node:events";
import { describe, expect, test } from "vitest";
import { textMessage, textOf } from "../../../src/contract/message.ts";
import type { ActRequest } from "../../../src/contract/policy.ts";
import type { Sampler } from "../../../src/contract/sampler.ts";
import { TokenPrefix } from "../../../src/contract/token-prefix.ts";
import { samplerPolicy } from "../../../src/core/policy/sampler-policy.ts";
import { collectGroups } from "../../../src/core/rollout/collect-groups.ts";
import { rollout } from "../../../src/core/rollout/rollout.ts";
import { rolloutEpisode } from "../../../src/core/rollout/rollout-episode.ts";
import { tokenSequences } from "../../../src/core/rollout/token-sequences.ts";
import { characterRenderer, decodeCharacters } from "../rollout/character-renderer.ts";
import { countingEnvironment, forever, numbers, oneTask } from "../rollout/scripted-environment.ts";
import { seededSampler } from "../rollout/seeded-sampler.ts";
import { actRequest } from "./act-request.ts";

const renderer = characterRenderer();

function request(text: string, extra: Partial<ActRequest> = {}): ActRequest {
  return actRequest({ messages: [textMessage("user", text)], ...extra });
}

describe("batching", () => {
  test("queues ordered requests until flush, and sorts them", async () => {
    const sampler = seededSampler();
    const policy = samplerPolicy({ name: "model", sampler: () => sampler, renderer });
    const orders = [[2, 0], [0, 10], [0, 9], [1], [0, 9, 1]];
    const answers = orders.map((order) => policy.act(request(order.join("."), { order })));
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(sampler.batches).toHaveLength(0);
    policy.flush!();
    await Promise.all(answers);
    expect(sampler.batches).toHaveLength(1);
    const prompts = sampler.batches[0]!.requests.map(({ promptIds }) => decodeCharacters(promptIds));
    expect(prompts).toEqual(["0.9", "0.9.1", "0.10", "1", "2.0"]);
  });

  test("lets a sampler continue what it has read before, and reports the tokens that were not read", async () => {
    const asked: unknown[] = [];
    const sampler: Sampler = {
      specificationVersion: "v1",
      version: 1,
      async *sample(requests, options) {
        asked.push(options?.reuse);
        for (const request of requests.keys()) {
          const reused = request === 0 ? {} : { reusedTokens: 16 };
          yield { request, ids: [1], logprobs: [0], finish: "length", ...reused };
        }
      },
      close: async () => {},
    };
    const policy = samplerPolicy({ name: "model", sampler: () => sampler, renderer });
    const answers = await Promise.all(["a", "b"].map((text) => policy.act(request(text))));
    expect(asked).toEqual([true]);
    expect(answers.map(({ usage }) => usage?.cachedPromptTokens)).toEqual([undefined, 16]);
  });

  test.each([
    [4, [false, false, false, true]],
    [2, [false, true]],
    [1, [true]],
  ])("marks the completion after which an episode ends, within %i turns", async (turns, expected) => {
    const sampler = seededSampler();
    const policy = samplerPolicy({ name: "model", sampler: () => sampler, renderer });
    const environment = countingEnvironment(4);
    await rolloutEpisode({ environment, task: await oneTask(), policies: policy, seed: 0, limits: { turns } });
    const requests = sampler.batches.flatMap((batch) => batch.requests);
    expect(requests.map(({ last = false }) => last)).toEqual(expected);
  });

  test("counts each token once, whether its sampler reports unfinished completions or not", async () => {
    for (const tells of [false, true]) {
      const sampler: Sampler = {
        specificationVersion: "v1",
        version: 1,
        async *sample(requests, { onTokens } = {}) {
          if (tells) for (const count of [1, 3, 5]) onTokens?.(count);
          for (const index of requests.keys()) {
            yield { request: index, ids: [1, 2, 3], logprobs: [0, 0, 0], finish: "length" };
          }
        },
        close: async () => {},
      };
      const counts: number[] = [];
      const onTokens = (count: number): void => {
        counts.push(count);
      };
      const policy = samplerPolicy({ name: "model", sampler: () => sampler, renderer, onTokens });
      const answers = [1, 2].map((order) => policy.act(request("a", { order: [order] })));
      policy.flush!();
      await Promise.all(answers);
      expect(counts).toEqual(tells ? [1, 2, 2, 1] : [3, 3]);
    }
  });

  test("answers each request with its own sample", async () => {
    const sampler = seededSampler(7);
    const policy = samplerPolicy({ name: "model", sampler: () => sampler, renderer });
    const answers = [3, 1, 2].map((seed) => policy.act(request(`prompt ${seed}`, { seed, order: [seed] })));
    policy.flush!();
    const results = await Promise.all(answers);
    const { requests, samples } = sampler.batches[0]!;
    for (const [index, seed] of [3, 1, 2].entries()) {
      const place = requests.findIndex((asked) => asked.seed === seed);
      const sample = samples.find((candidate) => candidate.request === place)!;
      const { action, tokens, usage } = results[index]!;
      expect(tokens).toEqual({
        extendsPrevious: false,
        newPromptIds: renderer.start({ messages: [textMessage("user", `prompt ${seed}`)] }),
        promptLength: expect.any(Number),
        completionIds: sample.ids,
        logprobs: sample.logprobs,
        weightsVersion: 7,
      });
      expect(textOf(action.message)).toBe(decodeCharacters(sample.ids));
      expect(usage).toEqual({ promptTokens: tokens!.promptLength, completionTokens: sample.ids.length });
    }
  });

  test("sends requests without an order on its own, together, and not the ordered ones", async () => {
    const sampler = seededSampler();
    const policy = samplerPolicy({ name: "model", sampler: () => sampler, renderer });
    const held = policy.act(request("held", { order: [0] }));
    await Promise.all([policy.act(request("a")), policy.act(request("b"))]);
    expect(sampler.batches.map(({ requests }) => requests.length)).toEqual([2]);
    policy.flush!();
    await held;
    expect(sampler.batches.map(({ requests }) => requests.length)).toEqual([2, 1]);
  });

  test("samples nothing if the queue is empty at a flush", async () => {
    const sampler = seededSampler();
    samplerPolicy({ name: "model", sampler: () => sampler, renderer }).flush!();
    expect(sampler.batches).toHaveLength(0);
  });

  test("uses the newest weights for each batch", async () => {
    let version = 1;
    const policy = samplerPolicy({ name: "model", sampler: () => seededSampler(version), renderer });
    expect((await policy.act(request("a"))).tokens!.weightsVersion).toBe(1);
    version = 2;
    expect((await policy.act(request("a"))).tokens!.weightsVersion).toBe(2);
  });

  test("continues earlier tokens, or begins again if the template breaks", async () => {
    const messages = [textMessage("user", "a"), textMessage("assistant", "b"), textMessage("user", "c")];
    const ids = [...renderer.start({ messages: messages.slice(0, 1) }), 106];
    const asked = request("", { messages, previous: { ids: TokenPrefix.empty.append(ids), messageCount: 2 } });
    const act = async (breaks: boolean) => {
      const sampler = seededSampler();
      const renderer = characterRenderer(() => breaks);
      const { tokens } = await samplerPolicy({ name: "model", sampler: () => sampler, renderer }).act(asked);
      return { tokens: tokens!, promptIds: sampler.batches[0]!.requests[0]!.promptIds };
    };
    const extended = await act(false);
    expect(extended.tokens).toMatchObject({ extendsPrevious: true, promptLength: extended.promptIds.length });
    expect(extended.tokens.newPromptIds[0]).toBe(0);
    expect(extended.promptIds).toEqual([...ids, ...extended.tokens.newPromptIds]);
    const begun = await act(true);
    expect(begun.promptIds).toEqual(renderer.start({ messages }));
    expect(begun.tokens).toMatchObject({
      extendsPrevious: false,
      newPromptIds: begun.promptIds,
      promptLength: begun.promptIds.length,
    });
  });
});

describe("an abort", () => {
  test("removes one request from a batch that waits", async () => {
    const sampler = seededSampler();
    const policy = samplerPolicy({ name: "model", sampler: () => sampler, renderer });
    const controller = new AbortController();
    const doomed = policy.act(request("doomed", { order: [0], signal: controller.signal }));
    const other = policy.act(request("other", { order: [1] }));
    controller.abort();
    await expect(doomed).rejects.toMatchObject({ name: "AbortError" });
    policy.flush!();
    await other;
    expect(sampler.batches[0]!.requests).toHaveLength(1);
  });

  /** Answers the second request immediately and never answers the first. */
  function stuckSampler(signals: AbortSignal[]): Sampler {
    return {
      ...seededSampler(),
      sample: async function* (_, options) {
        signals.push(options!.signal!);
        yield { request: 1, ids: [105, 0], logprobs: [0, 0], finish: "stop" };
        await new Promise((_, reject) =>
          options!.signal!.addEventListener("abort", () => reject(options!.signal!.reason)),
        );
      },
    };
  }

  test("removes one request from a running batch, and the batch ends when none is left", async () => {
    const signals: AbortSignal[] = [];
    const policy = samplerPolicy({ name: "model", sampler: () => stuckSampler(signals), renderer });
    const controllers = [new AbortController(), new AbortController(), new AbortController()];
    const [first, second, third] = controllers.map(({ signal }, index) =>
      policy.act(request("x", { order: [index], signal })),
    );
    policy.flush!();
    expect(textOf((await second!).action.message)).toBe("a");
    controllers[0]!.abort();
    await expect(first).rejects.toMatchObject({ name: "AbortError" });
    expect(signals[0]!.aborted).toBe(false);
    controllers[2]!.abort();
    await expect(third).rejects.toMatchObject({ name: "AbortError" });
    expect(signals[0]!.aborted).toBe(true);
  });

  test("listeners are removed when a request is done", async () => {
    const policy = samplerPolicy({ name: "model", sampler: () => seededSampler(), renderer });
    const { signal } = new AbortController();
    for (let turn = 0; turn < 5; turn++) await policy.act(request("x", { signal }));
    await new Promise((resolve) => setImmediate(resolve));
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
  });

  test("before the request rejects it", async () => {
    const policy = samplerPolicy({ name: "model", sampler: () => seededSampler(), renderer });
    await expect(policy.act(request("x", { signal: AbortSignal.abort() }))).rejects.toMatchObject({
      name: "AbortError",
    });
  });
});

describe("failures", () => {
  const broken = (sample: Sampler["sample"]): Sampler => ({ ...seededSampler(), sample });

  test("in the sampler reach only the requests without an answer", async () => {
    const sampler = broken(async function* () {
      yield { request: 0, ids: [105, 0], logprobs: [0, 0], finish: "stop" };
      throw new Error("device lost");
    });
    const policy = samplerPolicy({ name: "model", sampler: () => sampler, renderer });
    const answers = Promise.allSettled([0, 1].map((index) => policy.act(request("x", { order: [index] }))));
    policy.flush!();
    expect((await answers).map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
  });

  test("a sampler that cannot be created, or returns too few samples, rejects", async () => {
    const none = samplerPolicy({
      name: "model",
      sampler: () => {
        throw new Error("no weights");
      },
      renderer,
    });
    await expect(none.act(request("x"))).rejects.toThrow("no weights");
    const silent = samplerPolicy({ name: "model", sampler: () => broken(async function* () {}), renderer });
    await expect(silent.act(request("x"))).rejects.toMatchObject({ code: "policy.failed" });
  });

  test("a renderer error for one request does not affect the rest of the batch", async () => {
    const failing = characterRenderer();
    const policy = samplerPolicy({
      name: "model",
      sampler: () => seededSampler(),
      renderer: {
        ...failing,
        start: (options) => {
          if (textOf(options.messages[0]!) === "bad") throw new Error("bad template");
          return failing.start(options);
        },
      },
    });
    const answers = Promise.allSettled(
      ["good", "bad"].map((text, index) => policy.act(request(text, { order: [index] }))),
    );
    policy.flush!();
    expect((await answers).map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
  });

  test("a prompt without room for an answer is rejected, and one with little room gets a short answer", async () => {
    const sampler = seededSampler();
    const policy = samplerPolicy({ name: "model", sampler: () => sampler, renderer, maxLength: 10 });
    // A prompt of n characters has n + 3 tokens.
    await expect(policy.act(request("1234567"))).rejects.toMatchObject({ code: "policy.prompt-too-long" });
    await policy.act(request("12345"));
    expect(sampler.batches[0]!.requests[0]!.settings.maxTokens).toBe(2);
  });

  test("a conversation that outgrows the model truncates its episode", async () => {
    const policies = samplerPolicy({ name: "model", sampler: () => seededSampler(), renderer, maxLength: 40 });
    const episode = await rolloutEpisode({
      environment: countingEnvironment(10),
      task: await oneTask(),
      policies,
      seed: 0,
    });
    expect(episode).toMatchObject({ status: "truncated", limit: "tokens" });
    expect(episode.turns).toBeGreaterThan(0);
    expect(tokenSequences(episode).every(({ ids }) => ids.length <= 40)).toBe(true);
  });
});

test("in a rollout, batches are full and repeat exactly", async () => {
  const play = async () => {
    const sampler = seededSampler();
    const policies = samplerPolicy({ name: "model", sampler: () => sampler, renderer });
    const groups = await collectGroups(
      rollout({
        environment: countingEnvironment(2),
        tasks: numbers(6),
        policies,
        groupSize: 4,
        concurrency: 8,
        seed: 3,
      }),
    );
    return {
      batches: sampler.batches,
      sequences: groups.flatMap(({ episodes }) => episodes.flatMap((episode) => tokenSequences(episode))),
    };
  };
  const first = await play();
  expect(first.batches.map(({ requests }) => requests.length)).toEqual(Array(6).fill(8));
  expect(first.sequences).toHaveLength(24);
  expect(await play()).toEqual(first);
});

test("a sampler that hangs reaches the time limit, and the rollout continues", async () => {
  let batches = 0;
  const sampler: Sampler = {
    ...seededSampler(),
    sample: (requests) => {
      batches += 1;
      return batches === 1 ? { [Symbol.asyncIterator]: () => ({ next: forever }) } : seededSampler().sample(requests);
    },
  };
  const policies = samplerPolicy({ name: "model", sampler: () => sampler, renderer });
  const groups = await collectGroups(
    rollout({
      environment: countingEnvironment(1),
      tasks: numbers(4),
      policies,
      concurrency: 2,
      seed: 0,
      limits: { actMs: 50 },
    }),
  );
  expect(groups.map(({ episodes }) => episodes[0]!.status)).toEqual(["failed", "failed", "completed", "completed"]);
});
