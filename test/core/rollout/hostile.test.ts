import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Environment, EnvironmentFactory, EnvironmentSpec } from "../../../src/contract/environment.ts";
import type { Episode } from "../../../src/contract/episode.ts";
import { textMessage } from "../../../src/contract/message.ts";
import type { ActRequest, Policy } from "../../../src/contract/policy.ts";
import { addRewards, scored } from "../../../src/contract/reward.ts";
import { scriptedPolicy } from "../../../src/core/policy/scripted-policy.ts";
import { rollout } from "../../../src/core/rollout/rollout.ts";
import { rolloutEpisode } from "../../../src/core/rollout/rollout-episode.ts";
import type { RolloutEvent } from "../../../src/core/rollout/rollout-event.ts";
import {
  agentStep,
  countingEnvironment,
  forever,
  numbers,
  observe,
  oneTask,
  scriptedEnvironment,
} from "./scripted-environment.ts";

const yes = scriptedPolicy(() => "yes");
const end = { observations: {}, agents: { agent: agentStep(1, true) } };
const spec: EnvironmentSpec = {
  id: "plain",
  agents: ["agent"],
  maxTurns: 3,
  rewardRange: [0, 1],
  deterministic: true,
};

/** An environment in plain JavaScript, whose functions return anything. */
function plainEnvironment(
  calls: Partial<Record<"create" | "reset" | "step" | "close" | "scoreGroup", () => unknown>>,
  agents: readonly string[] = ["agent"],
): EnvironmentFactory<number> {
  const ownSpec = { ...spec, agents };
  const instance = {
    specificationVersion: "v1",
    reset: () => observe("hello", ...agents),
    step: () => ({ observations: {}, agents: Object.fromEntries(agents.map((agent) => [agent, agentStep(1, true)])) }),
    close: () => undefined,
    ...calls,
  };
  const create = calls.create ?? (() => ({ ...instance }));
  const factory = { specificationVersion: "v1", spec: ownSpec, create };
  return { ...factory, ...(calls.scoreGroup && { scoreGroup: calls.scoreGroup }) } as EnvironmentFactory<number>;
}

function plainPolicy(act: (request: ActRequest) => unknown): Policy {
  return { specificationVersion: "v1", name: "plain", accepts: ["text"], act: act as Policy["act"] };
}

async function play(environment: EnvironmentFactory<number>, policies: Policy = yes): Promise<Episode> {
  return rolloutEpisode({ environment, task: await oneTask(), policies, seed: 0 });
}

function settleTwice(value: unknown) {
  return (settle: (value: unknown) => void): void => {
    settle(value);
    settle(0);
    throw new Error("after all");
  };
}

function timers(): number {
  return process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
}

let timersBefore = 0;
beforeEach(() => {
  timersBefore = timers();
});
afterEach(async () => {
  // A timer of Node's own may still be ending.
  for (let waited = 0; waited < 100 && timers() > timersBefore; waited++) await sleep(20);
  expect(timers()).toBeLessThanOrEqual(timersBefore);
});

describe("plain JavaScript", () => {
  test("may omit promises", async () => {
    const environment = plainEnvironment({ scoreGroup: () => ({}) });
    const policy = plainPolicy(() => ({ action: { message: textMessage("assistant", "yes"), finish: "stop" } }));
    expect(await play(environment, policy)).toMatchObject({
      status: "completed",
      agents: { agent: { reward: scored(1) } },
    });
  });

  const message = textMessage("user", "hello");
  const text = { type: "text", text: "hello" };
  const observations: [name: string, observation: unknown][] = [
    ["null", null],
    ["a bare text", "hello"],
    ["no context", { messages: [message] }],
    ["another context", { messages: [message], context: "prepend" }],
    ["messages that are no list", { messages: { 0: message, length: 1 }, context: "append" }],
    ["a message that is a text", { messages: ["hello"], context: "append" }],
    ["a message that is null", { messages: [null], context: "append" }],
    ["a hole", { messages: Array(1), context: "append" }],
    ["a message without a role", { messages: [{ content: [text] }], context: "append" }],
    ["a role that is none", { messages: [{ role: "judge", content: [text] }], context: "append" }],
    ["content that is a text", { messages: [{ role: "user", content: "hello" }], context: "append" }],
    ["a part that is a text", { messages: [{ role: "user", content: ["hello"] }], context: "append" }],
    ["a text that is a number", { messages: [{ role: "user", content: [{ ...text, text: 1n }] }], context: "append" }],
    ["an unknown part", { messages: [{ role: "user", content: [{ type: "smell" }] }], context: "append" }],
    ["calls that are no list", { messages: [{ ...message, toolCalls: "all" }], context: "append" }],
  ];
  test.each(observations)("breaks the contract with an observation: %s", async (_, observation) => {
    const first = await play(plainEnvironment({ reset: () => ({ agent: observation }) }));
    expect(first).toMatchObject({ status: "failed", error: { code: "environment.contract" } });
    const second = await play(
      plainEnvironment({
        step: () => ({ observations: { agent: observation }, agents: { agent: agentStep(0, false) } }),
      }),
    );
    expect(second).toMatchObject({ status: "failed", turns: 1, error: { code: "environment.contract" } });
  });

  const circular: Record<string, unknown> = {};
  circular.self = circular;
  const agents = (step: unknown): unknown => ({ observations: {}, agents: { agent: step } });
  const steps: [name: string, result: unknown][] = [
    ["agents that are null", { observations: {}, agents: null }],
    ["null for an agent", agents(null)],
    ["a number for an agent", agents(1)],
    ["no word on the end", agents({ reward: scored(1) })],
    ["a text for the end", agents({ terminated: "yes", truncated: false })],
    ["undefined observations", { agents: { agent: agentStep(1, true) } }],
    ["a reward without components", agents({ ...agentStep(1, true), reward: { status: "scored", value: 1 } })],
    ["a NaN component", agents({ ...agentStep(1, true), reward: scored(1, { form: Number.NaN }) })],
    ["a text as value", agents({ ...agentStep(1, true), reward: { ...scored(1), value: "1" } })],
    ["an unscored reward without a reason", agents({ ...agentStep(1, true), reward: { status: "unscored" } })],
    ["info with a bigint", { ...end, info: { count: 1n } }],
    ["circular info", { ...end, info: circular }],
    ["info that is a function", { ...end, info: () => 1 }],
  ];
  test.each(steps)("breaks the contract with a step: %s", async (_, result) => {
    let closed = 0;
    const episode = await play(
      plainEnvironment({
        step: () => result,
        close: () => {
          closed += 1;
        },
      }),
    );
    expect(episode).toMatchObject({ status: "failed", error: { code: "environment.contract" } });
    expect(episode.agents.agent!.reward.status).toBe("unscored");
    expect(closed).toBe(1);
  });

  const answers: [name: string, answer: unknown][] = [
    ["nothing", undefined],
    ["a text", "yes"],
    ["a message as action", { action: textMessage("assistant", "yes") }],
    ["a user's message", { action: { message: textMessage("user", "yes"), finish: "stop" } }],
    ["a text as message", { action: { message: "yes", finish: "stop" } }],
    ["another finish", { action: { message: textMessage("assistant", "yes"), finish: "done" } }],
    ["no finish", { action: { message: textMessage("assistant", "yes") } }],
    [
      "a count that is no number",
      { action: { message: textMessage("assistant", "yes"), finish: "stop" }, usage: { completionTokens: Number.NaN } },
    ],
    [
      "typed arrays",
      {
        action: { message: textMessage("assistant", "yes"), finish: "stop" },
        tokens: {
          newPromptIds: Int32Array.of(1),
          promptLength: 1,
          completionIds: Int32Array.of(2),
          logprobs: Float32Array.of(0),
          extendsPrevious: false,
          weightsVersion: 0,
        },
      },
    ],
  ];
  test.each(answers)("fails as a policy that answers %s", async (_, answer) => {
    expect(
      await play(
        countingEnvironment(2),
        plainPolicy(() => answer),
      ),
    ).toMatchObject({
      status: "failed",
      turns: 0,
      error: { code: "policy.failed" },
    });
  });

  test("fails as one policy of two, without an unhandled rejection", async () => {
    const environment = plainEnvironment({}, ["left", "right"]);
    const policy = plainPolicy(({ agent }) =>
      agent === "right" ? undefined : new Promise((_, reject) => setTimeout(reject, 2, new Error("gave up"))),
    );
    expect(await play(environment, policy)).toMatchObject({ status: "failed", error: { code: "policy.failed" } });
    const throwing = plainPolicy(({ agent }) => {
      if (agent === "right") throw new Error("at once");
      return Promise.reject(new Error("later"));
    });
    expect(await play(environment, throwing)).toMatchObject({ status: "failed", error: { code: "policy.failed" } });
    await new Promise((resolve) => setTimeout(resolve, 5));
  });

  test("may return anything: every episode ends, is reported, and can be traced", async () => {
    const thrown = fc.anything({ withBigInt: true, withNullPrototype: true, withObjectString: true });
    const garbage = fc.oneof(
      thrown,
      fc.record({ observations: thrown, agents: thrown, info: thrown }),
      fc.constant(end),
      fc.constant(observe("go on")),
      fc.constant({ action: { message: textMessage("assistant", "yes"), finish: "stop" } }),
    );
    const call = fc
      .record({ value: garbage, way: fc.constantFrom("return", "throw", "resolve", "reject", "thenable", "getter") })
      .map(({ value, way }) => (): unknown => {
        if (way === "throw") throw value;
        if (way === "resolve") return Promise.resolve(value);
        if (way === "reject") return Promise.reject(value);
        // biome-ignore lint/suspicious/noThenProperty: a thenable that is no promise is the point.
        if (way === "thenable") return { then: settleTwice(value) };
        if (way !== "getter") return value;
        const explode = (): never => {
          throw value;
        };
        return Object.defineProperties(
          {},
          { observations: { get: explode, enumerable: true }, action: { get: explode } },
        );
      });
    await fc.assert(
      fc.asyncProperty(
        fc.record({ create: call, reset: call, step: call, close: call, scoreGroup: call }, { requiredKeys: [] }),
        fc.option(call),
        async (calls, act) => {
          const events: RolloutEvent[] = [];
          const traced: string[] = [];
          const tasks = numbers(3);
          for await (const event of rollout({
            environment: plainEnvironment(calls),
            tasks,
            policies: act === null ? yes : plainPolicy(act),
            groupSize: 2,
            concurrency: 4,
            seed: 0,
            trace: { write: async (episode) => void traced.push(JSON.stringify(episode)) },
          })) {
            events.push(event);
          }
          expect(events.filter(({ type }) => type === "episode-end")).toHaveLength(6);
          expect(events.filter(({ type }) => type === "group-end")).toHaveLength(3);
          expect(events.at(-1)!.type).toBe("rollout-end");
          expect(traced).toHaveLength(6);
          for (const line of traced) {
            const { status, agents } = JSON.parse(line) as Episode;
            const { reward } = agents.agent!;
            if (status === "failed") expect(reward.status === "unscored" || "failure" in reward).toBe(true);
            if (reward.status === "scored") expect(Number.isFinite(reward.value)).toBe(true);
          }
        },
      ),
      { numRuns: 1000 },
    );
  });
});

describe("the output of an environment", () => {
  test("is recorded as it was at that time", async () => {
    const info = { seen: 0 };
    const messages = [textMessage("user", "hello")];
    const requests: ActRequest[] = [];
    const environment = plainEnvironment({
      reset: () => ({ agent: { messages, context: "replace" } }),
      step: () => {
        info.seen += 1;
        messages.push(textMessage("user", "slipped in"));
        const last = info.seen === 2;
        return {
          observations: last ? {} : observe("again"),
          agents: { agent: agentStep(0, last) },
          info,
        };
      },
    });
    const episode = await play(
      environment,
      scriptedPolicy((request) => {
        requests.push(request);
        return "yes";
      }),
    );
    expect(episode.info).toEqual([{ seen: 1 }, { seen: 2 }]);
    expect(requests.map(({ messages: seen }) => seen.length)).toEqual([1, 3]);
  });

  test("may be large", async () => {
    const line = "x".repeat(1 << 20);
    const environment = scriptedEnvironment<number>({
      maxTurns: 20,
      reset: () => observe(line),
      step: ({ turn }) => ({
        observations: turn === 19 ? {} : observe(line),
        agents: { agent: agentStep(0, turn === 19) },
      }),
    });
    const episode = await play(environment);
    expect(episode).toMatchObject({ status: "completed", turns: 20 });
    expect(JSON.stringify(episode).length).toBeGreaterThan(20 * line.length);
  });

  test("about itself is checked before the first episode", () => {
    const start = (changes: object) => () =>
      rollout({
        environment: { ...countingEnvironment(1), spec: { ...spec, ...changes } },
        tasks: numbers(1),
        policies: yes,
        seed: 0,
      });
    for (const changes of [
      { agents: [] },
      { agents: "agent" },
      { agents: ["agent", "agent"] },
      { agents: [1] },
      { agents: ["__proto__"] },
      { agents: ["constructor"] },
      { maxTurns: 0 },
      { maxTurns: undefined },
      { maxTurns: Number.NaN },
    ]) {
      expect(start(changes), JSON.stringify(changes)).toThrow(
        expect.objectContaining({ code: "environment.contract" }),
      );
    }
    expect(start({ maxTurns: Infinity })).not.toThrow();
  });

  test("belongs to one instance: a factory that returns the same instance twice is detected", async () => {
    let shared: Environment<number> | undefined;
    const factory = plainEnvironment({});
    const create = async (): Promise<Environment<number>> => {
      shared ??= await factory.create();
      return shared;
    };
    const slow = scriptedPolicy(() => new Promise<string>((resolve) => setTimeout(resolve, 5, "yes")));
    const options = { environment: { ...factory, create }, tasks: numbers(4), policies: slow, seed: 0 };
    const statuses = async (concurrency: number): Promise<string[]> =>
      (await Array.fromAsync(rollout({ ...options, concurrency }))).flatMap((event) =>
        event.type === "episode-end" ? [event.episode.error?.code ?? event.episode.status] : [],
      );
    expect(await statuses(1)).toEqual(Array(4).fill("completed"));
    expect((await statuses(2)).toSorted()).toEqual(expect.arrayContaining(["completed", "environment.contract"]));
  });

  test("that throws at close is only a warning", async () => {
    for (const close of [
      () => {
        throw new Error("at once");
      },
      () => {
        throw { toString: "no function" };
      },
      () => Promise.reject(new Error("later")),
    ]) {
      const events = await Array.fromAsync(
        rollout({ environment: plainEnvironment({ close }), tasks: numbers(1), policies: yes, seed: 0 }),
      );
      expect(events.slice(-2)).toMatchObject([
        { type: "warning", error: { code: "environment.failed" } },
        { type: "rollout-end", episodes: { completed: 1 } },
      ]);
    }
  });
});

describe("rewards", () => {
  test("sum up by name, for any names", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom("a", "constructor", "toString", "__proto__"), { minLength: 1 }), (names) => {
        const sum = names
          .map((name) => scored(1, Object.fromEntries([[name, 1]])))
          .reduce((first, second) => addRewards(first, second) as typeof second);
        expect(sum.value).toBe(names.length);
        for (const name of new Set(names)) {
          expect(Object.entries(sum.components)).toContainEqual([name, names.filter((each) => each === name).length]);
        }
      }),
    );
  });

  test("beyond the range of numbers leave the episode unscored", async () => {
    const environment = scriptedEnvironment<number>({
      reset: () => observe("hello"),
      step: ({ turn }) => ({
        observations: turn === 1 ? {} : observe("again"),
        agents: { agent: agentStep(Number.MAX_VALUE, turn === 1) },
      }),
    });
    const episode = await play(environment);
    expect(episode.agents.agent!.reward).toMatchObject({ status: "unscored" });
    expect(episode.agents.agent!.turns.map(({ reward }) => reward)).toMatchObject([
      { value: Number.MAX_VALUE },
      { value: Number.MAX_VALUE },
    ]);
  });
});

test("a batching policy whose flush rejects fails its queued requests, as data", async () => {
  const policy: Policy = {
    ...plainPolicy(forever),
    flush: async () => {
      throw new Error("no device");
    },
  };
  const events = await Array.fromAsync(
    rollout({ environment: countingEnvironment(1), tasks: numbers(3), policies: policy, concurrency: 2, seed: 0 }),
  );
  expect(events.at(-1)).toMatchObject({ episodes: { failed: 3 } });
});

describe("an abort", () => {
  const phases = ["task", "create", "reset", "act", "step", "scoreGroup"] as const;
  test.each(phases)("ends a rollout whose %s hangs and ignores its signal", async (phase) => {
    const controller = new AbortController();
    const hang = (): Promise<never> => {
      setImmediate(() => controller.abort());
      return forever();
    };
    const at = (place: (typeof phases)[number]): (() => Promise<never>) | undefined =>
      place === phase ? hang : undefined;
    const environment = scriptedEnvironment<number>({
      reset: at("reset") ?? (() => observe("hello")),
      step: at("step") ?? (() => end),
      ...(phase === "create" ? { create: hang } : {}),
      ...(phase === "scoreGroup" ? { scoreGroup: hang } : {}),
    });
    const tasks = { ...numbers(9), ...(phase === "task" ? { get: hang } : {}) };
    const policies = plainPolicy(at("act") ?? yes.act);
    const events: RolloutEvent[] = [];
    const traced: Episode[] = [];
    const consume = async (): Promise<void> => {
      for await (const event of rollout({
        environment,
        tasks,
        policies,
        groupSize: 2,
        concurrency: 4,
        seed: 0,
        signal: controller.signal,
        trace: { write: async (episode) => void traced.push(episode) },
      })) {
        events.push(event);
      }
    };
    await expect(consume()).rejects.toMatchObject({ code: "aborted" });
    const started = events.filter(({ type }) => type === "episode-start").length;
    expect(events.filter(({ type }) => type === "episode-end")).toHaveLength(started);
    expect(traced).toHaveLength(started);
    expect(traced.every(({ agents }) => agents.agent!.reward.status === "unscored")).toBe(true);
    expect(environment.instances.closed).toBe(environment.instances.created);
  });
});
