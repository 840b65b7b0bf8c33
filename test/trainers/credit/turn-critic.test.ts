import { describe, expect, it } from "vitest";
import type { AgentEpisode, Group, MessageNode } from "../../../src/contract/episode.ts";
import { textMessage } from "../../../src/contract/message.ts";
import { scored } from "../../../src/contract/reward.ts";
import { createByteRenderer } from "../../../src/core/tokens/byte-renderer.ts";
import {
  type CreditContext,
  type CriticInput,
  type TurnCriticOptions,
  turnCritic,
} from "../../../trainers/credit/index.ts";
import { trainingGroup } from "../../../trainers/data/training-group.ts";
import { playedEpisode } from "../played-episode.ts";

/** An agent's episode: prompt 1 2, sampled 3 4, reply 5, sampled 6. With a restart, the reply is the whole prompt. */
interface Play {
  readonly anew?: boolean;
  readonly truncated?: boolean;
  readonly rewards?: readonly [number, number];
}

function played({ anew = false, truncated = false, rewards = [2, 10] }: Play): AgentEpisode {
  const node = (id: number, ids: readonly number[], startsSequence = false): MessageNode => {
    const sampled = id % 2 === 1;
    const message = textMessage(sampled ? "assistant" : "user", `text ${id}`);
    const tokens = sampled
      ? { ids, mask: 1 as const, logprobs: ids.map(() => -1), values: [...ids, 0], weightsVersion: 3, startsSequence }
      : { ids, mask: 0 as const, startsSequence };
    return { id, parent: id === 0 ? null : id - 1, turn: id < 2 ? 0 : 1, message, tokens };
  };
  return {
    nodes: [node(0, [1, 2], true), node(1, [3, 4]), node(2, anew ? [1, 2, 3, 4, 5] : [5], anew), node(3, [6])],
    turns: rewards.map((reward, turn) => ({ turn, node: 2 * turn + 1, finish: "stop", reward: scored(reward) })),
    reward: scored(rewards[0] + rewards[1]),
    terminated: !truncated,
    truncated,
  };
}

function groupOf(agents: Readonly<Record<string, Play>>): Group {
  const episode = playedEpisode(
    Object.fromEntries(Object.entries(agents).map(([agent, play]) => [agent, played(play)])),
  );
  return { task: episode.task, episodes: [episode] };
}

/** Returns the credit and the inputs of the critic. The critic values a state by the sum of the ids up to it. */
async function assigned(
  groups: readonly Group[],
  options: Partial<TurnCriticOptions>,
  withPartners?: readonly Group[],
) {
  const read: CriticInput[] = [];
  const context: CreditContext = {
    learnerOf: (agent) => agent,
    critic: (agent) => ({
      name: `critic of ${agent}`,
      renderer: createByteRenderer(),
      maxLength: 512,
      values: async (sequences) => {
        read.push(...sequences);
        return sequences.map(({ ids }) =>
          ids.map((_, after) => ids.slice(0, after + 1).reduce((sum, id) => sum + id, 0)),
        );
      },
    }),
    referenceLogprobs: async () => [],
  };
  const credit = turnCritic({
    ...{ discount: 0.5, input: "v", critic: { type: "shared", scope: "learner" }, whiten: false },
    ...options,
  });
  const experience = { groups: groups.map(trainingGroup), ...(withPartners === undefined ? {} : { withPartners }) };
  return { read, ...(await credit.assign(experience, context)) };
}

describe("temporal differences of turns", () => {
  it.each([
    // 2 + 15 / 2 and 3, and 10 and 15, or 10 + 15 / 2 if the episode was truncated.
    { input: "v", truncated: false, advantages: [6.5, -5], targets: [9.5, 10], old: [3, 15], after: [1, 4] },
    { input: "v", truncated: true, advantages: [6.5, 2.5], targets: [9.5, 17.5], old: [3, 15], after: [1, 4] },
    // 2 + 21 / 2 and 10, and 10 and 21, or 10 + 21 / 2.
    { input: "q", truncated: false, advantages: [2.5, -11], targets: [12.5, 10], old: [10, 21], after: [3, 5] },
    { input: "q", truncated: true, advantages: [2.5, -0.5], targets: [12.5, 20.5], old: [10, 21], after: [3, 5] },
  ] as const)("at $input, cut off: $truncated, are those worked out by hand", async ({
    input,
    truncated,
    ...expected
  }) => {
    const [first, second] = expected.advantages;
    const targets = expected.after.map((after, i) => ({ after, value: expected.targets[i], old: expected.old[i] }));
    const whole = await assigned([groupOf({ agent: { truncated } })], { input });
    expect(whole.samples[0]!.advantage).toEqual([[first, first, first, first, second, second]]);
    // Both turns are in one sequence. It is read once, up to the last state.
    expect(whole.read.map(({ ids }) => ids)).toEqual([[1, 2, 3, 4, 5, 6].slice(0, expected.after[1] + 1)]);
    expect(whole.samples[0]!.states).toEqual([{ ids: whole.read[0]!.ids, targets }]);

    const anew = await assigned([groupOf({ agent: { truncated, anew: true } })], { input });
    expect(anew.samples[0]!.advantage).toEqual([
      [first, first, first, first],
      [second, second, second, second, second, second],
    ]);
    expect(anew.samples[0]!.states).toEqual(
      targets.map((target) => ({ ids: [1, 2, 3, 4, 5, 6].slice(0, target.after + 1), targets: [target] })),
    );
  });

  it("passes the values that the sampler recorded to the critic, with their weights version", async () => {
    const groups = [groupOf({ a: {}, b: {} })];
    for (const type of ["shared", "separate"] as const) {
      const { read, samples, critics } = await assigned(groups, { critic: { type, scope: "learner" } });
      expect(read).toHaveLength(2);
      for (const { values, weightsVersion } of read)
        expect({ values, weightsVersion }).toEqual({ values: [0, 3, 4, 0, 6, 0], weightsVersion: 3 });
      const states = samples.flatMap((sample) => sample.states ?? []);
      if (type === "shared") expect([states.length, critics]).toEqual([2, []]);
      else expect([states, critics!.map(({ critic }) => critic)]).toEqual([[], ["critic of a", "critic of b"]]);
    }
  });

  it("of a team use the team's reward of a turn and a text without recorded values", async () => {
    const { read, samples } = await assigned([groupOf({ a: { rewards: [2, 10] }, b: { rewards: [4, 0] } })], {
      critic: { type: "shared", scope: "team" },
      discount: 0,
    });
    expect(read).toHaveLength(4);
    for (const { values } of read) expect(values).toBeUndefined();
    for (const { states } of samples) {
      expect(states!.map(({ targets }) => targets.map(({ value }) => value))).toEqual([[3], [5]]);
      expect(states!.map(({ ids, targets }) => targets[0]!.after - ids.length)).toEqual([-1, -1]);
    }
  });

  it.each([
    "v",
    "q",
  ] as const)("of a team with a frozen agent read it too (%s), and use the rewards of the others", async (input) => {
    const all = groupOf({ a: { rewards: [2, 10] }, b: { rewards: [400, 900] } });
    const [episode] = all.episodes as [Group["episodes"][number]];
    const trained: Group = { ...all, episodes: [{ ...episode, agents: { a: episode.agents.a! } }] };
    const options = { input, critic: { type: "separate", scope: "team" }, discount: 0 } as const;
    const { read, samples, critics } = await assigned([trained], options, [all]);
    expect(samples.map(({ agent }) => agent)).toEqual(["a"]);
    expect(critics!.map(({ targets }) => targets.map(({ value }) => value))).toEqual([[2], [10]]);
    const texts = read.map(({ ids }) => createByteRenderer().parse({ ids: [...ids], finish: "stop" }).message);
    for (const message of texts) {
      const text = JSON.stringify(message);
      expect(text).toContain("[b]");
      expect(text.includes("[b answers]")).toBe(input === "q");
    }
  });
});
