import { describe, expect, test } from "vitest";
import type { Episode } from "../../../src/contract/episode.ts";
import { LyceumError } from "../../../src/contract/errors/index.ts";
import { textMessage } from "../../../src/contract/message.ts";
import type { ActRequest, ActResult, Policy } from "../../../src/contract/policy.ts";
import { samplerPolicy } from "../../../src/core/policy/sampler-policy.ts";
import { type ScriptedAnswer, scriptedPolicy } from "../../../src/core/policy/scripted-policy.ts";
import { EnvironmentPool } from "../../../src/core/rollout/environment-pool.ts";
import type { JointNode, JointTree } from "../../../src/core/rollout/joint-action.ts";
import { jointRollout } from "../../../src/core/rollout/joint-rollout.ts";
import type { JointShape } from "../../../src/core/rollout/joint-shape.ts";
import { characterRenderer } from "./character-renderer.ts";
import {
  content,
  jointEnvironment,
  letterPolicy,
  nodesOf,
  playTree,
  playTrees,
  seedPolicy,
} from "./joint-environment.ts";
import { forever, numbers } from "./scripted-environment.ts";
import { seededSampler } from "./seeded-sampler.ts";

const tree: JointShape = { groupSize: 3, mode: "align", turns: "tree" };
const pair = ["left", "right"];

const boom = (): never => {
  throw new RangeError("boom");
};

/** The completion of one sample in the first turn, and of all others. */
function oddOne(sampleIndex: number, odd: (request: ActRequest) => ScriptedAnswer | Promise<ScriptedAnswer>): Policy {
  return scriptedPolicy((request) =>
    request.episode!.turn === 0 && request.episode!.sampleIndex === sampleIndex ? odd(request) : String(request.seed),
  );
}

/** Returns the joint actions of the first turn, each as its error or its number of leaves. */
function ends({ root }: JointTree): unknown[] {
  return root!.jointActions.map(
    ({ episode, child }) => episode?.error?.code ?? episode?.limit ?? episode?.status ?? child!.jointActions.length,
  );
}

describe("a failure in one branch", () => {
  test.each([true, false])("of the environment ends it, and changes no other branch (forks: %s)", async (forks) => {
    const whole = await playTree({ environment: jointEnvironment({ maxTurns: 3, forks }) });
    const victim = whole.root!.agents.agent![1]!.action!;
    const environment = jointEnvironment({
      maxTurns: 3,
      forks,
      over: ({ turn, texts }) =>
        turn === 0 && texts.agent === (victim.message.content[0] as { text: string }).text && boom(),
    });
    const broken = await playTree({ environment });
    expect(ends(broken)).toEqual([3, "environment.failed", 3]);
    const { rewards, episode } = broken.root!.jointActions[1]!;
    // It fails every time, so it gets the lowest reward.
    const { spec } = environment;
    const lowest = { status: "scored", value: spec.rewardRange[0], failure: { code: "environment.failed" } };
    expect(rewards.agent).toMatchObject(lowest);
    expect(episode!.agents.agent!.reward).toMatchObject(lowest);
    const others = ({ root }: JointTree): unknown =>
      [0, 2].map((index) => withoutIds(root!.jointActions[index]!.child));
    expect(others(broken)).toEqual(others(whole));
    expect(environment.calls.close).toBe(environment.calls.create + environment.calls.fork);
  });

  test("of a policy ends the joint actions with that completion", async () => {
    const policies = scriptedPolicy(({ agent, episode }) =>
      agent === "right" && episode!.sampleIndex === 1 ? boom() : "yes",
    );
    const environment = jointEnvironment({ agents: pair, maxTurns: 1, forks: true });
    const crossed = await playTree({ environment, policies, shape: { groupSize: 2, mode: "cross", turns: "tree" } });
    expect(ends(crossed)).toEqual(["completed", "policy.failed", "completed", "policy.failed"]);
    expect(crossed.root!.agents.right![1]).toMatchObject({ error: { code: "policy.failed" } });
    expect(crossed.root!.agents.right![1]!.action).toBeUndefined();
    expect(environment.calls.step).toBe(2);
    expect(crossed.episodes[1]).toMatchObject({ turns: 0, status: "failed" });
    // The record contains the other agent's message.
    expect(crossed.episodes[1]!.agents.left!.turns).toHaveLength(1);
    const aligned = await playTree({ environment, policies, shape: { ...tree, groupSize: 3 } });
    expect(ends(aligned)).toEqual(["completed", "policy.failed", "completed"]);
  });

  const actions: [string, string, () => Promise<ActResult>][] = [
    ["is no action", "policy.failed", async () => undefined as never],
    [
      "says that it is an error",
      "policy.failed",
      async () => ({ action: { message: textMessage("assistant", "half"), finish: "error" } }),
    ],
    [
      "has tokens that cannot be",
      "policy.failed",
      async () => ({
        action: { message: textMessage("assistant", "x"), finish: "stop" },
        tokens: {
          extendsPrevious: false,
          newPromptIds: [1],
          promptLength: 1,
          completionIds: [2, 3],
          logprobs: [0],
          weightsVersion: 0,
        },
      }),
    ],
  ];
  test.each(actions)("an answer that %s", async (_, code, act) => {
    const policies: Policy = {
      ...seedPolicy,
      act: (request) => (request.episode!.sampleIndex === 2 ? act() : seedPolicy.act(request)),
    };
    const played = await playTree({ environment: jointEnvironment({ maxTurns: 1, forks: true }), policies });
    expect(ends(played)).toEqual(["completed", "completed", code]);
  });

  test("a first prompt that is too long fails, and one that has grown too long truncates its path", async () => {
    const tooLong = (turn: number): Policy =>
      scriptedPolicy(({ episode }) => {
        if (episode!.turn !== turn) return "yes";
        throw new LyceumError({ code: "policy.prompt-too-long", message: "Too long." });
      });
    const environment = jointEnvironment({ maxTurns: 3, forks: true });
    expect(ends(await playTree({ environment, policies: tooLong(0) }))).toEqual(
      Array(3).fill("policy.prompt-too-long"),
    );
    const grown = await playTree({ environment, policies: tooLong(1) });
    expect(ends(grown)).toEqual(["tokens", "tokens", "tokens"]);
    expect(grown.root!.jointActions[0]!.rewards.agent).toMatchObject({ value: 1 });
    expect(grown.episodes).toHaveLength(3);
    expect(environment.calls.close).toBe(environment.calls.create + environment.calls.fork);
  });

  test("an invalid observation leaves its joint action unscored", async () => {
    const environment = jointEnvironment({
      maxTurns: 3,
      forks: true,
      acting: (turn) => (turn === 1 ? ["stranger"] : ["agent"]),
    });
    const played = await playTree({ environment });
    expect(ends(played)).toEqual(Array(3).fill("environment.contract"));
    expect(played.root!.jointActions[0]!.rewards.agent).toMatchObject({ status: "unscored" });
  });

  test("a fork that fails", async () => {
    const environment = jointEnvironment({ maxTurns: 2, forks: true, onFork: (count) => count === 2 && boom() });
    const played = await playTree({ environment, shape: { ...tree, groupSize: 4 } });
    // An instance that threw is not used again. Other paths that needed it fail too.
    expect(ends(played)).toEqual(["environment.failed", 4, "environment.failed", "environment.failed"]);
    expect(environment.calls.close).toBe(environment.calls.create + environment.calls.fork - 1);
  });

  test("a replay that reaches another state", async () => {
    let resets = 0;
    const environment = jointEnvironment({ maxTurns: 2, forks: false });
    const { create } = environment;
    const fickle = {
      ...environment,
      create: async () => {
        const instance = await create();
        const { reset } = instance;
        instance.reset = async (options) => {
          resets += 1;
          return reset({ ...options, seed: resets === 2 ? 0 : options.seed });
        };
        return instance;
      },
    };
    expect(ends(await playTree({ environment: fickle }))).toEqual([3, "environment.contract", 3]);
  });

  test.each(["reset", "create"] as const)("at its %s: one failed episode, no root", async (call) => {
    const environment = jointEnvironment({ maxTurns: 1, forks: true });
    const { create } = environment;
    const broken = {
      ...environment,
      create: call === "create" ? boom : async () => ({ ...(await create()), reset: boom }),
    };
    const [first, second] = await playTrees({ environment: broken, tasks: numbers(2) });
    expect(first!.root).toBeUndefined();
    expect(second!.episodes).toMatchObject([{ status: "failed", error: { code: "environment.failed" }, turns: 0 }]);
  });
});

describe("limits", () => {
  test("of tokens truncate, and no completion may have more than the remaining tokens", async () => {
    const allowed: number[] = [];
    const policies: Policy = {
      ...seedPolicy,
      act: async ({ sampling }) => {
        allowed.push(sampling.maxTokens);
        return {
          action: { message: textMessage("assistant", "yes"), finish: "stop" },
          usage: { promptTokens: 1, completionTokens: Math.min(4, sampling.maxTokens) },
        };
      },
    };
    const environment = jointEnvironment({ maxTurns: 5, forks: true });
    const played = await playTree({ environment, policies, shape: { ...tree, groupSize: 2 }, limits: { tokens: 6 } });
    expect(allowed).toEqual([6, 6, 2, 2, 2, 2]);
    expect(played.episodes).toHaveLength(4);
    for (const episode of played.episodes)
      expect(episode).toMatchObject({ status: "truncated", limit: "tokens", turns: 2 });
  });

  test.each([
    true,
    false,
  ])("of a call end only that joint action, and its instance is replaced (forks: %s)", async (forks) => {
    const environment = jointEnvironment({
      maxTurns: 2,
      forks,
      over: ({ task, turn, texts }) => (task + turn === 0 && texts.agent === "b" ? forever() : false),
    });
    const options = { environment, policies: letterPolicy, tasks: numbers(2), concurrency: 2 };
    const played = await playTrees({ ...options, limits: { environmentMs: 60 } });
    expect(played.map(ends)).toEqual([
      [3, "timeout", 3],
      [3, 3, 3],
    ]);
    const statuses = played.flatMap(({ episodes }) => episodes.map(({ status }) => status));
    expect(statuses.filter((status) => status === "completed")).toHaveLength(2 * 3 + 3 * 3);
    expect(environment.calls.close).toBe(environment.calls.create + environment.calls.fork);
  });

  test("of a hanging fork, which is closed when it returns late", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const environment = jointEnvironment({
      maxTurns: 1,
      forks: true,
      onFork: (count) => (count === 2 ? promise : undefined),
    });
    const played = await playTree({ environment, limits: { environmentMs: 40 } });
    expect(ends(played)).toEqual(["timeout", "completed", "timeout"]);
    resolve();
    await new Promise((done) => setImmediate(done));
    expect(environment.calls.close).toBe(environment.calls.create + environment.calls.fork);
  });

  test("of an action end the joint actions that wait for it", async () => {
    let signalled = 0;
    const policies = oddOne(1, ({ signal }) => {
      signal!.addEventListener("abort", () => {
        signalled += 1;
      });
      return forever();
    });
    const environment = jointEnvironment({ maxTurns: 2, forks: true });
    const played = await playTree({ environment, policies, limits: { actMs: 40 } });
    expect(ends(played)).toEqual([3, "timeout", 3]);
    expect(played.root!.agents.agent![1]!.error).toMatchObject({ code: "timeout", data: { agents: ["agent"] } });
    expect(signalled).toBe(1);
  });

  test("of time end the whole tree: during a step", async () => {
    const environment = jointEnvironment({
      maxTurns: 3,
      forks: true,
      over: ({ turn, texts }) => (turn === 1 && texts.agent === "e" ? forever() : false),
    });
    const played = await playTree({ environment, policies: letterPolicy, limits: { episodeMs: 1_000 } });
    expect(nodesOf(played.root)).toHaveLength(4);
    expect(played.episodes.map(({ limit }) => limit)).toEqual(Array(9).fill("time"));
    const [, second] = played.root!.jointActions;
    expect(second!.child!.jointActions.map(({ rewards }) => rewards.agent!.status)).toEqual([
      "scored",
      "unscored",
      "scored",
    ]);
    expect(environment.calls.close).toBe(environment.calls.create + environment.calls.fork);
  });

  test("of time: during the completions", async () => {
    const policies = scriptedPolicy(({ episode }) =>
      episode!.turn === 1 && episode!.sampleIndex === 4 ? forever() : "yes",
    );
    const environment = jointEnvironment({ maxTurns: 3, forks: true });
    const played = await playTree({ environment, policies, limits: { episodeMs: 1_000 } });
    expect(ends(played)).toEqual(["time", "time", "time"]);
    expect(played.root!.jointActions[0]!.rewards.agent).toMatchObject({ value: 1 });
    const never = scriptedPolicy(forever);
    const rootless = await playTree({ environment, policies: never, limits: { episodeMs: 20 } });
    expect(rootless.root).toBeUndefined();
    expect(rootless.episodes).toMatchObject([{ status: "truncated", limit: "time", turns: 0 }]);
  });
});

describe("a batching policy", () => {
  const batching = (flush: () => void): Policy => ({ ...seedPolicy, act: forever, flush });

  test("that throws at flush fails its own completions only", async () => {
    const policies = { left: batching(boom), right: seedPolicy };
    const environment = jointEnvironment({ agents: pair, maxTurns: 1, forks: true });
    const played = await playTree({ environment, policies });
    expect(ends(played)).toEqual(Array(3).fill("policy.failed"));
    expect(played.root!.agents.right!.every(({ action }) => action !== undefined)).toBe(true);
  });

  test("that throws at flush but answers is used once", async () => {
    const held: (() => void)[] = [];
    const left: Policy = {
      ...seedPolicy,
      act: async (request) => {
        await new Promise<void>((resolve) => held.push(resolve));
        return seedPolicy.act(request);
      },
      flush: () => {
        for (const answer of held) answer();
        throw new Error("after all");
      },
    };
    const late = scriptedPolicy(() => new Promise<string>((resolve) => setTimeout(resolve, 20, "late")));
    const right: Policy = { ...late, flush: () => {} };
    const environment = jointEnvironment({ agents: pair, maxTurns: 1, forks: true });
    const played = await playTree({ environment, policies: { left, right } });
    for (const { action, error } of played.root!.agents.left!)
      expect((action === undefined) !== (error === undefined)).toBe(true);
    for (const { action } of played.root!.agents.right!)
      expect(action?.message).toEqual(textMessage("assistant", "late"));
  });

  test("that never answers reaches its time limit", async () => {
    const environment = jointEnvironment({ maxTurns: 1, forks: true });
    const played = await playTrees({
      environment,
      policies: batching(() => {}),
      limits: { actMs: 20 },
      tasks: numbers(3),
    });
    expect(played.map(ends)).toEqual(Array(3).fill(Array(3).fill("timeout")));
  });

  test("that leaves one request unanswered is flushed again for the others", async () => {
    let held: (() => void)[] = [];
    const policies: Policy = {
      ...seedPolicy,
      act: async (request) => {
        const { turn, sampleIndex } = request.episode!;
        if (turn === 0 && sampleIndex === 1) return forever();
        await new Promise<void>((resolve) => held.push(resolve));
        return seedPolicy.act(request);
      },
      flush: () => {
        for (const answer of held) answer();
        held = [];
      },
    };
    const environment = jointEnvironment({ maxTurns: 2, forks: true });
    const played = await playTree({ environment, policies, limits: { actMs: 60 } });
    expect(ends(played)).toEqual([3, "timeout", 3]);
    expect(played.episodes.map(({ status }) => status).sort()).toEqual([...Array(6).fill("completed"), "failed"]);
  });

  test("next to one that answers without batches continues", async () => {
    const sampler = seededSampler();
    const left = samplerPolicy({ name: "tokens", sampler: () => sampler, renderer: characterRenderer() });
    const right = scriptedPolicy(async () => {
      await new Promise((done) => setTimeout(done, 1));
      return "yes";
    });
    const environment = jointEnvironment({
      agents: pair,
      maxTurns: 2,
      forks: true,
      over: ({ task, texts }) => task === 1 && texts.left!.length > 2,
    });
    const played = await playTrees({ environment, policies: { left, right }, tasks: numbers(3) });
    expect(played.flatMap(({ episodes }) => episodes).every(({ status }) => status === "completed")).toBe(true);
    expect(sampler.batches[0]!.requests).toHaveLength(9);
  });
});

describe("an abort", () => {
  test("during a run ends everything, traces it, and throws", async () => {
    const controller = new AbortController();
    const traced: Episode[] = [];
    const environment = jointEnvironment({
      maxTurns: 3,
      forks: true,
      over: ({ task, turn }) => {
        if (task === 0 || turn === 0) return false;
        if (task === 2) controller.abort();
        return forever();
      },
    });
    const consume = async (): Promise<void> => {
      const trees = jointRollout({
        environment,
        tasks: numbers(9),
        policies: seedPolicy,
        seed: 3,
        shape: tree,
        concurrency: 99,
        trace: { write: async (episode) => void traced.push(episode) },
        signal: controller.signal,
      });
      for await (const played of trees) expect(played.task.index).toBe(0);
    };
    await expect(consume()).rejects.toMatchObject({ code: "aborted" });
    const aborted = traced.filter(({ status }) => status === "aborted");
    expect(aborted.length).toBeGreaterThanOrEqual(9);
    for (const { agents } of aborted) expect(agents.agent!.reward.status).toBe("unscored");
    expect(environment.calls.close).toBe(environment.calls.create + environment.calls.fork);
  });

  test("before the start plays nothing", async () => {
    const environment = jointEnvironment({ maxTurns: 1, forks: true });
    await expect(playTree({ environment, signal: AbortSignal.abort() })).rejects.toMatchObject({ code: "aborted" });
    expect(environment.calls.create).toBe(0);
  });

  test("has the effect of leaving the iteration", async () => {
    const environment = jointEnvironment({
      maxTurns: 2,
      forks: true,
      over: ({ task }) => (task > 1 ? forever() : false),
    });
    const tasks = {
      ...numbers(1),
      length: "unbounded" as const,
      get: (index: number) => numbers(index + 1).get(index),
    };
    let seen = 0;
    for await (const played of jointRollout({ environment, tasks, policies: seedPolicy, seed: 3, shape: tree })) {
      expect(played.task.index).toBe(seen);
      seen += 1;
      if (seen === 2) break;
    }
    expect(environment.calls.close).toBe(environment.calls.create + environment.calls.fork);
  });

  test("reaches hanging completions", async () => {
    const controller = new AbortController();
    const policies = oddOne(0, () => {
      controller.abort();
      return forever();
    });
    const environment = jointEnvironment({ maxTurns: 1, forks: true });
    await expect(playTree({ environment, policies, signal: controller.signal })).rejects.toMatchObject({
      code: "aborted",
    });
    expect(environment.calls.close).toBe(1);
  });
});

describe("the rollout", () => {
  test("writes every path to its trace, and throws the errors of the trace", async () => {
    const environment = jointEnvironment({ maxTurns: 2, forks: true });
    const traced: Episode[] = [];
    const write = async (episode: Episode): Promise<void> => {
      if (traced.length === 25) throw new LyceumError({ code: "trace.write-failed", message: "The disk is full." });
      traced.push(episode);
    };
    const trees = await playTrees({ environment, tasks: numbers(2), trace: { write } });
    expect(traced).toHaveLength(18);
    expect(new Set(traced)).toEqual(new Set(trees.flatMap(({ episodes }) => episodes)));
    await expect(playTrees({ environment, tasks: numbers(50), trace: { write } })).rejects.toMatchObject({
      code: "trace.write-failed",
    });
    expect(environment.calls.close).toBe(environment.calls.create + environment.calls.fork);
  });

  test("leaves a given pool open, and closes its forks", async () => {
    const environment = jointEnvironment({ maxTurns: 2, forks: true });
    await using pool = new EnvironmentPool(environment);
    for (let round = 0; round < 2; round++) {
      await playTrees({ environment: pool, tasks: numbers(3), concurrency: 3 });
      expect(environment.calls.close).toBe(environment.calls.fork);
      expect(environment.calls.create).toBe(1);
    }
  });

  test("starts at the first request, and runs little ahead of a slow consumer", async () => {
    const environment = jointEnvironment({ maxTurns: 1, forks: true });
    const trees = jointRollout({
      environment,
      tasks: numbers(500),
      policies: seedPolicy,
      seed: 3,
      shape: tree,
      concurrency: 6,
    });
    await new Promise((done) => setTimeout(done, 5));
    expect(environment.calls.create).toBe(0);
    await trees.next();
    await new Promise((done) => setTimeout(done, 50));
    expect(environment.calls.reset).toBeLessThan(20);
    await trees.return();
  });
});

/** A node without the ids and sample indices of its episodes, which depend on the number of earlier leaves. */
function withoutIds(node: JointNode | undefined): unknown {
  return JSON.parse(
    JSON.stringify(content(node), (key, part) => (key === "id" || key === "sampleIndex" ? undefined : part)),
  );
}
