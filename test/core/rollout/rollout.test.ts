import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Episode } from "../../../src/contract/episode.ts";
import { LyceumError } from "../../../src/contract/errors/index.ts";
import { textMessage } from "../../../src/contract/message.ts";
import type { ActRequest, ActTokens, Policy } from "../../../src/contract/policy.ts";
import { unscored } from "../../../src/contract/reward.ts";
import { samplerPolicy } from "../../../src/core/policy/sampler-policy.ts";
import { scriptedPolicy } from "../../../src/core/policy/scripted-policy.ts";
import { createRandom } from "../../../src/core/random/random.ts";
import { collectGroups } from "../../../src/core/rollout/collect-groups.ts";
import { EnvironmentPool } from "../../../src/core/rollout/environment-pool.ts";
import { rollout } from "../../../src/core/rollout/rollout.ts";
import { rolloutEpisode } from "../../../src/core/rollout/rollout-episode.ts";
import type { RolloutEvent } from "../../../src/core/rollout/rollout-event.ts";
import { rolloutGroup } from "../../../src/core/rollout/rollout-group.ts";
import { memoryTaskset } from "../../../src/core/taskset/memory-taskset.ts";
import { characterRenderer } from "./character-renderer.ts";
import {
  agentStep,
  countingEnvironment,
  forever,
  numbers,
  observe,
  oneTask,
  scriptedEnvironment,
} from "./scripted-environment.ts";
import { seededSampler } from "./seeded-sampler.ts";

const yes = scriptedPolicy(() => "yes");

/** A policy that answers with the seed of the request. */
const seedPolicy = scriptedPolicy(({ seed }) => String(seed));

async function allEvents(events: AsyncIterable<RolloutEvent>): Promise<RolloutEvent[]> {
  return Array.fromAsync(events);
}

/** An episode without the fields that depend on timing. */
function content(episode: Episode): Episode {
  return { ...episode, durationMs: 0 };
}

/** A random delay of at most about a millisecond, by timer, by immediate or not at all. */
async function randomDelay(): Promise<void> {
  const draw = Math.random();
  if (draw < 0.3) return;
  await new Promise<void>((resolve) => (draw < 0.6 ? setImmediate(resolve) : setTimeout(resolve, Math.random() * 2)));
}

describe("an episode", () => {
  test("records observations, actions and rewards", async () => {
    const episode = await rolloutEpisode({
      environment: countingEnvironment(2),
      task: await oneTask(),
      policies: scriptedPolicy(["first", "second"]),
      seed: 7,
    });
    expect(episode).toMatchObject({ status: "completed", turns: 2, seed: 7, sampleIndex: 0, environment: "scripted" });
    const agent = episode.agents.agent!;
    expect(agent.nodes.map(({ id, parent, turn, message }) => [id, parent, turn, message])).toEqual([
      [0, null, 0, textMessage("user", "task 0")],
      [1, 0, 0, textMessage("assistant", "first")],
      [2, 1, 1, textMessage("user", "turn 1")],
      [3, 2, 1, textMessage("assistant", "second")],
    ]);
    expect(agent.turns.map(({ turn, node }) => [turn, node])).toEqual([
      [0, 1],
      [1, 3],
    ]);
    expect(agent).toMatchObject({ reward: { status: "scored", value: 2 }, terminated: true, truncated: false });
  });

  test("passes the whole conversation to the policy, and later turns do not change it", async () => {
    const requests: ActRequest[] = [];
    const policy = scriptedPolicy((request) => {
      requests.push(request);
      return "yes";
    });
    await rolloutEpisode({ environment: countingEnvironment(3), task: await oneTask(), policies: policy, seed: 0 });
    expect(requests.map(({ messages }) => messages.length)).toEqual([1, 3, 5]);
    expect(requests.map(({ episode }) => episode?.turn)).toEqual([0, 1, 2]);
    expect(requests.every(({ order }) => order === undefined)).toBe(true);
  });

  test("replace starts a new conversation with a new root", async () => {
    const requests: ActRequest[] = [];
    const environment = scriptedEnvironment<number>({
      reset: () => observe("first"),
      step: ({ turn }) => ({
        observations:
          turn === 1 ? {} : { agent: { messages: [textMessage("user", "anew")], context: "replace" as const } },
        agents: { agent: agentStep(0, turn === 1) },
      }),
    });
    const policies = scriptedPolicy((request) => {
      requests.push(request);
      return "yes";
    });
    const episode = await rolloutEpisode({ environment, task: await oneTask(), policies, seed: 0 });
    expect(requests.map(({ messages }) => messages.length)).toEqual([1, 1]);
    expect(episode.agents.agent!.nodes.map(({ parent }) => parent)).toEqual([null, 0, null, 2]);
  });

  test("that ends at reset is completed with reward 0", async () => {
    const environment = scriptedEnvironment<number>({ reset: () => ({}), step: forever });
    const episode = await rolloutEpisode({ environment, task: await oneTask(), policies: yes, seed: 0 });
    expect(episode).toMatchObject({ status: "completed", turns: 0 });
    expect(episode.agents.agent!.reward).toEqual({ status: "scored", value: 0, components: {} });
  });
});

describe("failures are data", () => {
  const boom = (): never => {
    throw new RangeError("boom");
  };
  const end = { observations: {}, agents: { agent: agentStep(1, true) } };
  const cases: [name: string, code: string, options: Partial<Parameters<typeof scriptedEnvironment<number>>[0]>][] = [
    ["reset throws", "environment.failed", { reset: boom }],
    ["create throws", "environment.failed", { create: async () => boom() }],
    ["no observations", "environment.contract", { reset: () => undefined }],
    ["null observations", "environment.contract", { reset: () => null }],
    ["observes a stranger", "environment.contract", { reset: () => observe("hello", "agent", "stranger") }],
    ["an empty observation", "environment.contract", { reset: () => ({ agent: { messages: [], context: "append" } }) }],
    ["an observation without messages", "environment.contract", { reset: () => ({ agent: {} }) }],
    [
      "rewards a stranger",
      "environment.contract",
      { step: () => ({ ...end, agents: { ...end.agents, x: agentStep(1, true) } }) },
    ],
    ["forgets who acted", "environment.contract", { step: () => ({ observations: {}, agents: {} }) }],
    ["no step result", "environment.contract", { step: () => undefined }],
    ["no agents", "environment.contract", { step: () => ({ observations: {} }) }],
    [
      "a NaN reward",
      "environment.contract",
      { step: () => ({ observations: {}, agents: { agent: agentStep(Number.NaN, true) } }) },
    ],
    [
      "an infinite reward",
      "environment.contract",
      { step: () => ({ observations: {}, agents: { agent: agentStep(Infinity, true) } }) },
    ],
    [
      "a reward that is a bare number",
      "environment.contract",
      { step: () => ({ observations: {}, agents: { agent: { reward: 1, terminated: true, truncated: false } } }) },
    ],
    [
      "observes the dead",
      "environment.contract",
      { step: () => ({ observations: observe("again"), agents: { agent: agentStep(1, true) } }) },
    ],
  ];

  test.each(cases)("%s: %s", async (_, code, options) => {
    const broken = scriptedEnvironment<number>({ reset: () => observe("hello"), step: () => end, ...options });
    const episode = await rolloutEpisode({ environment: broken, task: await oneTask(), policies: yes, seed: 0 });
    expect(episode).toMatchObject({ status: "failed", error: { code } });
    expect(episode.agents.agent!.reward).toMatchObject({ status: "unscored", error: { code } });
    expect(broken.instances.closed).toBe(broken.instances.created);
  });

  const withTokens =
    (changes: Partial<ActTokens>): Policy["act"] =>
    async () => ({
      action: { message: textMessage("assistant", "x"), finish: "stop" },
      tokens: {
        extendsPrevious: false,
        newPromptIds: [1],
        promptLength: 1,
        completionIds: [2],
        logprobs: [0],
        weightsVersion: 0,
        ...changes,
      },
    });
  const policies: [name: string, code: string, act: Policy["act"]][] = [
    ["throws", "policy.failed", async () => boom()],
    ["throws before it returns a promise", "policy.failed", boom],
    ["throws no error", "policy.failed", () => Promise.reject("just text")],
    ["answers nothing", "policy.failed", async () => undefined as never],
    ["answers no message", "policy.failed", async () => ({ action: {} }) as never],
    [
      "says that its action is an error",
      "policy.failed",
      async () => ({ action: { message: textMessage("assistant", "half"), finish: "error" } }),
    ],
    ["says that it goes on where nothing was before", "policy.failed", withTokens({ extendsPrevious: true })],
    ["read a longer prompt than it names", "policy.failed", withTokens({ promptLength: 2 })],
    ["gives no length of its prompt", "policy.failed", withTokens({ promptLength: undefined as never })],
    ["gives fewer log-probabilities than tokens", "policy.failed", withTokens({ completionIds: [2, 3] })],
    ["gives a value and no more with one token", "policy.failed", withTokens({ values: [0.5] })],
    ["gives a NaN value", "policy.failed", withTokens({ values: [0.5, Number.NaN] })],
    ["gives a NaN log-probability", "policy.failed", withTokens({ logprobs: [Number.NaN] })],
  ];

  test.each(policies)("a policy that %s: %s", async (_, code, act) => {
    const environment = countingEnvironment(2);
    const policy: Policy = { specificationVersion: "v1", name: "broken", accepts: ["text"], act };
    const episode = await rolloutEpisode({ environment, task: await oneTask(), policies: policy, seed: 0 });
    expect(episode).toMatchObject({ status: "failed", error: { code }, turns: 0 });
  });

  test("a policy that returns its whole prompt as new tokens fails in its second turn", async () => {
    const policy = samplerPolicy({ name: "model", sampler: seededSampler, renderer: characterRenderer() });
    const act: Policy["act"] = async (request) => {
      const { tokens, ...result } = await policy.act(request);
      const newPromptIds = [...(request.previous?.ids.toArray() ?? []), ...tokens!.newPromptIds];
      return { ...result, tokens: { ...tokens!, newPromptIds } };
    };
    const episode = await rolloutEpisode({
      environment: countingEnvironment(3),
      task: await oneTask(),
      policies: { ...policy, act },
      seed: 0,
    });
    expect(episode).toMatchObject({ status: "failed", turns: 1, error: { code: "policy.failed" } });
  });

  test("an action that is an error is recorded in the trace and not played", async () => {
    const policies = scriptedPolicy(() => ({ message: textMessage("assistant", "half an ans"), finish: "error" }));
    const episode = await rolloutEpisode({
      environment: countingEnvironment(1),
      task: await oneTask(),
      policies,
      seed: 0,
    });
    expect(episode.turns).toBe(0);
    expect(episode.agents.agent!.nodes.at(-1)!.message).toEqual(textMessage("assistant", "half an ans"));
    expect(episode.agents.agent!.turns).toHaveLength(1);
  });

  test("a part that the policy does not accept", async () => {
    const image = { type: "image", mediaType: "image/png", data: "" } as const;
    const environment = scriptedEnvironment<number>({
      reset: () => ({ agent: { messages: [{ role: "user", content: [image] }], context: "append" } }),
      step: forever,
    });
    const policies = scriptedPolicy(() => "yes", { accepts: ["text"] });
    const episode = await rolloutEpisode({ environment, task: await oneTask(), policies, seed: 0 });
    expect(episode).toMatchObject({
      status: "failed",
      error: { code: "policy.unsupported-input", data: { part: "image" } },
    });
  });

  test("do not affect other episodes", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom("ok", "environment", "policy"), { maxLength: 30 }), async (kinds) => {
        const environment = scriptedEnvironment<string>({
          reset: ({ task }) => observe(task),
          step: ({ task }) => (task.startsWith("environment") ? boom() : end),
        });
        const policies = scriptedPolicy(({ episode }) =>
          (episode!.task.task as string).startsWith("policy") ? boom() : "yes",
        );
        const tasks = memoryTaskset(
          "kinds",
          kinds.map((kind, index) => `${kind} ${index}`),
        );
        const groups = await collectGroups(
          rollout({ environment, tasks, policies, groupSize: 2, concurrency: 5, seed: 0 }),
        );
        expect(groups.map(({ episodes }) => episodes.map(({ status }) => status))).toEqual(
          kinds.map((kind) => (kind === "ok" ? ["completed", "completed"] : ["failed", "failed"])),
        );
        expect(environment.instances.closed).toBe(environment.instances.created);
      }),
      { numRuns: 25 },
    );
  });

  test("one unscored step makes the episode unscored", async () => {
    const environment = scriptedEnvironment<number>({
      reset: () => observe("hello"),
      step: ({ turn }) => ({
        observations: turn === 2 ? {} : observe("again"),
        agents: {
          agent:
            turn === 1
              ? { reward: { status: "unscored", reason: "silent judge" }, terminated: false, truncated: false }
              : agentStep(1, turn === 2),
        },
      }),
    });
    const episode = await rolloutEpisode({ environment, task: await oneTask(), policies: yes, seed: 0 });
    expect(episode.status).toBe("completed");
    expect(episode.agents.agent!.reward).toEqual({ status: "unscored", reason: "silent judge" });
    expect(episode.agents.agent!.turns[0]!.reward).toMatchObject({ status: "scored", value: 1 });
  });
});

describe("limits", () => {
  test("turns truncate, and earlier rewards count", async () => {
    const episode = await rolloutEpisode({
      environment: countingEnvironment(5),
      task: await oneTask(),
      policies: yes,
      seed: 0,
      limits: { turns: 2 },
    });
    expect(episode).toMatchObject({ status: "truncated", limit: "turns", turns: 2 });
    expect(episode.agents.agent!).toMatchObject({ truncated: true, terminated: false, reward: { value: 2 } });
  });

  test("a turn whose mean reward exceeds the threshold ends its episode as terminated", async () => {
    const rewards = [
      [1, 3],
      [1, 1],
    ];
    const environment = scriptedEnvironment<number>({
      agents: ["left", "right"],
      maxTurns: 3,
      reset: () => observe("hello", "left", "right"),
      step: ({ task, turn }) => {
        const [left, right] = rewards[task]!;
        const last = turn === 2;
        return {
          observations: last ? {} : observe("again", "left", "right"),
          agents: { left: agentStep(left!, last), right: agentStep(right!, last) },
        };
      },
    });
    const play = async (terminationThreshold?: number): Promise<Episode[]> => {
      const tasks = numbers(2);
      const options = { environment, tasks, policies: yes, seed: 0, concurrency: 1 };
      const groups = await collectGroups(
        rollout({ ...options, ...(terminationThreshold === undefined ? {} : { terminationThreshold }) }),
      );
      return groups.flatMap(({ episodes }) => episodes);
    };
    const turns = async (threshold?: number) => (await play(threshold)).map((episode) => episode.turns);
    expect(await turns()).toEqual([3, 3]);
    expect(await turns(1)).toEqual([1, 3]);
    expect(await turns(2)).toEqual([3, 3]);
    expect(await turns(0.9)).toEqual([1, 1]);
    const [early, whole] = await play(1.5);
    expect(early).toMatchObject({ status: "truncated", limit: "shape", turns: 1 });
    for (const agent of Object.values(early!.agents))
      expect(agent).toMatchObject({ terminated: true, truncated: false });
    expect(early!.agents.right!.reward).toMatchObject({ value: 3 });
    expect(whole).toMatchObject({ status: "completed", turns: 3 });
    const options = { environment, tasks: numbers(2), policies: yes, seed: 0, terminationThreshold: Number.NaN };
    expect(() => rollout(options)).toThrow(expect.objectContaining({ code: "config.invalid" }));
  });

  test("a turn without a scored reward does not end its episode early", async () => {
    const environment = scriptedEnvironment<number>({
      agents: ["left", "right"],
      maxTurns: 2,
      reset: () => observe("hello", "left", "right"),
      step: ({ turn }) => ({
        observations: turn === 1 ? {} : observe("again", "left", "right"),
        agents: {
          left: agentStep(5, turn === 1),
          right: { reward: unscored("silent"), terminated: turn === 1, truncated: false },
        },
      }),
    });
    const options = { environment, tasks: numbers(1), policies: yes, seed: 0, terminationThreshold: 0 };
    const [group] = await collectGroups(rollout(options));
    expect(group!.episodes[0]!.turns).toBe(2);
  });

  test("an environment that continues beyond its own maxTurns is truncated", async () => {
    const environment = scriptedEnvironment<number>({
      maxTurns: 3,
      reset: () => observe("hello"),
      step: () => ({ observations: observe("on and on"), agents: { agent: agentStep(0, false) } }),
    });
    const episode = await rolloutEpisode({ environment, task: await oneTask(), policies: yes, seed: 0 });
    expect(episode).toMatchObject({ status: "truncated", limit: "turns", turns: 3 });
  });

  test("tokens truncate, and requests allow at most the remaining tokens", async () => {
    const allowed: number[] = [];
    const policies: Policy = {
      ...yes,
      act: async ({ sampling }) => {
        allowed.push(sampling.maxTokens);
        return {
          action: { message: textMessage("assistant", "yes"), finish: "stop" },
          usage: { promptTokens: 1, completionTokens: Math.min(4, sampling.maxTokens) },
        };
      },
    };
    const episode = await rolloutEpisode({
      environment: countingEnvironment(9),
      task: await oneTask(),
      policies,
      seed: 0,
      limits: { tokens: 10 },
    });
    expect(allowed).toEqual([10, 6, 2]);
    expect(episode).toMatchObject({ status: "truncated", limit: "tokens", turns: 3 });
  });

  test("a prompt that outgrows the context truncates, and one that is too long at first fails", async () => {
    const tooLong = (): never => {
      throw new LyceumError({ code: "policy.prompt-too-long", message: "Too long." });
    };
    const policies = (turns: number): Policy => ({
      ...yes,
      act: async ({ episode }) => {
        if (episode!.turn === turns) tooLong();
        return {
          action: { message: textMessage("assistant", "yes"), finish: "stop" },
          usage: { promptTokens: 1, completionTokens: 1 },
        };
      },
    });
    const task = await oneTask();
    const options = { environment: countingEnvironment(9), task, seed: 0 };
    expect(await rolloutEpisode({ ...options, policies: policies(2) })).toMatchObject({
      status: "truncated",
      limit: "tokens",
      turns: 2,
    });
    expect(await rolloutEpisode({ ...options, policies: policies(0) })).toMatchObject({
      status: "failed",
      error: { code: "policy.prompt-too-long" },
    });
  });

  test.each(["reset", "step"] as const)("a %s that hangs fails, and its instance is replaced", async (call) => {
    const hang = ({ task }: { readonly task: number }): unknown => (task === 1 ? forever() : undefined);
    const environment = scriptedEnvironment<number>({
      reset: async (options) => (call === "reset" ? await hang(options) : undefined) ?? observe("hello"),
      step: async (options) =>
        (call === "step" ? await hang(options) : undefined) ?? {
          observations: {},
          agents: { agent: agentStep(1, true) },
        },
    });
    const groups = await collectGroups(
      rollout({
        environment,
        tasks: numbers(4),
        policies: yes,
        concurrency: 1,
        seed: 0,
        limits: { environmentMs: 30 },
      }),
    );
    expect(groups.map(({ episodes }) => episodes[0]!.status)).toEqual([
      "completed",
      "failed",
      "completed",
      "completed",
    ]);
    expect(groups[1]!.episodes[0]!.error).toMatchObject({ code: "timeout", data: { call } });
    expect(environment.instances).toEqual({ created: 2, closed: 2, resets: [2, 2] });
  });

  test("a create that hangs fails, and a late instance is not lost", async () => {
    let deliver = (): void => {};
    let first = true;
    const environment = scriptedEnvironment<number>({
      ...countingEnvironment(1),
      create: () => {
        if (!first) return Promise.resolve();
        first = false;
        return new Promise<void>((resolve) => {
          deliver = resolve;
        });
      },
      reset: () => observe("hello"),
      step: () => ({ observations: {}, agents: { agent: agentStep(1, true) } }),
    });
    await using pool = new EnvironmentPool(environment);
    const options = { environment: pool, task: await oneTask(), policies: yes, seed: 0 };
    const episode = await rolloutEpisode({ ...options, limits: { environmentMs: 20 } });
    expect(episode).toMatchObject({ status: "failed", error: { code: "timeout", data: { call: "create" } } });
    deliver();
    await new Promise((resolve) => setImmediate(resolve));
    expect(await rolloutEpisode(options)).toMatchObject({ status: "completed" });
    expect(environment.instances.created).toBe(1);
  });

  test("a policy that hangs fails the episode, and the idle environment is used again", async () => {
    let signalled = 0;
    const policies: Policy = {
      ...yes,
      act: (request) => {
        if (request.episode!.task.task !== 1) return yes.act(request);
        request.signal!.addEventListener("abort", () => {
          signalled += 1;
        });
        return forever();
      },
    };
    const environment = countingEnvironment(1);
    const groups = await collectGroups(
      rollout({ environment, tasks: numbers(3), policies, concurrency: 1, seed: 0, limits: { actMs: 30 } }),
    );
    expect(groups.map(({ episodes }) => episodes[0]!.status)).toEqual(["completed", "failed", "completed"]);
    expect(groups[1]!.episodes[0]!.error).toMatchObject({ code: "timeout", data: { agents: ["agent"] } });
    expect(signalled).toBe(1);
    expect(environment.instances).toEqual({ created: 1, closed: 1, resets: [3] });
  });

  test("the time of an episode truncates it at any point", async () => {
    const environment = scriptedEnvironment<number>({ reset: () => observe("hello"), step: forever });
    const episode = await rolloutEpisode({
      environment,
      task: await oneTask(),
      policies: yes,
      seed: 0,
      limits: { episodeMs: 30 },
    });
    expect(episode).toMatchObject({ status: "truncated", limit: "time", turns: 0 });
    expect(environment.instances.closed).toBe(1);
  });

  test.each([0, -1, Number.NaN])("a limit of %d is rejected", async (turns) => {
    expect(() =>
      rollout({ environment: countingEnvironment(1), tasks: numbers(1), policies: yes, seed: 0, limits: { turns } }),
    ).toThrow(expect.objectContaining({ code: "config.invalid" }));
  });
});

describe("an abort", () => {
  test("ends hanging episodes, yields their events, and throws", async () => {
    const controller = new AbortController();
    const environment = scriptedEnvironment<number>({
      reset: () => observe("hello"),
      step: ({ task }) => {
        if (task === 2) controller.abort();
        return task === 0 ? { observations: {}, agents: { agent: agentStep(1, true) } } : forever();
      },
    });
    const seen: RolloutEvent[] = [];
    const consume = async (): Promise<void> => {
      const events = rollout({
        environment,
        tasks: numbers(9),
        policies: yes,
        concurrency: 3,
        seed: 0,
        signal: controller.signal,
      });
      for await (const event of events) seen.push(event);
    };
    await expect(consume()).rejects.toMatchObject({ code: "aborted" });
    const statuses = seen.flatMap((event) => (event.type === "episode-end" ? [event.episode.status] : []));
    expect(statuses.filter((status) => status === "completed")).toHaveLength(1);
    expect(statuses.filter((status) => status === "aborted").length).toBeGreaterThanOrEqual(2);
    expect(seen.filter(({ type }) => type === "group-end")).toHaveLength(1);
    expect(environment.instances.closed).toBe(environment.instances.created);
  });

  test("before the start plays no episode", async () => {
    const environment = countingEnvironment(1);
    const events = rollout({ environment, tasks: numbers(2), policies: yes, seed: 0, signal: AbortSignal.abort() });
    await expect(allEvents(events)).rejects.toMatchObject({ code: "aborted" });
    expect(environment.instances.created).toBe(0);
  });

  test("of one episode is recorded in the episode, as unscored", async () => {
    const episode = await rolloutEpisode({
      environment: countingEnvironment(1),
      task: await oneTask(),
      policies: yes,
      seed: 0,
      signal: AbortSignal.abort(),
    });
    expect(episode.status).toBe("aborted");
    expect(episode.agents.agent!.reward.status).toBe("unscored");
  });

  test("reaches a taskset that hangs", async () => {
    const controller = new AbortController();
    const tasks = {
      specificationVersion: "v1" as const,
      name: "slow",
      length: 3,
      get: () => {
        controller.abort();
        return forever();
      },
    };
    const events = rollout({
      environment: countingEnvironment(1),
      tasks,
      policies: yes,
      seed: 0,
      signal: controller.signal,
    });
    await expect(allEvents(events)).rejects.toMatchObject({ code: "aborted" });
  });

  test("happens if the consumer leaves the iteration", async () => {
    const environment = scriptedEnvironment<number>({
      reset: () => observe("hello"),
      step: ({ task }) => (task === 0 ? { observations: {}, agents: { agent: agentStep(1, true) } } : forever()),
    });
    let ended = 0;
    const unbounded = {
      ...numbers(1),
      length: "unbounded" as const,
      get: (index: number) => numbers(index + 1).get(index),
    };
    for await (const event of rollout({ environment, tasks: unbounded, policies: yes, concurrency: 4, seed: 0 })) {
      if (event.type !== "episode-end") continue;
      ended += 1;
      break;
    }
    expect(ended).toBe(1);
    expect(environment.instances.closed).toBe(environment.instances.created);
  });
});

describe("several agents", () => {
  test("act simultaneously if they are observed simultaneously", async () => {
    let inside = 0;
    let most = 0;
    const environment = scriptedEnvironment<number>({
      agents: ["left", "right"],
      reset: () => observe("go", "right", "left"),
      step: ({ actions }) => ({
        observations: {},
        agents: Object.fromEntries(Object.keys(actions).map((agent) => [agent, agentStep(1, true)])),
      }),
    });
    const asked: string[] = [];
    const policies = scriptedPolicy(async ({ agent }) => {
      asked.push(agent);
      inside += 1;
      most = Math.max(most, inside);
      await new Promise((resolve) => setImmediate(resolve));
      inside -= 1;
      return agent;
    });
    const episode = await rolloutEpisode({ environment, task: await oneTask(), policies, seed: 0 });
    expect(most).toBe(2);
    expect(asked).toEqual(["left", "right"]);
    expect(Object.keys(episode.agents)).toEqual(["left", "right"]);
  });

  /** Black and white move in turn. After a move, the other side's previous move may get a reward. */
  const chess = scriptedEnvironment<number>({
    agents: ["white", "black", "umpire"],
    reset: () => observe("move", "white"),
    step: ({ turn }) => ({
      observations: turn === 3 ? {} : observe("move", turn % 2 === 0 ? "black" : "white"),
      agents:
        turn === 0
          ? { white: agentStep(0, false), umpire: agentStep(5, false) }
          : turn === 3
            ? { black: agentStep(1, true), white: agentStep(-1, true), umpire: agentStep(5, true) }
            : { [turn % 2 === 0 ? "white" : "black"]: agentStep(0.5, false) },
    }),
  });

  test("can move in turn, and a reward for an agent that did not act is added to its last action", async () => {
    const episode = await rolloutEpisode({ environment: chess, task: await oneTask(), policies: yes, seed: 0 });
    const rewards = (agent: string): unknown[] =>
      episode.agents[agent]!.turns.map(({ turn, reward }) => [
        turn,
        reward?.status === "scored" ? reward.value : undefined,
      ]);
    expect(rewards("white")).toEqual([
      [0, 0],
      [2, -0.5],
    ]);
    expect(rewards("black")).toEqual([
      [1, 0.5],
      [3, 1],
    ]);
    expect(episode.agents.umpire).toMatchObject({ turns: [], nodes: [], reward: { value: 10 } });
  });

  test("need one policy each", async () => {
    const policies = { white: scriptedPolicy(() => "w"), black: scriptedPolicy(() => "b"), umpire: yes };
    const episode = await rolloutEpisode({ environment: chess, task: await oneTask(), policies, seed: 0 });
    expect(episode.agents.white!.nodes[1]!.message).toEqual(textMessage("assistant", "w"));
    expect(episode.agents.black!.nodes[1]!.message).toEqual(textMessage("assistant", "b"));
    const start = (given: Record<string, Policy>) => () =>
      rollout({ environment: chess, tasks: numbers(1), policies: given, seed: 0 });
    expect(start({ white: yes, black: yes })).toThrow(expect.objectContaining({ code: "config.invalid" }));
    expect(start({ ...policies, whit: yes })).toThrow(expect.objectContaining({ code: "config.unknown-name" }));
  });

  test("fail together if one of them fails", async () => {
    const environment = scriptedEnvironment<number>({
      agents: ["left", "right"],
      reset: () => observe("go", "left", "right"),
      step: forever,
    });
    const policies = scriptedPolicy(({ agent }) => (agent === "left" ? forever() : Promise.reject(new Error("no"))));
    const episode = await rolloutEpisode({ environment, task: await oneTask(), policies, seed: 0 });
    expect(episode).toMatchObject({ status: "failed", error: { code: "policy.failed" } });
  });
});

describe("groups", () => {
  test("share the task and the environment's seed, and have different sampling seeds", async () => {
    const seeds: number[] = [];
    const environment = scriptedEnvironment<number>({
      reset: ({ seed }) => {
        seeds.push(seed);
        return observe("hello");
      },
      step: () => ({ observations: {}, agents: { agent: agentStep(1, true) } }),
    });
    const group = await rolloutGroup({
      environment,
      task: await oneTask(),
      policies: seedPolicy,
      groupSize: 8,
      seed: 3,
    });
    expect(new Set(seeds).size).toBe(1);
    expect(group.episodes.map(({ sampleIndex }) => sampleIndex)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(new Set(group.episodes.map(({ id }) => id)).size).toBe(8);
    expect(new Set(group.episodes.map(({ agents }) => JSON.stringify(agents.agent!.nodes[1]!.message))).size).toBe(8);
  });

  test("do not depend on timing and concurrency", async () => {
    const environment = scriptedEnvironment<number>({
      maxTurns: 3,
      reset: async ({ task, seed }) => {
        await randomDelay();
        return observe(`${task} ${createRandom(seed).next()}`);
      },
      step: async ({ turn, actions }) => {
        await randomDelay();
        const last = turn === 2;
        return {
          observations: last ? {} : observe("on"),
          agents: { agent: agentStep(actions.agent!.message.content.length, last) },
        };
      },
    });
    const play = async (concurrency: number): Promise<unknown> => {
      const groups = await collectGroups(
        rollout({ environment, tasks: numbers(12), policies: seedPolicy, groupSize: 3, concurrency, seed: 5 }),
      );
      return groups.map(({ task, episodes }) => ({ task, episodes: episodes.map(content) }));
    };
    const alone = await play(1);
    expect(await play(7)).toEqual(alone);
    expect(await play(64)).toEqual(alone);
  });

  test("differ between seeds", async () => {
    const answers = async (seed: number): Promise<unknown> =>
      (await rolloutEpisode({ environment: countingEnvironment(1), task: await oneTask(), policies: seedPolicy, seed }))
        .agents.agent!.nodes[1];
    expect(await answers(1)).not.toEqual(await answers(2));
  });

  test("can be played one sample at a time", async () => {
    const environment = countingEnvironment(2);
    const task = await oneTask();
    const group = await rolloutGroup({ environment, task, policies: seedPolicy, groupSize: 4, seed: 3 });
    for (const sampleIndex of [0, 3]) {
      const alone = await rolloutEpisode({ environment, task, policies: seedPolicy, seed: 3, sampleIndex });
      expect(content(alone)).toEqual(content(group.episodes[sampleIndex]!));
    }
  });

  test("of a repeated task differ, have different ids, and can be replayed", async () => {
    const environment = countingEnvironment(1);
    const tasks = memoryTaskset("twins", [4, 4, 4]);
    const groups = await collectGroups(rollout({ environment, tasks, policies: seedPolicy, seed: 3 }));
    const episodes = groups.flatMap((group) => group.episodes);
    expect(new Set(episodes.map(({ id }) => id)).size).toBe(3);
    expect(new Set(episodes.map(({ agents }) => JSON.stringify(agents.agent!.nodes[1]))).size).toBe(3);
    expect(episodes[0]!.seed).toBe(3);
    const replayed = await rolloutEpisode({
      environment,
      task: await tasks.get(2),
      policies: seedPolicy,
      seed: episodes[2]!.seed,
    });
    expect(content(replayed)).toEqual(content(episodes[2]!));
  });

  test("are returned in task order, whatever the order of their ends", async () => {
    const environment = scriptedEnvironment<number>({
      reset: async ({ task }) => {
        await new Promise((resolve) => setTimeout(resolve, 20 - 4 * task));
        return observe("hello");
      },
      step: () => ({ observations: {}, agents: { agent: agentStep(1, true) } }),
    });
    const events = await allEvents(rollout({ environment, tasks: numbers(5), policies: yes, seed: 0 }));
    const ended = events.flatMap((event) => (event.type === "group-end" ? [event.group] : []));
    expect(ended).not.toEqual([0, 1, 2, 3, 4]);
    const replay = (async function* () {
      yield* events;
    })();
    expect((await collectGroups(replay)).map(({ task }) => task.index)).toEqual([0, 1, 2, 3, 4]);
  });
});

describe("the rollout", () => {
  test("yields all events in order", async () => {
    const events = await allEvents(
      rollout({
        environment: countingEnvironment(2),
        tasks: numbers(3),
        policies: yes,
        groupSize: 2,
        concurrency: 1,
        seed: 0,
      }),
    );
    const names = events.map((event) =>
      event.type === "episode-start"
        ? `start ${event.group}.${event.sampleIndex}`
        : event.type === "episode-end"
          ? `end ${event.group}.${event.episode.sampleIndex}`
          : event.type === "group-end"
            ? `group ${event.group}`
            : event.type,
    );
    expect(names).toEqual([
      ...[0, 1, 2].flatMap((group) =>
        [0, 1]
          .flatMap((sampleIndex) => [`start ${group}.${sampleIndex}`, `end ${group}.${sampleIndex}`])
          .concat(`group ${group}`),
      ),
      "rollout-end",
    ]);
    expect(events.at(-1)).toMatchObject({
      groups: 3,
      turns: 12,
      episodes: { completed: 6, failed: 0, truncated: 0, aborted: 0 },
    });
  });

  test("without tasks ends immediately", async () => {
    const events = await allEvents(rollout({ environment: countingEnvironment(1), tasks: [], policies: yes, seed: 0 }));
    expect(events.map(({ type }) => type)).toEqual(["rollout-end"]);
  });

  test("starts with the first request for an event, and runs little ahead of a slow consumer", async () => {
    const environment = countingEnvironment(1);
    const events = rollout({ environment, tasks: numbers(500), policies: yes, concurrency: 2, seed: 0 });
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(environment.instances.created).toBe(0);
    await events.next();
    await new Promise((resolve) => setTimeout(resolve, 50));
    const played = environment.instances.resets.reduce((sum, resets) => sum + resets, 0);
    expect(played).toBeGreaterThan(0);
    expect(played).toBeLessThan(20);
    await events.return();
  });

  test("never creates more instances than its concurrency, and closes all of them", async () => {
    const environment = countingEnvironment(2);
    await collectGroups(rollout({ environment, tasks: numbers(40), policies: yes, concurrency: 5, seed: 0 }));
    expect(environment.instances.created).toBeLessThanOrEqual(5);
    expect(environment.instances.closed).toBe(environment.instances.created);
    expect(environment.instances.resets.reduce((sum, resets) => sum + resets, 0)).toBe(40);
  });

  test("does not close a given pool", async () => {
    const environment = countingEnvironment(1);
    await using pool = new EnvironmentPool(environment);
    for (let round = 0; round < 3; round++) {
      await collectGroups(
        rollout({ environment: pool, tasks: numbers(4), policies: yes, concurrency: 2, seed: round }),
      );
    }
    expect(environment.instances).toMatchObject({ closed: 0 });
    expect(environment.instances.created).toBeLessThanOrEqual(2);
    await pool.close();
    expect(environment.instances.closed).toBe(environment.instances.created);
  });

  test("warns of an instance that cannot be closed", async () => {
    const environment = scriptedEnvironment<number>({
      reset: () => observe("hello"),
      step: () => ({ observations: {}, agents: { agent: agentStep(1, true) } }),
      close: () => Promise.reject(new Error("stuck")),
    });
    const events = await allEvents(rollout({ environment, tasks: numbers(1), policies: yes, seed: 0 }));
    expect(events.at(-2)).toMatchObject({ type: "warning", error: { code: "environment.failed" } });
    expect(events.at(-1)!.type).toBe("rollout-end");
  });

  test("accepts tasks from any iterable, and throws the errors of a taskset", async () => {
    const environment = countingEnvironment(1);
    const entry = await oneTask();
    const stream = (async function* () {
      yield entry;
      throw new LyceumError({ code: "data.malformed", message: "Line 2 is broken." });
    })();
    const seen: RolloutEvent[] = [];
    const consume = async (): Promise<void> => {
      for await (const event of rollout({ environment, tasks: stream, policies: yes, concurrency: 1, seed: 0 }))
        seen.push(event);
    };
    await expect(consume()).rejects.toMatchObject({ code: "data.malformed" });
    expect(seen.map(({ type }) => type)).toEqual(["episode-start", "episode-end", "group-end"]);
    expect(environment.instances.closed).toBe(environment.instances.created);
  });

  test("throws the errors of its trace, and stops", async () => {
    const environment = countingEnvironment(1);
    let written = 0;
    const trace = {
      write: async () => {
        written += 1;
        if (written === 3) throw new LyceumError({ code: "trace.write-failed", message: "The disk is full." });
      },
    };
    const events = rollout({ environment, tasks: numbers(500), policies: yes, concurrency: 2, seed: 0, trace });
    await expect(allEvents(events)).rejects.toMatchObject({ code: "trace.write-failed" });
    expect(written).toBeLessThan(10);
  });

  test.each([
    { groupSize: 0 },
    { groupSize: 1.5 },
    { concurrency: 0 },
    { concurrency: Infinity },
  ])("refuses %o", (options) => {
    expect(() =>
      rollout({ environment: countingEnvironment(1), tasks: numbers(1), policies: yes, seed: 0, ...options }),
    ).toThrow(expect.objectContaining({ code: "config.invalid" }));
  });
});
