import { describe, expect, test } from "vitest";
import { textMessage } from "../../../src/contract/message.ts";
import type { ActRequest, ActResult, Policy } from "../../../src/contract/policy.ts";
import { scriptedPolicy } from "../../../src/core/policy/scripted-policy.ts";
import { createRandom } from "../../../src/core/random/random.ts";
import { collectGroups } from "../../../src/core/rollout/collect-groups.ts";
import { rollout } from "../../../src/core/rollout/rollout.ts";
import { rolloutEpisode } from "../../../src/core/rollout/rollout-episode.ts";
import {
  agentStep,
  countingEnvironment,
  forever,
  numbers,
  observe,
  oneTask,
  scriptedEnvironment,
} from "./scripted-environment.ts";

interface QueuedRequest {
  readonly request: ActRequest;
  readonly answer: (result: ActResult) => void;
}

/** A policy that answers a batch in random order after random delays, and records each batch. */
function batchingPolicy(options: { readonly onFlush?: (queued: readonly QueuedRequest[]) => void } = {}): Policy & {
  readonly batches: string[][];
} {
  const batches: string[][] = [];
  let queue: QueuedRequest[] = [];
  return {
    specificationVersion: "v1",
    name: "batching",
    accepts: ["text"],
    batches,
    act: (request) => new Promise((answer) => queue.push({ request, answer })),
    flush: () => {
      const batch = queue.filter(({ request }) => !request.signal!.aborted);
      queue = [];
      batches.push(batch.map(({ request }) => `${request.order}@${request.episode!.turn}`).sort());
      if (options.onFlush !== undefined) return options.onFlush(batch);
      for (const { request, answer } of batch) void randomDelay(3).then(() => answer(reply(request)));
    },
  };
}

function reply(request: ActRequest): ActResult {
  return { action: { message: textMessage("assistant", String(request.seed)), finish: "stop" } };
}

/** Returns no delay, an immediate, or a timer of up to `ms`. */
async function randomDelay(ms: number): Promise<void> {
  const draw = Math.random();
  if (draw < 0.3) return;
  await new Promise<void>((resolve) => (draw < 0.5 ? setImmediate(resolve) : setTimeout(resolve, Math.random() * ms)));
}

/** Two agents and episodes of 0 to 4 turns, some of which fail, with random delays everywhere. */
function jitteryWorld(): ReturnType<typeof scriptedEnvironment<number>> {
  const turnsOf = (task: number): number => createRandom(task).integer(0, 4);
  const agentsAt = (task: number, turn: number): string[] =>
    ["left", "right"].filter((_, index) => createRandom(task * 10 + turn).next() < 0.7 || index === turn % 2);
  return scriptedEnvironment<number>({
    agents: ["left", "right"],
    create: () => randomDelay(4),
    reset: async ({ task }) => {
      await randomDelay(4);
      if (task % 7 === 3) throw new Error("This task fails.");
      return turnsOf(task) === 0 ? {} : observe("go", ...agentsAt(task, 0));
    },
    step: async ({ task, turn, actions }) => {
      await randomDelay(4);
      const over = turn + 1 === turnsOf(task);
      return {
        observations: over ? {} : observe("on", ...agentsAt(task, turn + 1)),
        agents: Object.fromEntries(Object.keys(actions).map((agent) => [agent, agentStep(1, over)])),
      };
    },
  });
}

async function batchesOf(options: { readonly concurrency: number; readonly direct: boolean }): Promise<string[][]> {
  const batching = batchingPolicy();
  const direct = scriptedPolicy(async ({ episode, seed }) => {
    await randomDelay(4);
    if (seed % 5 === 0 && episode!.turn > 0) throw new Error("This action fails.");
    return "yes";
  });
  const groups = await collectGroups(
    rollout({
      environment: jitteryWorld(),
      tasks: numbers(20),
      policies: options.direct ? { left: batching, right: direct } : batching,
      groupSize: 3,
      concurrency: options.concurrency,
      seed: 1,
    }),
  );
  expect(groups).toHaveLength(20);
  return batching.batches;
}

describe("batches", () => {
  test.each([
    { concurrency: 1, direct: false },
    { concurrency: 8, direct: false },
    { concurrency: 8, direct: true },
    { concurrency: 100, direct: false },
    { concurrency: 100, direct: true },
  ])("depend on task order and not on timing: %o", async (options) => {
    const first = await batchesOf(options);
    expect(first.length).toBeGreaterThan(2);
    for (let run = 0; run < 3; run++) expect(await batchesOf(options)).toEqual(first);
  });

  test("contain the requests of all slots", async () => {
    const policy = batchingPolicy();
    await collectGroups(
      rollout({ environment: countingEnvironment(3), tasks: numbers(10), policies: policy, concurrency: 4, seed: 0 }),
    );
    expect(policy.batches.map((batch) => batch.length)).toEqual([4, 4, 4, 4, 4, 4, 2, 2, 2]);
  });

  test("wait for pending answers", async () => {
    let open = 0;
    const policy = batchingPolicy({
      onFlush: (queued) => {
        expect(open).toBe(0);
        open = queued.length;
        for (const { request, answer } of queued) {
          void randomDelay(3).then(() => {
            open -= 1;
            answer(reply(request));
          });
        }
      },
    });
    const groups = await collectGroups(
      rollout({ environment: jitteryWorld(), tasks: numbers(10), policies: policy, concurrency: 6, seed: 0 }),
    );
    expect(groups.flatMap(({ episodes }) => episodes).filter(({ error }) => error?.code === "policy.failed")).toEqual(
      [],
    );
  });

  test("wait for the answers of other policies, which may end an episode", async () => {
    const environment = scriptedEnvironment<number>({
      agents: ["left", "right"],
      reset: () => observe("go", "left", "right"),
      step: () => ({ observations: {}, agents: { left: agentStep(1, true), right: agentStep(1, true) } }),
    });
    const left = batchingPolicy();
    const right = scriptedPolicy(async ({ episode }) => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      if (episode!.task.task === 1) throw new Error("no");
      return "yes";
    });
    await collectGroups(
      rollout({ environment, tasks: numbers(3), policies: { left, right }, concurrency: 2, seed: 0 }),
    );
    expect(left.batches).toEqual([["0,0,0@0", "2,0,0@0"]]);
  });

  test("are complete even if a slow consumer delays the start of episodes", async () => {
    const policy = batchingPolicy();
    const events = rollout({
      environment: countingEnvironment(1),
      tasks: numbers(60),
      policies: policy,
      concurrency: 3,
      seed: 0,
    });
    let seen = 0;
    for await (const event of events) {
      seen += 1;
      if (event.type === "group-end" && seen % 5 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    }
    expect(policy.batches.every((batch) => batch.length === 3)).toBe(true);
    expect(policy.batches).toHaveLength(20);
  });

  test("have an order that sorts them like the tasks", async () => {
    const orders: (readonly number[] | undefined)[] = [];
    const policy = batchingPolicy({
      onFlush: (queued) => {
        for (const { request, answer } of queued) {
          orders.push(request.order);
          answer(reply(request));
        }
      },
    });
    await collectGroups(
      rollout({
        environment: countingEnvironment(1),
        tasks: numbers(3),
        policies: policy,
        groupSize: 2,
        concurrency: 6,
        seed: 0,
      }),
    );
    expect(orders).toEqual([
      [0, 0, 0],
      [0, 1, 0],
      [1, 0, 0],
      [1, 1, 0],
      [2, 0, 0],
      [2, 1, 0],
    ]);
  });
});

describe("a batching policy", () => {
  test("is flushed for a single episode too", async () => {
    const policy = batchingPolicy();
    const episode = await rolloutEpisode({
      environment: countingEnvironment(3),
      task: await oneTask(),
      policies: policy,
      seed: 0,
    });
    expect(episode.status).toBe("completed");
    expect(policy.batches).toEqual([["0,0,0@0"], ["0,0,0@1"], ["0,0,0@2"]]);
  });

  test("can receive its requests a few microtasks late", async () => {
    const inner = batchingPolicy();
    const policy: Policy = {
      ...inner,
      act: async (request) => {
        for (let i = 0; i < 20; i++) await undefined;
        return inner.act(request);
      },
    };
    await collectGroups(
      rollout({ environment: countingEnvironment(2), tasks: numbers(4), policies: policy, concurrency: 4, seed: 0 }),
    );
    expect(inner.batches.map((batch) => batch.length)).toEqual([4, 4]);
  });

  test.each(["left", "both"])("has no timeout while its requests are queued: %s", async (batched) => {
    const environment = scriptedEnvironment<number>({
      agents: ["left", "right"],
      reset: async ({ task }) => {
        await new Promise((resolve) => setTimeout(resolve, task * 300));
        return observe("hello", "left", "right");
      },
      step: () => ({ observations: {}, agents: { left: agentStep(1, true), right: agentStep(1, true) } }),
    });
    const right = batched === "both" ? batchingPolicy() : scriptedPolicy(() => "yes");
    const policies = { left: batchingPolicy(), right };
    const groups = await collectGroups(
      rollout({ environment, tasks: numbers(2), policies, seed: 0, limits: { actMs: 200 } }),
    );
    expect(groups.map(({ episodes }) => episodes[0]!.status)).toEqual(["completed", "completed"]);
  });

  test("that does not answer a request fails it, and continues with the others", async () => {
    const policy = batchingPolicy({
      onFlush: (queued) => {
        for (const { request, answer } of queued) if (request.episode!.task.task !== 1) answer(reply(request));
      },
    });
    const groups = await collectGroups(
      rollout({
        environment: countingEnvironment(2),
        tasks: numbers(6),
        policies: policy,
        concurrency: 3,
        seed: 0,
        limits: { actMs: 40 },
      }),
    );
    expect(groups.map(({ episodes }) => episodes[0]!.error?.code)).toEqual([
      undefined,
      "timeout",
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });

  test("whose flush throws fails its queued requests, and records the error", async () => {
    const policy = batchingPolicy({
      onFlush: () => {
        throw new Error("no device");
      },
    });
    const groups = await collectGroups(
      rollout({ environment: countingEnvironment(1), tasks: numbers(3), policies: policy, concurrency: 2, seed: 0 }),
    );
    expect(groups.map(({ episodes }) => episodes[0]!.error?.code)).toEqual(Array(3).fill("policy.failed"));
  });

  test("does not delay an abort", async () => {
    const controller = new AbortController();
    const policy = batchingPolicy({ onFlush: () => controller.abort() });
    const events = rollout({
      environment: countingEnvironment(1),
      tasks: numbers(9),
      policies: policy,
      concurrency: 3,
      seed: 0,
      signal: controller.signal,
    });
    await expect(Array.fromAsync(events)).rejects.toMatchObject({ code: "aborted" });
  });

  test("does not wait for an agent of the same turn that failed", async () => {
    const environment = scriptedEnvironment<number>({
      agents: ["left", "right"],
      reset: () => observe("go", "left", "right"),
      step: forever,
    });
    const failing = scriptedPolicy(() => {
      throw new Error("no");
    });
    const policies = { left: batchingPolicy(), right: failing };
    const groups = await collectGroups(rollout({ environment, tasks: numbers(5), policies, concurrency: 2, seed: 0 }));
    expect(groups.map(({ episodes }) => episodes[0]!.status)).toEqual(Array(5).fill("failed"));
  });
});
