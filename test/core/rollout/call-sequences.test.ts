import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Episode, TokenSequence } from "../../../src/contract/episode.ts";
import { textMessage } from "../../../src/contract/message.ts";
import type { ActResult, ModelCall, Policy } from "../../../src/contract/policy.ts";
import { replayPolicy } from "../../../src/core/policy/replay-policy.ts";
import { samplerPolicy } from "../../../src/core/policy/sampler-policy.ts";
import type { JointNode } from "../../../src/core/rollout/joint-action.ts";
import { jointRollout } from "../../../src/core/rollout/joint-rollout.ts";
import { rolloutEpisode } from "../../../src/core/rollout/rollout-episode.ts";
import { lastTurnSequences, tokenSequences } from "../../../src/core/rollout/token-sequences.ts";
import { callingPolicy, type PlannedCall } from "./calling-policy.ts";
import { characterRenderer } from "./character-renderer.ts";
import { countingEnvironment, numbers, oneTask } from "./scripted-environment.ts";
import { seededSampler } from "./seeded-sampler.ts";

const sampling = { temperature: 0.5, maxTokens: 5 };

const plannedCall: fc.Arbitrary<PlannedCall> = fc.record({
  continues: fc.option(fc.nat({ max: 20 })),
  text: fc.string({ maxLength: 4 }),
});
const plan = fc.array(fc.array(plannedCall, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 3 });

interface Played {
  readonly episode: Episode;
  /** What the model read and sampled, call by call. */
  readonly sampled: readonly {
    readonly promptIds: readonly number[];
    readonly ids: readonly number[];
    readonly logprobs: readonly number[];
  }[];
}

async function played(
  turns: readonly (readonly PlannedCall[])[],
  { breaks, seed = 0 }: { readonly breaks?: (messageCount: number) => boolean; readonly seed?: number } = {},
): Promise<Played> {
  const sampler = seededSampler(3);
  const model = samplerPolicy({ name: "model", sampler: () => sampler, renderer: characterRenderer(breaks) });
  const policies = callingPolicy(model, (turn) => turns[turn]!);
  const environment = countingEnvironment(turns.length);
  const episode = await rolloutEpisode({ environment, task: await oneTask(), policies, seed, sampling });
  const sampled = sampler.batches.flatMap(({ requests, samples }) =>
    samples.map(({ request, ids, logprobs }) => ({ promptIds: requests[request]!.promptIds, ids, logprobs })),
  );
  return { episode, sampled };
}

/** Returns the sequences that train a call: they begin with its prompt and its completion, which has mask 1. */
function training({ promptIds, ids, logprobs }: Played["sampled"][number], all: readonly TokenSequence[]): number {
  const from = promptIds.length;
  const to = from + ids.length;
  const whole = [...promptIds, ...ids];
  return all.filter(
    (sequence) =>
      whole.every((id, index) => sequence.ids[index] === id) &&
      sequence.mask.slice(from, to).every((mask) => mask === 1) &&
      logprobs.every((logprob, index) => sequence.logprobs[from + index] === logprob),
  ).length;
}

describe("the sequences of model calls", () => {
  test("have each sampled token once with mask 1, after exactly the tokens that the model read", async () => {
    await fc.assert(
      fc.asyncProperty(plan, fc.func(fc.boolean()), fc.nat(), async (turns, breaks, seed) => {
        const { episode, sampled } = await played(turns, { breaks, seed });
        expect(episode.status).toBe("completed");
        const sequences = tokenSequences(episode);
        for (const call of sampled) expect(training(call, sequences)).toBeGreaterThan(0);
        const trained = sequences.flatMap(({ mask }) => mask).filter((mask) => mask === 1);
        expect(trained).toHaveLength(sampled.reduce((sum, { ids }) => sum + ids.length, 0));
        for (const { ids, mask, logprobs, turns: turnOf, temperature, weightsVersion } of sequences) {
          expect([mask.length, logprobs.length, turnOf.length]).toEqual([ids.length, ids.length, ids.length]);
          expect(logprobs.every((logprob, index) => mask[index] === 1 || logprob === 0)).toBe(true);
          expect(new Set(turnOf).size).toBe(1);
          expect([temperature, weightsVersion]).toEqual([0.5, 3]);
        }
        // The trace and a replay have the same.
        const stored = JSON.parse(JSON.stringify(episode)) as Episode;
        expect(tokenSequences(stored)).toEqual(sequences);
        const again = await rolloutEpisode({
          environment: countingEnvironment(turns.length),
          task: await oneTask(),
          policies: await replayPolicy([stored]),
          ...{ seed, sampling },
        });
        expect(tokenSequences(again)).toEqual(sequences);
        expect(again.agents.agent!.turns.map(({ calls }) => calls!.map(({ answer }) => answer))).toEqual(
          episode.agents.agent!.turns.map(({ calls }) => calls!.map(({ answer }) => answer)),
        );
      }),
      { numRuns: 200 },
    );
  });

  test("are one for calls that continue each other, and one more for each branch", async () => {
    const say = (continues: number | null, text = "go"): PlannedCall => ({ continues, text });
    const masksOf = async (calls: readonly PlannedCall[], breaks?: (messageCount: number) => boolean) => {
      const { episode, sampled } = await played([calls], breaks === undefined ? {} : { breaks });
      const sequences = tokenSequences(episode);
      expect(lastTurnSequences("agent", episode.agents.agent!)).toEqual(sequences);
      // How many calls each sequence trains.
      return sequences.map((sequence) => sampled.filter((call) => training(call, [sequence]) > 0).length);
    };
    expect(await masksOf([say(null), say(0), say(1)])).toEqual([3]);
    expect(await masksOf([say(null), say(0), say(0, "other"), say(2)])).toEqual([2, 2]);
    expect(await masksOf([say(null), say(null, "second"), say(0), say(1)])).toEqual([2, 2]);
    expect(await masksOf([say(null), say(0), say(1)], (messageCount) => messageCount === 5)).toEqual([2, 1]);
  });

  test("differ if their temperatures differ", async () => {
    const { episode } = await played([
      [
        { continues: null, text: "a" },
        { continues: 0, text: "b", temperature: 1 },
        { continues: 1, text: "c", temperature: 1 },
      ],
    ]);
    const sequences = tokenSequences(episode);
    expect(sequences.map(({ temperature }) => temperature)).toEqual([0.5, 1]);
    expect(sequences[1]!.ids.slice(0, sequences[0]!.ids.length)).toEqual(sequences[0]!.ids);
    expect(sequences[1]!.mask.slice(0, sequences[0]!.ids.length)).not.toContain(1);
  });

  test("are cut off if one of the calls was", async () => {
    const { episode } = await played([[{ continues: null, text: "a" }]]);
    const [turn] = episode.agents.agent!.turns;
    const withFinish = (finish: "stop" | "length") => ({
      ...episode.agents.agent!,
      turns: [{ ...turn!, finish: "stop" as const, calls: turn!.calls!.map((call) => ({ ...call, finish })) }],
    });
    const cutOff = (finish: "stop" | "length") =>
      tokenSequences({ ...episode, agents: { agent: withFinish(finish) } }).map((one) => one.cutOff);
    expect(cutOff("stop")).toEqual([undefined]);
    expect(cutOff("length")).toEqual([true]);
  });
});

test("in a tree of joint actions, a completion has the sequences of its own model calls", async () => {
  const sampler = seededSampler(3);
  const model = samplerPolicy({ name: "model", sampler: () => sampler, renderer: characterRenderer() });
  const policies = callingPolicy(model, () => [
    { continues: null, text: "a" },
    { continues: 0, text: "b" },
    { continues: 0, text: "c" },
  ]);
  const shape = { groupSize: 2, mode: "align", turns: "tree" } as const;
  const environment = countingEnvironment(2);
  const [tree] = await Array.fromAsync(
    jointRollout({ environment, tasks: numbers(1), policies, shape, seed: 1, sampling }),
  );
  const nodesOf = (node: JointNode): JointNode[] => [
    node,
    ...node.jointActions.flatMap(({ child }) => (child === undefined ? [] : nodesOf(child))),
  ];
  const candidates = nodesOf(tree!.root!).flatMap(({ agents }) => agents.agent!);
  expect(candidates).toHaveLength(6);
  expect(candidates.map(({ sequences }) => sequences.length)).toEqual([2, 2, 2, 2, 2, 2]);
  const trained = candidates.flatMap(({ sequences }) =>
    sequences.flatMap(({ ids, mask }) => ids.filter((_, index) => mask[index] === 1)),
  );
  const sampled = sampler.batches.flatMap(({ samples }) => samples.flatMap(({ ids }) => ids));
  expect(trained.toSorted()).toEqual(sampled.toSorted());
});

test("a turn stores the messages that a call adds, and its tools once", async () => {
  const tools = [{ name: "look", description: "", parameters: {} }];
  const user = (text: string) => textMessage("user", text);
  const answer = (text: string) => ({ message: textMessage("assistant", text), finish: "stop" as const });
  const calls: ModelCall[] = [
    { messages: [user("a")], tools, action: answer("b") },
    { continues: 0, messages: [user("a"), answer("b").message, user("c")], tools, action: answer("d") },
    { continues: 0, messages: [user("a"), answer("b").message, user("e")], action: answer("f") },
  ];
  const episode = await rolloutEpisode({
    environment: countingEnvironment(1),
    task: await oneTask(),
    policies: fixed({ action: answer("f"), calls }),
    seed: 0,
  });
  expect(episode.agents.agent!.turns[0]!.calls).toEqual([
    { messages: [user("a")], tools, answer: answer("b").message, finish: "stop" },
    { continues: 0, messages: [user("c")], answer: answer("d").message, finish: "stop" },
    { continues: 0, messages: [user("e")], tools: [], answer: answer("f").message, finish: "stop" },
  ]);
  expect(tokenSequences(episode)).toEqual([]);
});

describe("an answer with impossible calls fails", () => {
  const message = textMessage("user", "a");
  const action = { message: textMessage("assistant", "b"), finish: "stop" as const };
  const tokens = {
    ...{ extendsPrevious: false, newPromptIds: [1, 2], promptLength: 2, weightsVersion: 0 },
    ...{ completionIds: [3], logprobs: [-1] },
  };
  test.each<[string, Partial<ActResult>, string]>([
    ["beside tokens", { tokens, calls: [] }, "both tokens and calls"],
    [
      "that continue a later one",
      { calls: [{ continues: 0, messages: [message], action }] },
      "a continuation of call 0",
    ],
    [
      "that forget messages",
      {
        calls: [
          { messages: [message], action },
          { continues: 0, messages: [message], action },
        ],
      },
      "fewer messages than the call that it continues in its model call 1",
    ],
    [
      "that extend missing tokens",
      { calls: [{ messages: [message], action, tokens: { ...tokens, extendsPrevious: true } }] },
      "there are none in its model call 0",
    ],
    [
      "whose tokens do not add up",
      { calls: [{ messages: [message], action, tokens: { ...tokens, promptLength: 3 } }] },
      "a prompt of 3 tokens, of which it names 2",
    ],
    ["without an answer", { calls: [{ messages: [message] } as unknown as ModelCall] }, "an action whose message"],
  ])("%s", async (_, result, problem) => {
    const environment = countingEnvironment(1);
    const policies = fixed({ action, ...result });
    const { error } = await rolloutEpisode({ environment, task: await oneTask(), policies, seed: 0 });
    expect(error?.code).toBe("policy.failed");
    expect(error?.message).toContain(problem);
  });
});

function fixed(result: ActResult): Policy {
  return { specificationVersion: "v1", name: "fixed", accepts: ["text"], act: async () => result };
}
