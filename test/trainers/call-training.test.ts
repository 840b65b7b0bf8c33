import { expect, test } from "vitest";
import type { Episode } from "../../src/contract/episode.ts";
import type { Policy } from "../../src/contract/policy.ts";
import { samplerPolicy } from "../../src/core/policy/sampler-policy.ts";
import { rolloutGroup } from "../../src/core/rollout/rollout-group.ts";
import { tokenSequences } from "../../src/core/rollout/token-sequences.ts";
import { createByteRenderer } from "../../src/core/tokens/byte-renderer.ts";
import { traceEntry } from "../../src/core/trace/trace-entry.ts";
import { groupMean } from "../../trainers/advantages/index.ts";
import { groupSamples, turnCritic } from "../../trainers/credit/index.ts";
import { sampleData } from "../../trainers/data/sample-data.ts";
import { trainingGroup } from "../../trainers/data/training-group.ts";
import { rolloutMetrics } from "../../trainers/metrics/rollout-metrics.ts";
import { processRewards } from "../../trainers/rewards/process-rewards.ts";
import { callingPolicy, type PlannedCall } from "../core/rollout/calling-policy.ts";
import { characterRenderer } from "../core/rollout/character-renderer.ts";
import { countingEnvironment, oneTask } from "../core/rollout/scripted-environment.ts";
import { type SampledBatch, seededSampler } from "../core/rollout/seeded-sampler.ts";

/** Two calls of one conversation, and a branch after the first. */
const calls: readonly PlannedCall[] = [
  { continues: null, text: "a" },
  { continues: 0, text: "b" },
  { continues: 0, text: "c" },
];

async function played(
  { turns = 1, groupSize = 2 }: { readonly turns?: number; readonly groupSize?: number } = {},
  change: (policy: Policy) => Policy = (policy) => policy,
) {
  const sampler = seededSampler(3);
  const model = samplerPolicy({ name: "model", sampler: () => sampler, renderer: characterRenderer() });
  const environment = countingEnvironment(turns);
  const sampling = { temperature: 1, maxTokens: 4 };
  const policies = change(callingPolicy(model, () => calls));
  const group = await rolloutGroup({ environment, task: await oneTask(), policies, groupSize, seed: 2, sampling });
  return { group, batches: sampler.batches };
}

const idsOf = (batches: readonly SampledBatch[]): (readonly number[])[] =>
  batches.flatMap(({ samples }) => samples.map(({ ids }) => ids));

test("metrics count each completion of the model calls", async () => {
  const { group, batches } = await played();
  const lengths = idsOf(batches).map(({ length }) => length);
  const total = lengths.reduce((sum, length) => sum + length, 0);
  expect(lengths).toHaveLength(6);
  const cutOff = batches.flatMap(({ samples }) => samples).filter(({ finish }) => finish === "length").length;
  expect(rolloutMetrics([group])).toMatchObject({
    "length/completion-mean": total / 6,
    "length/completion-max": Math.max(...lengths),
    "length/cut-off": cutOff / 6,
    "tokens/sampled": total,
  });
  const [first] = group.episodes;
  const { agents } = traceEntry(first!, { offset: 0, length: 0 });
  const sampled = tokenSequences(first!).flatMap(({ mask }) => mask.filter((value) => value === 1));
  expect(agents.agent!.completionTokens).toBe(sampled.length);
});

test("episodes with equal answers but other model calls are no duplicates", async () => {
  const sameAnswer = (policy: Policy): Policy => ({
    ...policy,
    act: async (request) => ({ ...(await policy.act(request)), action: answer }),
  });
  const answer = {
    message: { role: "assistant", content: [{ type: "text", text: "same" }] },
    finish: "stop",
  } as const;
  const { group } = await played({}, sameAnswer);
  expect(rolloutMetrics([group])["groups/duplicates"]).toBe(0);
});

test("the length of an action for reward processors is the sum over its calls", async () => {
  const { group, batches } = await played({ groupSize: 1 });
  const lengths: number[] = [];
  const seen = (reward: number, { length }: { readonly length: number }): number => {
    lengths.push(length);
    return reward;
  };
  processRewards({ group: trainingGroup(group) }, [seen]);
  expect(lengths).toEqual([idsOf(batches).reduce((sum, { length }) => sum + length, 0)]);
});

test("the advantage of an episode applies to every sampled token of its calls, once", async () => {
  const { group, batches } = await played();
  const scored = group.episodes.map((episode, index): Episode => {
    const { agent } = episode.agents;
    return { ...episode, agents: { agent: { ...agent!, reward: { status: "scored", value: index, components: {} } } } };
  });
  const samples = groupSamples(trainingGroup({ ...group, episodes: scored }), { estimator: groupMean });
  expect(samples.map(({ advantage }) => advantage)).toEqual([-0.5, 0.5]);
  const data = samples.flatMap((sample) => sampleData(sample).data);
  const trained = data.flatMap(({ targets, advantages }) => [...targets].filter((_, t) => advantages![t] !== 0));
  expect(trained.toSorted()).toEqual(idsOf(batches).flat().toSorted());
  for (const { lossMask, advantages } of data) {
    expect(lossMask.every((weight, t) => (weight === 0) === (advantages![t] === 0))).toBe(true);
  }
});

test.each(["v", "q"] as const)("a critic of turns has one value for each turn of calls: %s", async (input) => {
  const { group } = await played({ turns: 2, groupSize: 1 });
  const [episode] = trainingGroup(group).episodes;
  const sequences = episode!.sequencesOf("agent");
  expect(sequences.map(({ turns }) => turns[0])).toEqual([0, 0, 1, 1]);
  // The critic values a state by the number of ids up to it.
  const values = (given: readonly { readonly ids: readonly number[] }[]): number[][] =>
    given.map(({ ids }) => ids.map((_, after) => after + 1));
  const credit = turnCritic({ discount: 1, input, critic: { type: "shared", scope: "learner" }, whiten: false });
  const { samples } = await credit.assign(
    { groups: [trainingGroup(group)] },
    {
      learnerOf: (agent) => agent,
      critic: () => ({
        name: "critic",
        renderer: createByteRenderer(),
        maxLength: 512,
        values: async (given) => values(given),
      }),
      referenceLogprobs: async () => [],
    },
  );
  // The state before the first call of a turn, or after its last.
  const stateOf = (turn: number): number => {
    const own = sequences.filter(({ turns }) => turns[0] === turn);
    return input === "v" ? own[0]!.mask.indexOf(1) : own.at(-1)!.mask.lastIndexOf(1) + 1;
  };
  const expected = [1 + stateOf(1) - stateOf(0), 1 - stateOf(1)];
  const advantage = samples[0]!.advantage as readonly (readonly number[])[];
  expect(advantage.map(([first]) => first)).toEqual([expected[0], expected[0], expected[1], expected[1]]);
});
