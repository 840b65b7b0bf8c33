import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Observations } from "../../../src/contract/environment.ts";
import type { AgentEpisode, Episode, MessageNode } from "../../../src/contract/episode.ts";
import { textMessage } from "../../../src/contract/message.ts";
import { scored } from "../../../src/contract/reward.ts";
import { samplerPolicy } from "../../../src/core/policy/sampler-policy.ts";
import { rolloutEpisode } from "../../../src/core/rollout/rollout-episode.ts";
import { tokenSequences } from "../../../src/core/rollout/token-sequences.ts";
import { characterRenderer } from "./character-renderer.ts";
import { oneTask, scriptedEnvironment } from "./scripted-environment.ts";
import { seededSampler } from "./seeded-sampler.ts";

/** For every turn: the observed agents, their observations, and whether the context restarts. */
type Plan = readonly (readonly {
  readonly agent: string;
  readonly texts: readonly string[];
  readonly replace: boolean;
}[])[];

const plan: fc.Arbitrary<Plan> = fc.array(
  fc.uniqueArray(
    fc.record({
      agent: fc.constantFrom("left", "right"),
      texts: fc.array(fc.string({ maxLength: 5 }), { minLength: 1, maxLength: 3 }),
      replace: fc.boolean(),
    }),
    { selector: ({ agent }) => agent, minLength: 1, maxLength: 2 },
  ),
  { minLength: 1, maxLength: 6 },
);

function plannedWorld(turns: Plan): ReturnType<typeof scriptedEnvironment<number>> {
  const observations = (turn: number): Observations =>
    Object.fromEntries(
      (turns[turn] ?? []).map(({ agent, texts, replace }) => [
        agent,
        { messages: texts.map((text) => textMessage("user", text)), context: replace ? "replace" : "append" },
      ]),
    );
  return scriptedEnvironment<number>({
    agents: ["left", "right"],
    reset: () => observations(0),
    step: ({ turn, actions }) => ({
      observations: observations(turn + 1),
      agents: Object.fromEntries(
        Object.keys(actions).map((agent) => [agent, { reward: scored(0), terminated: false, truncated: false }]),
      ),
    }),
  });
}

/** A node in its own turn. */
function node(id: number, tokens: NonNullable<MessageNode["tokens"]>): MessageNode {
  return { id, parent: null, turn: id, message: textMessage("user", ""), tokens };
}

describe("token sequences", () => {
  test("are exactly the tokens that the model read and sampled, turn by turn", async () => {
    await fc.assert(
      fc.asyncProperty(
        plan,
        fc.func(fc.boolean()),
        fc.nat(),
        fc.integer({ min: 2, max: 9 }),
        async (turns, breaks, seed, maxTokens) => {
          const sampler = seededSampler(3);
          const policy = samplerPolicy({ name: "test", sampler: () => sampler, renderer: characterRenderer(breaks) });
          const sampling = { temperature: 0.5, maxTokens };
          const episode = await rolloutEpisode({
            environment: plannedWorld(turns),
            task: await oneTask(),
            policies: policy,
            seed,
            sampling,
          });
          expect(episode.status).toBe("completed");

          // Every recorded prompt and completion is the beginning of a sequence with the right mask.
          const sequences = tokenSequences(episode);
          let sampled = 0;
          for (const { requests, samples } of sampler.batches) {
            for (const { request, ids, logprobs } of samples) {
              const { promptIds } = requests[request]!;
              sampled += ids.length;
              const matching = sequences.filter((sequence) => startsWith(sequence.ids, [...promptIds, ...ids]));
              expect(matching.length).toBeGreaterThan(0);
              expect(
                matching.some(
                  (sequence) =>
                    same(sequence.logprobs.slice(promptIds.length, promptIds.length + ids.length), logprobs) &&
                    sequence.mask.slice(promptIds.length, promptIds.length + ids.length).every((mask) => mask === 1),
                ),
              ).toBe(true);
            }
          }
          expect(sequences.flatMap(({ mask }) => mask).filter((mask) => mask === 1)).toHaveLength(sampled);
          for (const { ids, mask, logprobs, turns: turnOf, temperature, weightsVersion } of sequences) {
            expect([mask.length, logprobs.length, turnOf.length]).toEqual([ids.length, ids.length, ids.length]);
            expect(logprobs.every((logprob, index) => mask[index] === 1 || logprob === 0)).toBe(true);
            expect(turnOf).toEqual(turnOf.toSorted((first, second) => first - second));
            expect([temperature, weightsVersion]).toEqual([0.5, 3]);
          }
        },
      ),
      { numRuns: 200 },
    );
  });

  test("a new one begins only if the template changed earlier tokens or the context was replaced", async () => {
    const say = (replace: boolean) => [{ agent: "left", texts: ["hi"], replace }];
    const count = async (turns: Plan, breaks?: (messageCount: number) => boolean): Promise<number> => {
      const policies = samplerPolicy({ name: "test", sampler: seededSampler, renderer: characterRenderer(breaks) });
      const episode = await rolloutEpisode({
        environment: plannedWorld(turns),
        task: await oneTask(),
        policies,
        seed: 0,
      });
      return tokenSequences(episode, "left").length;
    };
    expect(await count([say(false), say(false), say(false)])).toBe(1);
    expect(await count([say(false), say(true), say(false)])).toBe(2);
    expect(await count([say(false), say(false), say(false)], (messageCount) => messageCount === 4)).toBe(2);
    expect(await count([say(false), say(false), say(false)], () => true)).toBe(3);
  });

  test("are of one agent if one is named", async () => {
    const both = [
      { agent: "left", texts: ["a"], replace: false },
      { agent: "right", texts: ["b"], replace: false },
    ];
    const policies = samplerPolicy({ name: "test", sampler: seededSampler, renderer: characterRenderer() });
    const episode = await rolloutEpisode({
      environment: plannedWorld([both]),
      task: await oneTask(),
      policies,
      seed: 0,
    });
    expect(tokenSequences(episode).map(({ agent }) => agent)).toEqual(["left", "right"]);
    expect(tokenSequences(episode, "right")).toEqual(tokenSequences(episode).slice(1));
  });

  test("have the oldest weights of their sampled tokens, without those that were only read", () => {
    const sampled = { mask: 1, temperature: 1, startsSequence: false } as const;
    const record: AgentEpisode = {
      nodes: [
        node(0, { ids: [1], mask: 0, startsSequence: true }),
        node(1, { ids: [2], logprobs: [-1], weightsVersion: 5, ...sampled }),
        node(2, { ids: [3], mask: 0, startsSequence: false }),
        node(3, { ids: [4], logprobs: [-2], weightsVersion: 4, ...sampled }),
        node(4, { ids: [5, 6], mask: 0, startsSequence: true }),
      ],
      turns: [],
      reward: { status: "scored", value: 0, components: {} },
      terminated: true,
      truncated: false,
    };
    expect(tokenSequences({ agents: { agent: record } } as unknown as Episode)).toEqual([
      {
        agent: "agent",
        ids: [1, 2, 3, 4],
        mask: [0, 1, 0, 1],
        logprobs: [0, -1, 0, -2],
        turns: [0, 1, 2, 3],
        temperature: 1,
        weightsVersion: 4,
      },
    ]);
  });

  test("have the value of the state after an id if the agent acted there or its turn ended", () => {
    const seen = (ids: readonly number[], startsSequence = false) => ({ ids, mask: 0, startsSequence }) as const;
    const sampled = (ids: readonly number[], values?: readonly number[]) =>
      ({
        ids,
        mask: 1,
        logprobs: ids.map(() => -1),
        startsSequence: false,
        ...(values === undefined ? {} : { values }),
      }) as const;
    const valuesOf = (...nodes: readonly NonNullable<MessageNode["tokens"]>[]) => {
      const record = { nodes: nodes.map((tokens, id) => node(id, tokens)), turns: [] };
      return tokenSequences({ agents: { agent: record } } as unknown as Episode).map(({ values }) => values);
    };
    expect(
      valuesOf(
        seen([1, 2], true),
        sampled([3, 4], [0.1, 0.2, 0.3]),
        seen([5, 6, 7]),
        sampled([8], [0.4, 0.5]),
        seen([9], true),
        sampled([10], [0.6, 0.7]),
      ),
    ).toEqual([
      [0, 0.1, 0.2, 0.3, 0, 0, 0.4, 0.5],
      [0.6, 0.7],
    ]);
    // If a part of a sequence was sampled without them, the sequence has none.
    expect(
      valuesOf(
        seen([1], true),
        sampled([2], [0.1, 0.2]),
        seen([3]),
        sampled([4]),
        seen([5], true),
        sampled([6], [0.3, 0.4]),
      ),
    ).toEqual([undefined, [0.3, 0.4]]);
  });
});

function same(first: readonly number[], second: readonly number[]): boolean {
  return first.length === second.length && startsWith(first, second);
}

function startsWith(ids: readonly number[], beginning: readonly number[]): boolean {
  return beginning.every((id, index) => ids[index] === id);
}
