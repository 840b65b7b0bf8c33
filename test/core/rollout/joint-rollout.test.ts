import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { kuhnPokerEnvironment } from "../../../environments/kuhn-poker/kuhn-poker.ts";
import { textOf } from "../../../src/contract/message.ts";
import { unscored } from "../../../src/contract/reward.ts";
import { replayPolicy } from "../../../src/core/policy/replay-policy.ts";
import { samplerPolicy } from "../../../src/core/policy/sampler-policy.ts";
import { scriptedPolicy } from "../../../src/core/policy/scripted-policy.ts";
import { createRandom, deriveSeed } from "../../../src/core/random/random.ts";
import type { JointAction, JointNode, JointTree } from "../../../src/core/rollout/joint-action.ts";
import { jointRollout } from "../../../src/core/rollout/joint-rollout.ts";
import type { JointShape } from "../../../src/core/rollout/joint-shape.ts";
import { countJointNodes, jointActionsPerNode } from "../../../src/core/rollout/joint-shape.ts";
import { rolloutEpisode } from "../../../src/core/rollout/rollout-episode.ts";
import { rolloutGroup } from "../../../src/core/rollout/rollout-group.ts";
import { memoryTaskset } from "../../../src/core/taskset/memory-taskset.ts";
import { characterRenderer } from "./character-renderer.ts";
import {
  actionTexts,
  content,
  type JointEnvironmentOptions,
  jointEnvironment,
  letterPolicy,
  nodesOf,
  playedIn,
  playTree,
  playTrees,
  rewardValue,
} from "./joint-environment.ts";
import { agentStep, numbers, observe, oneTask, scriptedEnvironment } from "./scripted-environment.ts";
import { seededSampler } from "./seeded-sampler.ts";

const alignTree: JointShape = { groupSize: 3, mode: "align", turns: "tree" };
const crossTree: JointShape = { groupSize: 2, mode: "cross", turns: "tree" };
const alignHandoff: JointShape = { groupSize: 3, mode: "align", turns: "handoff" };
const pair = ["left", "right"];

/** A token policy whose sampler records its requests. */
function tokenPolicy(breaks?: (messageCount: number) => boolean) {
  const sampler = seededSampler(7);
  const policy = samplerPolicy({ name: "tokens", sampler: () => sampler, renderer: characterRenderer(breaks) });
  return { policies: policy, sampler };
}

/** A random delay of at most about a millisecond, by timer, by immediate or not at all. */
async function randomDelay(): Promise<void> {
  const draw = Math.random();
  if (draw < 0.3) return;
  await new Promise<void>((resolve) => (draw < 0.6 ? setImmediate(resolve) : setTimeout(resolve, Math.random() * 2)));
}

/** Returns the joint actions of the continued path, from the root. */
function chain({ root }: JointTree): readonly JointAction[] {
  const actions: JointAction[] = [];
  for (let node = root; node !== undefined; node = actions.at(-1)?.child) {
    const next = playedIn(node).find(({ child }) => child !== undefined);
    if (next === undefined) break;
    actions.push(next);
  }
  return actions;
}

describe("a tree", () => {
  test("of 3 completions over 3 turns, by hand, on forks", async () => {
    const environment = jointEnvironment({ maxTurns: 3, forks: true });
    const asked: string[] = [];
    const policies = scriptedPolicy(({ episode }) => {
      asked.push(`${episode!.turn}.${episode!.sampleIndex}`);
      return `${episode!.sampleIndex}`;
    });
    const tree = await playTree({ environment, policies, shape: alignTree });
    // 1 + 3 + 9 nodes with 3 joint actions each. At every node, all joint actions except one play on a fork.
    expect(
      nodesOf(tree.root)
        .map(({ turn }) => turn)
        .sort(),
    ).toEqual([0, ...Array(3).fill(1), ...Array(9).fill(2)]);
    expect(asked).toEqual([
      ...[0, 1, 2].map((sampleIndex) => `0.${sampleIndex}`),
      ...Array.from({ length: 9 }, (_, sampleIndex) => `1.${sampleIndex}`),
      ...Array.from({ length: 27 }, (_, sampleIndex) => `2.${sampleIndex}`),
    ]);
    expect(environment.calls).toMatchObject({ create: 1, reset: 1, fork: 26, step: 39, close: 27 });
    expect(tree.episodes).toHaveLength(27);
    expect(actionTexts(tree.episodes[14]!)).toEqual(["1", "4", "14"]);
    expect(tree.root!.jointActions[1]!.child!.jointActions[1]!.child!.jointActions[2]!.episode).toBe(tree.episodes[14]);
  });

  test("without forks, replays each path", async () => {
    const environment = jointEnvironment({ maxTurns: 3, forks: false });
    await playTree({ environment, shape: alignTree });
    // One joint action of a node continues in the node's instance. The two others reset and repeat 0, 1 or 2 steps.
    expect(environment.calls).toMatchObject({ reset: 1 + 2 * 13, step: 39 + 2 * (3 * 1 + 9 * 2), fork: 0 });
    expect(environment.calls.close).toBe(environment.calls.create);
  });

  test("with cross plays all pairs of two agents, and the last agent's index varies fastest", async () => {
    const environment = jointEnvironment({ agents: pair, maxTurns: 2, forks: true });
    let asked = 0;
    const policies = scriptedPolicy(({ agent }) => `${agent} ${asked++}`);
    const tree = await playTree({ environment, policies, shape: crossTree });
    expect(nodesOf(tree.root)).toHaveLength(1 + 4);
    expect(asked).toBe(5 * 2 * 2);
    expect(environment.calls).toMatchObject({ step: 5 * 4, fork: 5 * 3 });
    for (const node of nodesOf(tree.root)) {
      expect(node.jointActions.map(({ choice }) => choice)).toEqual([
        { left: 0, right: 0 },
        { left: 0, right: 1 },
        { left: 1, right: 0 },
        { left: 1, right: 1 },
      ]);
      expect(Object.keys(node.agents)).toEqual(pair);
    }
    expect(tree.episodes).toHaveLength(16);
    expect(
      new Set(tree.episodes.map((episode) => `${actionTexts(episode, "left")}+${actionTexts(episode, "right")}`)).size,
    ).toBe(16);
  });

  test("with align plays pairs of equal index", async () => {
    const environment = jointEnvironment({ agents: pair, maxTurns: 1, forks: true });
    const tree = await playTree({ environment, shape: alignTree });
    expect(tree.root!.jointActions.map(({ choice }) => choice)).toEqual([
      { left: 0, right: 0 },
      { left: 1, right: 1 },
      { left: 2, right: 2 },
    ]);
  });

  test("lets only observed agents act", async () => {
    const environment = jointEnvironment({
      agents: pair,
      maxTurns: 3,
      forks: false,
      acting: (turn) => [pair[turn % 2]!],
      reward: (_, agent) => (agent === "left" ? 1 : -1),
    });
    const tree = await playTree({ environment, shape: crossTree });
    const nodes = nodesOf(tree.root);
    expect(nodes).toHaveLength(1 + 2 + 4);
    for (const { turn, agents, jointActions } of nodes) {
      const actor = pair[turn % 2]!;
      expect(Object.keys(agents)).toEqual([actor]);
      expect(jointActions.map(({ choice }) => choice)).toEqual([{ [actor]: 0 }, { [actor]: 1 }]);
      // Agents that did not act have rewards too.
      expect(jointActions.map((one) => [rewardValue(one, "left"), rewardValue(one, "right")])).toEqual([
        [1, -1],
        [1, -1],
      ]);
    }
    expect(actionTexts(tree.episodes[0]!, "left")).toHaveLength(2);
    expect(actionTexts(tree.episodes[0]!, "right")).toHaveLength(1);
  });

  test("has no child if the environment has ended, and other paths continue", async () => {
    const environment = jointEnvironment({ maxTurns: 3, forks: true, over: ({ texts }) => texts.agent === "b" });
    const policies = scriptedPolicy(({ episode }) => String.fromCharCode(97 + (episode!.sampleIndex % 3)));
    const tree = await playTree({ environment, policies });
    const [first, ended, last] = tree.root!.jointActions;
    expect(ended).toMatchObject({ episode: { status: "completed", turns: 1 } });
    expect(ended!.child).toBeUndefined();
    expect([first, last].map((one) => one!.child!.turn)).toEqual([1, 1]);
    // 2 paths continue from each node but the last.
    expect(nodesOf(tree.root)).toHaveLength(1 + 2 + 4);
    expect(tree.episodes.filter(({ turns }) => turns === 3)).toHaveLength(12);
  });

  test("has reward 0 if the environment gives none", async () => {
    const environment = jointEnvironment({
      maxTurns: 2,
      forks: true,
      reward: ({ turn }) => (turn === 0 ? undefined : 1),
    });
    const tree = await playTree({ environment });
    expect(tree.root!.jointActions[0]!.rewards).toEqual({ agent: { status: "scored", value: 0, components: {} } });
  });

  test("is unscored if the environment ends without any reward", async () => {
    const environment = jointEnvironment({ maxTurns: 1, forks: true, reward: () => undefined });
    const tree = await playTree({ environment });
    expect(tree.root!.jointActions[0]!.rewards).toMatchObject({
      agent: { status: "unscored", error: { code: "environment.contract" } },
    });
  });

  test("of a turn-based game by replay has all ways to play one deal", async () => {
    const environment = kuhnPokerEnvironment();
    const tasks = await environment.tasks("train[:1]");
    const policies = scriptedPolicy(({ messages, episode }) => {
      const [, ...legal] = /move: (\w+) or (\w+)/.exec(textOf(messages.at(-1)!))!;
      return legal[episode!.sampleIndex % 2]!;
    });
    const [tree] = await Array.fromAsync(jointRollout({ environment, tasks, policies, seed: 3, shape: crossTree }));
    // check-check, check-bet and one of two answers, bet and one of two answers.
    expect(tree!.episodes.map(({ status, turns }) => `${status} ${turns}`)).toEqual([
      "completed 2",
      "completed 3",
      "completed 3",
      "completed 2",
      "completed 2",
    ]);
    for (const { agents } of tree!.episodes) {
      const [first, second] = Object.values(agents).map(({ reward }) => reward.status === "scored" && reward.value);
      expect(Number(first) + Number(second)).toBe(0);
    }
  });

  test("records the ended agents and the observations of each path", async () => {
    const environment = scriptedEnvironment<number>({
      agents: pair,
      maxTurns: 3,
      reset: () => observe("go", ...pair),
      step: ({ turn }) => ({
        observations: observe("on", "right"),
        agents: turn === 0 ? { left: agentStep(1, true), right: agentStep(1, false) } : { right: agentStep(1, false) },
        info: { turn },
      }),
    });
    const tree = await playTree({ environment, shape: { ...crossTree, mode: "align" } });
    expect(tree.episodes).toHaveLength(8);
    for (const { agents, info } of tree.episodes) {
      expect(agents.left).toMatchObject({ terminated: true, truncated: false, reward: { value: 1 } });
      expect(agents.right).toMatchObject({ terminated: false, truncated: true, reward: { value: 3 } });
      expect(info).toEqual([{ turn: 0 }, { turn: 1 }, { turn: 2 }]);
    }
  });

  test("without acting agents has one episode and no root", async () => {
    const environment = jointEnvironment({ maxTurns: 1, forks: true, acting: () => [] });
    const tree = await playTree({ environment });
    expect(tree.root).toBeUndefined();
    expect(tree.episodes).toMatchObject([{ status: "completed", turns: 0, sampleIndex: 0 }]);
  });

  test("ends each leaf at the turn limit", async () => {
    const environment = jointEnvironment({ maxTurns: 5, forks: true });
    const tree = await playTree({ environment, limits: { turns: 2 } });
    expect(tree.episodes).toHaveLength(9);
    for (const { status, limit } of tree.episodes) expect([status, limit]).toEqual(["truncated", "turns"]);
  });
});

describe("equal to the bit are", () => {
  const drawn = (options: Partial<JointEnvironmentOptions> = {}) =>
    jointEnvironment({
      maxTurns: 3,
      forks: true,
      reward: ({ history }) => createRandom(deriveSeed(0, JSON.stringify(history))).integer(-3, 3),
      ...options,
    });

  test.each(["tree", "handoff"] as const)("align and cross for one agent: %s", async (turns) => {
    const play = async (mode: "align" | "cross") =>
      content(await playTree({ environment: drawn(), shape: { groupSize: 3, mode, turns } }));
    expect(await play("cross")).toEqual(await play("align"));
  });

  test("random and randomIndependent for one agent", async () => {
    for (let seed = 0; seed < 10; seed++) {
      const play = async (handoff: "random" | "randomIndependent") => {
        const environment = drawn();
        const tree = await playTree({ environment, seed, shape: { ...alignHandoff, handoff } });
        return content({ tree, calls: environment.calls });
      };
      expect(await play("randomIndependent")).toEqual(await play("random"));
    }
  });

  test.each([["agent"], pair])("a group, a tree and a handoff of one turn (%s)", async (...agents) => {
    const task = await oneTask();
    const environment = drawn({ agents, maxTurns: 1 });
    const play = async (turns: "tree" | "handoff") => {
      const { policies, sampler } = tokenPolicy();
      const tree = await playTree({ environment, policies, shape: { ...alignTree, turns } });
      return content({ episodes: tree.episodes, batches: sampler.batches });
    };
    const { policies, sampler } = tokenPolicy();
    const group = await rolloutGroup({ environment, task, policies, groupSize: 3, seed: 3 });
    expect(await play("tree")).toEqual(content({ episodes: group.episodes, batches: sampler.batches }));
    expect(await play("handoff")).toEqual(await play("tree"));
  });

  test.each(["tree", "handoff"] as const)("an episode and a %s of one completion", async (turns) => {
    const environment = drawn({ agents: pair });
    const { policies } = tokenPolicy();
    const tree = await playTree({ environment, policies, shape: { groupSize: 1, mode: "cross", turns } });
    const episode = await rolloutEpisode({ environment, task: await oneTask(), policies, seed: 3 });
    expect(content(tree.episodes)).toEqual([content(episode)]);
  });

  test("trees on forks and by replay", async () => {
    for (const shape of [
      alignTree,
      crossTree,
      alignHandoff,
      { ...crossTree, turns: "handoff", handoff: "best" },
    ] as const) {
      const play = async (forks: boolean) =>
        content(
          await playTree({ environment: drawn({ agents: pair, forks }), shape, policies: tokenPolicy().policies }),
        );
      expect(await play(false)).toEqual(await play(true));
    }
  });

  test("trees with any timing and concurrency", async () => {
    const play = async (concurrency: number, batches: boolean) => {
      const { policies, sampler } = tokenPolicy();
      const trees = await playTrees({
        environment: drawn({ agents: pair, maxTurns: 2, over: randomDelay, onFork: randomDelay }),
        tasks: numbers(5),
        policies: batches
          ? policies
          : scriptedPolicy(async ({ seed }) => {
              await randomDelay();
              return String(seed);
            }),
        shape: crossTree,
        concurrency,
      });
      return { trees: content(trees), batches: concurrency === 1 ? undefined : content(sampler.batches) };
    };
    expect((await play(9, true)).batches).toEqual((await play(9, true)).batches);
    for (const batches of [true, false]) {
      const { trees } = await play(64, batches);
      expect(trees.map(({ task }) => task.index)).toEqual([0, 1, 2, 3, 4]);
      expect((await play(1, batches)).trees).toEqual(trees);
      expect((await play(9, batches)).trees).toEqual(trees);
    }
  });

  test("a path and its replay as an ordinary episode", async () => {
    const environment = drawn({ agents: pair, maxTurns: 2 });
    const { episodes } = await playTree({ environment, policies: tokenPolicy().policies, shape: crossTree });
    const policies = await replayPolicy(episodes, { name: "tokens" });
    for (const sampleIndex of [0, 5, 15]) {
      const again = await rolloutEpisode({ environment, task: await oneTask(), policies, seed: 3, sampleIndex });
      expect(content(again)).toEqual(content(episodes[sampleIndex]));
    }
  });
});

describe("a handoff", () => {
  const numbersOf = (step: { readonly texts: Readonly<Record<string, string>> }): number =>
    Object.values(step.texts).reduce((sum, text) => sum + text.charCodeAt(0) - 97, 0);

  test("of 3 completions over 3 turns, by hand", async () => {
    const environment = jointEnvironment({ maxTurns: 3, forks: true });
    const tree = await playTree({ environment, shape: alignHandoff });
    expect(nodesOf(tree.root).map(({ turn }) => turn)).toEqual([0, 1, 2]);
    expect(environment.calls).toMatchObject({ step: 9, fork: 6, reset: 1 });
    expect(environment.calls.close).toBe(1 + 6);
    // Two paths end in each turn except the last.
    expect(tree.episodes.map(({ turns, limit }) => `${turns} ${limit}`).sort()).toEqual([
      ...Array(2).fill("1 shape"),
      ...Array(2).fill("2 shape"),
      ...Array(3).fill("3 undefined"),
    ]);
  });

  test("random is seeded, and can choose any joint action", async () => {
    const choices = async (seed: number) =>
      chain(
        await playTree({ environment: jointEnvironment({ maxTurns: 3, forks: true }), seed, shape: alignHandoff }),
      ).map(({ choice }) => choice.agent);
    const all = await Promise.all(Array.from({ length: 20 }, (_, seed) => choices(seed)));
    expect(await choices(4)).toEqual(all[4]);
    expect(new Set(all.map(([first]) => first))).toEqual(new Set([0, 1, 2]));
    // The choices of the turns are independent.
    expect(all.some(([first, second]) => first !== second)).toBe(true);
  });

  test("best chooses the first joint action with the highest mean reward of the acting agents", async () => {
    // The values of a, b and c are 0, 2 and 2, whatever the reward of "right".
    const environment = jointEnvironment({
      agents: pair,
      maxTurns: 2,
      forks: true,
      reward: ({ texts }, agent) => (texts.left === "a" ? 0 : agent === "left" ? 3 : 1),
    });
    const tree = await playTree({ environment, policies: letterPolicy, shape: { ...alignHandoff, handoff: "best" } });
    expect(chain(tree).map(({ choice }) => choice)).toEqual([{ left: 1, right: 1 }]);
    expect(tree.episodes.map(({ turns }) => turns)).toEqual([1, 2, 2, 2, 1]);
  });

  test("best only uses the rewards of acting agents", async () => {
    const environment = jointEnvironment({
      agents: pair,
      acting: (turn) => [pair[turn % 2]!],
      maxTurns: 2,
      forks: true,
      // The best action for left is the worst for right.
      reward: (step, agent) => (agent === "left" ? 1 : -3) * numbersOf(step),
    });
    const tree = await playTree({ environment, policies: letterPolicy, shape: { ...alignHandoff, handoff: "best" } });
    expect(chain(tree).map(({ choice }) => choice)).toEqual([{ left: 2 }]);
  });

  test.each([
    "random",
    "best",
    "randomIndependent",
  ] as const)("%s never chooses an unscored joint action or one that has ended", async (handoff) => {
    const environment = jointEnvironment({
      maxTurns: 4,
      forks: true,
      reward: ({ texts }) => (texts.agent === "a" ? unscored("silent judge") : -1),
      over: ({ texts }) => {
        if (texts.agent === "b") throw new Error("boom");
        return texts.agent === "c";
      },
    });
    const shape = { ...alignHandoff, groupSize: 5, handoff };
    for (let seed = 0; seed < 8; seed++) {
      const choices = chain(await playTree({ environment, policies: letterPolicy, shape, seed })).map(
        ({ choice }) => choice.agent!,
      );
      expect(choices).toHaveLength(3);
      for (const choice of choices) expect([3, 4]).toContain(choice);
    }
  });

  test.each([
    "random",
    "best",
    "randomIndependent",
  ] as const)("%s chooses an unscored one if no other can continue", async (handoff) => {
    const environment = jointEnvironment({
      maxTurns: 2,
      forks: true,
      reward: ({ texts }) => (texts.agent === "a" ? unscored("silent judge") : 5),
      over: ({ texts }) => texts.agent !== "a",
    });
    const tree = await playTree({ environment, policies: letterPolicy, shape: { ...alignHandoff, handoff } });
    expect(chain(tree).map(({ choice }) => choice)).toEqual([{ agent: 0 }]);
  });

  test("ends if no joint action can continue", async () => {
    const environment = jointEnvironment({ maxTurns: 3, forks: true, over: () => true });
    const tree = await playTree({ environment, shape: alignHandoff });
    expect(nodesOf(tree.root)).toHaveLength(1);
    expect(tree.root!.endedEarly).toBe(false);
  });

  test.each([true, false])("randomIndependent steps a pair that was not played (forks: %s)", async (forks) => {
    const shape: JointShape = { ...alignHandoff, handoff: "randomIndependent" };
    const seen = new Set<string>();
    let stepped = 0;
    for (let seed = 0; seed < 60; seed++) {
      const environment = jointEnvironment({ agents: pair, maxTurns: 2, forks });
      const tree = await playTree({ environment, policies: letterPolicy, shape, seed });
      const { choice, child } = chain(tree)[0]!;
      const { left, right } = choice as { left: number; right: number };
      seen.add(`${left}${right}`);
      const { handoffAction, jointActions } = tree.root!;
      expect(jointActions).toHaveLength(3);
      expect(handoffAction?.choice).toEqual(left === right ? undefined : choice);
      expect(rewardValue(handoffAction ?? jointActions[0]!, "left")).toBe(1);
      // The conversation of the next turn is that of the pair.
      const episode = child!.jointActions[0]!.episode!;
      expect([actionTexts(episode, "left")[0], actionTexts(episode, "right")[0]]).toEqual(["abc"[left], "abc"[right]]);
      expect(tree.episodes).toHaveLength(left === right ? 2 + 3 : 3 + 3);
      expect(environment.calls.close).toBe(environment.calls.create + environment.calls.fork);
      stepped += left === right ? 0 : 1;
      if (forks) expect(environment.calls).toMatchObject({ fork: 3 + 2, step: 6 + (left === right ? 0 : 1), reset: 1 });
    }
    expect(seen.size).toBe(9);
    expect(stepped).toBeGreaterThan(20);
  });

  test("randomIndependent with cross plays no additional step", async () => {
    const environment = jointEnvironment({ agents: pair, maxTurns: 3, forks: true });
    const shape: JointShape = { groupSize: 2, mode: "cross", turns: "handoff", handoff: "randomIndependent" };
    const tree = await playTree({ environment, shape });
    expect(environment.calls).toMatchObject({ step: 12, fork: 9 });
    expect(chain(tree)).toHaveLength(2);
    expect(nodesOf(tree.root).every(({ handoffAction }) => handoffAction === undefined)).toBe(true);
  });
});

describe("the termination threshold", () => {
  const environment = (over?: JointEnvironmentOptions["over"]) =>
    jointEnvironment({
      maxTurns: 2,
      forks: true,
      // Values of 1, 2 and unscored: the mean of the scored ones is 1.5.
      reward: ({ texts }) => (texts.agent === "c" ? unscored("silent judge") : texts.agent!.charCodeAt(0) - 96),
      ...(over === undefined ? {} : { over }),
    });

  test.each(["tree", "handoff"] as const)("makes a node with a higher mean a leaf: %s", async (turns) => {
    const play = (terminationThreshold: number) =>
      playTree({
        environment: environment(),
        policies: letterPolicy,
        shape: { ...alignTree, turns, terminationThreshold },
      });
    const ended = await play(1.4999);
    expect(nodesOf(ended.root)).toHaveLength(1);
    expect(ended.root!.endedEarly).toBe(true);
    expect(ended.episodes.map(({ limit }) => limit)).toEqual(["shape", "shape", "shape"]);
    for (const episode of ended.episodes)
      expect(episode.agents.agent).toMatchObject({ terminated: false, truncated: true });
    const equal = await play(1.5);
    expect(nodesOf(equal.root).length).toBeGreaterThan(1);
    expect(equal.root!.endedEarly).toBe(false);
  });

  test("does not mark a node that ends anyway as ended early", async () => {
    const tree = await playTree({
      environment: environment(() => true),
      policies: letterPolicy,
      shape: { ...alignTree, terminationThreshold: 0 },
    });
    expect(tree.root!.endedEarly).toBe(false);
    expect(tree.episodes.every(({ status }) => status === "completed")).toBe(true);
  });

  test("is not reached if no joint action is scored", async () => {
    const silent = jointEnvironment({ maxTurns: 2, forks: true, reward: () => unscored("silent judge") });
    const tree = await playTree({ environment: silent, shape: { ...alignTree, terminationThreshold: -5 } });
    expect(nodesOf(tree.root)).toHaveLength(4);
  });
});

describe("tokens", () => {
  test.each([
    ["extended", () => false],
    ["restarted", (messages: number) => messages === 2],
  ])("are those that the policy read and sampled (%s)", async (_, breaks) => {
    const { policies, sampler } = tokenPolicy(breaks);
    const environment = jointEnvironment({ agents: pair, maxTurns: 3, forks: true });
    const tree = await playTree({ environment, policies, shape: crossTree });
    const sampled = sampler.batches.flatMap(({ requests, samples }) =>
      samples.map(({ request, ids, logprobs }) => JSON.stringify([requests[request]!.promptIds, ids, logprobs])),
    );
    const candidates = nodesOf(tree.root).flatMap(({ agents }) => Object.values(agents).flat());
    const recorded = candidates.map(({ sequences: [sequence] }) => {
      const { ids, mask, logprobs, temperature, weightsVersion } = sequence!;
      const begin = mask.indexOf(1);
      expect(mask).toEqual(ids.map((_, index) => (index < begin ? 0 : 1)));
      expect(logprobs.slice(0, begin).every((logprob) => logprob === 0)).toBe(true);
      expect([temperature, weightsVersion]).toEqual([1, 7]);
      return JSON.stringify([ids.slice(0, begin), ids.slice(begin), logprobs.slice(begin)]);
    });
    expect(recorded.sort()).toEqual(sampled.sort());
    expect(candidates).toHaveLength(21 * 4);
    // The turns of a sequence are the turns in which its ids were added.
    for (const { turn, agents } of nodesOf(tree.root)) {
      for (const {
        sequences: [sequence],
      } of Object.values(agents).flat()) {
        const { turns, mask } = sequence!;
        expect(turns).toEqual([...turns].sort());
        expect(turns.at(-1)).toBe(turn);
        expect(turns.every((of, index) => mask[index] === 0 || of === turn)).toBe(true);
      }
    }
  });

  test("of a level are sampled in one batch for all agents and completions", async () => {
    const { policies, sampler } = tokenPolicy();
    const environment = jointEnvironment({ agents: pair, maxTurns: 3, forks: false });
    await playTrees({ environment, policies, shape: crossTree, tasks: numbers(3) });
    // 3 tasks, K = 4, n x G = 4.
    expect(sampler.batches.map(({ requests }) => requests.length)).toEqual([3 * 4, 3 * 4 * 4, 3 * 16 * 4]);
    const seeds = sampler.batches.flatMap(({ requests }) => requests.map(({ seed }) => seed));
    expect(new Set(seeds).size).toBe(seeds.length);
  });
});

describe("options", () => {
  const environment = jointEnvironment({ agents: pair, maxTurns: 3, forks: true });

  test.each([
    [{ groupSize: 4, mode: "align", turns: "tree" }, 2, 3, 1 + 4 + 16, 4],
    [{ groupSize: 4, mode: "cross", turns: "tree" }, 2, 3, 1 + 16 + 256, 16],
    [{ groupSize: 2, mode: "cross", turns: "tree" }, 3, 2, 1 + 8, 8],
    [{ groupSize: 4, mode: "cross", turns: "handoff" }, 2, 3, 3, 16],
    [{ groupSize: 1, mode: "cross", turns: "tree" }, 5, 7, 7, 1],
    [{ groupSize: 9, mode: "align", turns: "tree" }, 1, 1, 1, 9],
    [{ groupSize: 9, mode: "align", turns: "tree" }, 1, 10_000, Infinity, 9],
  ] as const)("%j of %d agents over %d turns may have %d nodes of %d", (shape, agents, maxTurns, nodes, each) => {
    expect(countJointNodes({ shape, agents, maxTurns })).toBe(nodes);
    expect(jointActionsPerNode(shape, agents)).toBe(each);
  });

  test.each([
    [
      { ...crossTree, groupSize: 4, maxNodes: 272 },
      { nodes: 273, maxNodes: 272 },
    ],
    [
      { ...crossTree, groupSize: 8 },
      { nodes: 1 + 64 + 4096, maxNodes: 1000 },
    ],
    [
      { ...crossTree, turns: "handoff", groupSize: 100 },
      { jointActions: 30_000, maxJointActions: 10_000 },
    ],
  ] as const)("refuse %j before anything is created", async (shape, data) => {
    await expect(playTree({ environment, shape })).rejects.toMatchObject({ code: "config.invalid", data });
    expect(environment.calls.create).toBe(0);
  });

  test("allow a tree of exactly the limit, and more turns than are played", async () => {
    const roomy = jointEnvironment({ agents: pair, maxTurns: 50, forks: true });
    const shape = { ...crossTree, maxNodes: 5, maxJointActions: 20 };
    expect(nodesOf((await playTree({ environment: roomy, shape, limits: { turns: 2 } })).root)).toHaveLength(5);
  });

  test.each([
    { ...alignTree, groupSize: 0 },
    { ...alignTree, groupSize: 1.5 },
    { ...alignTree, mode: "crossed" },
    { ...alignTree, turns: "line" },
    { ...alignHandoff, handoff: "first" },
    { ...alignTree, handoff: "best" },
    { ...alignTree, terminationThreshold: Number.NaN },
    { ...alignTree, maxNodes: 0 },
    { ...alignTree, maxJointActions: -1 },
  ])("refuse %j", async (shape) => {
    await expect(playTree({ environment, shape: shape as JointShape })).rejects.toMatchObject({
      code: "config.invalid",
    });
  });

  test("reject an environment that cannot reach a state twice, before its reset", async () => {
    const fickle = jointEnvironment({ maxTurns: 2, forks: false, deterministic: false });
    await expect(playTree({ environment: fickle })).rejects.toMatchObject({ code: "config.invalid" });
    await expect(playTree({ environment: fickle, shape: alignHandoff })).rejects.toMatchObject({
      code: "config.invalid",
    });
    expect(fickle.calls).toMatchObject({ reset: 0, create: 2, close: 2 });
    // A reset leads to the first state, as in a group. With one joint action per turn, no state is needed twice.
    expect((await playTree({ environment: fickle, limits: { turns: 1 } })).episodes).toHaveLength(3);
    expect((await playTree({ environment: fickle, shape: { ...alignTree, groupSize: 1 } })).episodes).toHaveLength(1);
    const forked = jointEnvironment({ maxTurns: 2, forks: true, deterministic: false });
    expect((await playTree({ environment: forked })).episodes).toHaveLength(9);
    expect(forked.calls.reset).toBe(1);
  });

  test("skip and repeated tasks work as in a rollout", async () => {
    const tasks = memoryTaskset("twins", [4, 4, 5]);
    const trees = await playTrees({ environment, tasks, shape: crossTree });
    expect(trees[0]!.seed).toBe(3);
    expect(trees[1]!.seed).not.toBe(3);
    expect(trees[2]!.seed).toBe(3);
    const { reset } = environment.calls;
    expect(content(await playTrees({ environment, tasks, shape: crossTree, skip: 1 }))).toEqual(
      content(trees.slice(1)),
    );
    expect(environment.calls.reset - reset).toBe(2);
    expect(new Set(trees.flatMap(({ episodes }) => episodes.map(({ id }) => id))).size).toBe(3 * 64);
  });

  test("concurrency limits the concurrent calls of environments", async () => {
    const slow = jointEnvironment({ maxTurns: 2, forks: true, over: () => new Promise((done) => setImmediate(done)) });
    await playTrees({ environment: slow, tasks: numbers(6), concurrency: 5 });
    expect(slow.calls.most).toBeLessThanOrEqual(5);
    expect(slow.calls.most).toBeGreaterThan(3);
  });
});

describe("rewards of scoreGroup", () => {
  test("are added to the leaves, in the tree as in the episodes", async () => {
    const environment = jointEnvironment({
      agents: pair,
      maxTurns: 2,
      forks: true,
      over: ({ texts }) => texts.left === "b",
      scoreGroup: async (episodes) =>
        Object.fromEntries(
          episodes.map(({ id, turns }) => [
            id,
            { left: { status: "scored" as const, value: 10 * turns, components: { group: 10 * turns } } },
          ]),
        ),
    });
    const tree = await playTree({ environment, policies: letterPolicy, shape: { ...alignHandoff, handoff: "best" } });
    const [handed, ended, left] = tree.root!.jointActions;
    expect(handed!.episode).toBeUndefined();
    expect(rewardValue(handed!, "left")).toBe(1);
    expect([ended, left].map((one) => [rewardValue(one!, "left"), rewardValue(one!, "right")])).toEqual([
      [11, 1],
      [11, 1],
    ]);
    expect(handed!.child!.jointActions.map((one) => rewardValue(one, "left"))).toEqual([21, 21, 21]);
    for (const episode of tree.episodes) {
      expect(episode.agents.left!.reward).toMatchObject({ value: 11 * episode.turns });
      expect(episode.agents.right!.reward).toMatchObject({ value: episode.turns });
    }
  });
});

describe("in random trees", () => {
  const shapes = fc.record(
    {
      groupSize: fc.integer({ min: 1, max: 3 }),
      mode: fc.constantFrom("align" as const, "cross" as const),
      turns: fc.constantFrom("tree" as const, "handoff" as const),
      handoff: fc.constantFrom("random" as const, "best" as const, "randomIndependent" as const),
      terminationThreshold: fc.integer({ min: -2, max: 3 }),
    },
    { requiredKeys: ["groupSize", "mode", "turns"] },
  );

  test("paths, trees and records agree, and all instances are closed", async () => {
    await fc.assert(
      fc.asyncProperty(
        shapes,
        fc.integer({ min: 1, max: 3 }),
        fc.integer({ min: 1, max: 3 }),
        fc.nat(1000),
        fc.boolean(),
        async ({ handoff, ...rest }, count, maxTurns, seed, turnBased) => {
          const shape: JointShape =
            rest.turns === "handoff" && handoff !== undefined
              ? { ...rest, handoff, maxNodes: 1e6, maxJointActions: 1e6 }
              : { ...rest, maxNodes: 1e6, maxJointActions: 1e6 };
          fc.pre(countJointNodes({ shape, agents: turnBased ? 1 : count, maxTurns }) <= 40);
          const agents = ["ann", "bob", "cy"].slice(0, count);
          const draw = (...key: (string | number)[]): number => createRandom(deriveSeed(seed, ...key)).next();
          const options = {
            agents,
            maxTurns,
            acting: (turn: number) => (turnBased ? [agents[turn % count]!] : agents),
            reward: ({ history }, agent) => {
              const number = draw(JSON.stringify(history), agent);
              return number < 0.15 ? unscored("silent") : number < 0.3 ? undefined : Math.round(number * 8) - 4;
            },
            over: ({ history }) => {
              const number = draw(JSON.stringify(history));
              if (number < 0.1) throw new Error("This branch fails.");
              return number < 0.25;
            },
          } satisfies Partial<JointEnvironmentOptions>;
          const policies = scriptedPolicy(({ seed: own }) => {
            if (own % 13 === 0) throw new Error("This completion fails.");
            return String(own % 1000);
          });
          const play = async (forks: boolean): Promise<JointTree> => {
            const environment = jointEnvironment({ ...options, forks });
            const tree = await playTree({ environment, policies, shape, seed });
            expect(environment.calls.close).toBe(environment.calls.create + environment.calls.fork);
            return tree;
          };
          const tree = await play(true);
          expect(content(await play(false))).toEqual(content(tree));
          checkTree(tree, { shape, agents, maxTurns });
        },
      ),
      { numRuns: 60 },
    );
  });
});

/** Checks properties that all trees have. */
function checkTree(
  tree: JointTree,
  {
    shape,
    agents,
    maxTurns,
  }: { readonly shape: JointShape; readonly agents: readonly string[]; readonly maxTurns: number },
): void {
  expect(nodesOf(tree.root).length).toBeLessThanOrEqual(countJointNodes({ shape, agents: agents.length, maxTurns }));
  expect(tree.episodes.map(({ sampleIndex }) => sampleIndex)).toEqual(tree.episodes.map((_, index) => index));
  const leaves: unknown[] = [];
  const visit = (
    node: JointNode,
    path: readonly { readonly node: JointNode; readonly action: JointAction }[],
  ): void => {
    const acting = Object.keys(node.agents);
    expect(node.turn).toBe(path.length);
    expect(node.jointActions).toHaveLength(jointActionsPerNode(shape, acting.length));
    for (const candidates of Object.values(node.agents)) expect(candidates).toHaveLength(shape.groupSize);
    const children = playedIn(node).filter(({ child }) => child !== undefined);
    if (shape.turns === "handoff") expect(children.length).toBeLessThanOrEqual(1);
    if (node.endedEarly) expect(children).toEqual([]);
    for (const action of playedIn(node)) {
      expect(Object.keys(action.choice)).toEqual(acting);
      expect(Object.keys(action.rewards)).toEqual(agents);
      expect((action.child === undefined) !== (action.episode === undefined)).toBe(true);
      const whole = [...path, { node, action }];
      if (action.child !== undefined) visit(action.child, whole);
      else checkLeaf(whole);
      if (action.episode !== undefined) leaves.push(action.episode);
    }
  };
  const checkLeaf = (path: readonly { readonly node: JointNode; readonly action: JointAction }[]): void => {
    const episode = path.at(-1)!.action.episode!;
    for (const agent of agents) {
      const words = path.flatMap(({ node, action }) => {
        const own = action.choice[agent];
        const chosen = own === undefined ? undefined : node.agents[agent]![own]!.action;
        return chosen === undefined ? [] : [chosen.message];
      });
      const { nodes, turns, reward } = episode.agents[agent]!;
      expect(turns.map(({ node }) => nodes[node]!.message)).toEqual(words);
      const rewards = path.map(({ action }) => action.rewards[agent]!);
      const blamed = Object.values(episode.agents).some((other) => "failure" in other.reward);
      const failed = (episode.status === "failed" && !blamed) || rewards.some(({ status }) => status === "unscored");
      expect(reward.status).toBe(failed ? "unscored" : "scored");
      if (reward.status === "unscored") continue;
      expect(reward.value).toBe(rewards.reduce((sum, one) => sum + (one.status === "scored" ? one.value : 0), 0));
    }
  };
  if (tree.root !== undefined) visit(tree.root, []);
  expect(leaves).toEqual(tree.root === undefined ? [] : tree.episodes);
}
