import { describe, expect, test } from "vitest";
import type { AgentId } from "../../../src/contract/action.ts";
import { unscored } from "../../../src/contract/reward.ts";
import { createRandom } from "../../../src/core/random/random.ts";
import { collectGroups } from "../../../src/core/rollout/collect-groups.ts";
import { chooseHandoff, type JointChoice, jointValue, meanJointValue } from "../../../src/core/rollout/handoff.ts";
import { rollout } from "../../../src/core/rollout/rollout.ts";
import { content, jointEnvironment, letterPolicy, nodesOf, playTree } from "./joint-environment.ts";
import { numbers } from "./scripted-environment.ts";

const pair: readonly AgentId[] = ["learner", "partner"];
const partners = ["partner"];
const tree = { groupSize: 3, mode: "align", turns: "tree" } as const;
const cross = { ...tree, mode: "cross" } as const;

/** The learner acts in turns 0 and 2, the partner in turn 1. */
const byTurns = () => jointEnvironment({ agents: pair, maxTurns: 3, forks: true, acting: (turn) => [pair[turn % 2]!] });

describe("a turn in which only partners act", () => {
  test.each([
    tree,
    cross,
  ])("has one joint action, and the turns of the others have all of theirs ($mode)", async (shape) => {
    const { root, episodes } = await playTree({ environment: byTurns(), shape: { ...shape, partners } });
    const nodes = nodesOf(root);
    expect(nodes.map(({ turn, jointActions }) => [turn, jointActions.length])).toEqual([
      [0, 3],
      ...Array.from({ length: 3 }, () => [
        [1, 1],
        [2, 3],
      ]).flat(),
    ]);
    expect(nodes.filter(({ turn }) => turn === 1).map(({ agents }) => agents.partner!.length)).toEqual([1, 1, 1]);
    expect(episodes).toHaveLength(9);
  });

  test("branches if no partner acts", async () => {
    const { episodes } = await playTree({ environment: byTurns(), shape: tree });
    expect(episodes).toHaveLength(27);
  });
});

describe("a turn in which both act", () => {
  const together = () => jointEnvironment({ agents: pair, maxTurns: 1, forks: true });

  test("has under cross each completion of the partner, under align one", async () => {
    const crossed = await playTree({ environment: together(), shape: { ...cross, partners } });
    const met = crossed.root!.jointActions.map(({ choice }) => [choice.learner, choice.partner]);
    expect(met).toEqual([0, 1, 2].flatMap((own) => [0, 1, 2].map((other) => [own, other])));
    const aligned = await playTree({ environment: together(), shape: { ...tree, partners } });
    expect(aligned.root!.jointActions.map(({ choice }) => [choice.learner, choice.partner])).toEqual([
      [0, 0],
      [1, 1],
      [2, 2],
    ]);
  });

  test("gets the same completions with and without partners", async () => {
    const plain = await playTree({ environment: together(), shape: cross });
    expect(content((await playTree({ environment: together(), shape: { ...cross, partners } })).episodes)).toEqual(
      content(plain.episodes),
    );
  });
});

const action = (choice: Readonly<Record<AgentId, number>>, learner: number, partner: number): JointChoice => ({
  choice,
  rewards: {
    learner: { status: "scored", value: learner, components: {} },
    partner: { status: "scored", value: partner, components: {} },
  },
});

describe("the value of a joint action", () => {
  test("is the reward of the other agents, without the partners", () => {
    expect(jointValue(action({ learner: 0, partner: 0 }, 1, 9))).toBe(5);
    expect(jointValue(action({ learner: 0, partner: 0 }, 1, 9), partners)).toBe(1);
    expect(jointValue(action({ partner: 0 }, 1, 9), partners)).toBe(1);
    expect(meanJointValue([action({ partner: 0 }, 1, 9), action({ learner: 0 }, 2, 9)], partners)).toBe(1.5);
    const silent = { ...action({ learner: 0 }, 1, 9), rewards: { learner: unscored("silent") } };
    expect(jointValue(silent, partners)).toBeUndefined();
    const judged: JointChoice = {
      choice: { learner: 0, partner: 0 },
      rewards: { ...action({}, 1, 9).rewards, partner: unscored("silent") },
    };
    expect(jointValue(judged, partners)).toBe(1);
  });

  test("decides which one is continued", () => {
    const open = [action({ learner: 0, partner: 0 }, 1, 100), action({ learner: 1, partner: 1 }, 2, 0)];
    const random = createRandom(1);
    expect(chooseHandoff(open, { handoff: "best", random })).toEqual({ learner: 0, partner: 0 });
    expect(chooseHandoff(open, { handoff: "best", random, partners })).toEqual({ learner: 1, partner: 1 });
  });
});

describe("the early end of an episode", () => {
  const unequal = (learner: number) =>
    jointEnvironment({
      agents: pair,
      maxTurns: 2,
      forks: true,
      reward: (_, agent) => (agent === "partner" ? 10 : learner),
    });

  test.each([
    [0, 2],
    [5, 1],
  ])("depends on the rewards of the other agents: %d for %d turns", async (learner, turns) => {
    const shape = { ...tree, partners, terminationThreshold: 3 };
    const { episodes } = await playTree({ environment: unequal(learner), shape });
    expect(new Set(episodes.map((episode) => episode.turns))).toEqual(new Set([turns]));
    const options = { environment: unequal(learner), tasks: numbers(1), policies: letterPolicy, seed: 1 };
    const [group] = await collectGroups(rollout({ ...options, partners, terminationThreshold: 3 }));
    expect(group!.episodes.map((episode) => episode.turns)).toEqual([turns]);
  });

  test("counts an agent that is not a partner", async () => {
    const options = { environment: unequal(0), tasks: numbers(1), policies: letterPolicy, seed: 1 };
    const [group] = await collectGroups(rollout({ ...options, terminationThreshold: 3 }));
    expect(group!.episodes[0]!.turns).toBe(1);
  });
});
