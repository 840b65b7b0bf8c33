import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import type { MessageNode } from "../../src/contract/episode.ts";
import { type Role, textMessage } from "../../src/contract/message.ts";
import { defineEnvironment } from "../../src/core/environment/define-environment.ts";
import { defineParallelEnvironment } from "../../src/core/environment/define-parallel-environment.ts";
import { createByteRenderer } from "../../src/core/tokens/byte-renderer.ts";
import type { TrainingConfigInput } from "../../trainers/config/training-config.ts";
import { teamState } from "../../trainers/credit/team-state.ts";
import { trainingGroup } from "../../trainers/data/training-group.ts";
import { fitEpisodes } from "../../trainers/rollouts/overlong-episodes.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { playedEpisode } from "./played-episode.ts";
import { eventsOf, letterConfig, runTraining } from "./run-training.ts";

/** The bigram backend reads 512 bytes. The third of four rows is longer. */
const rows = ["A", "B", `start ${"x".repeat(600)} end`, "D"];

/** Rows with the answers "1" and "2". The first is the better one. */
const environment = (lines: readonly string[] = rows): EnvironmentDefinition =>
  defineEnvironment<string>({
    id: "rows",
    tasks: [...lines],
    reset: ({ task }) => task,
    step: ({ text }) => ({ reward: text === "1" ? 1 : 0 }),
    demonstrate: () => "1",
  }) as EnvironmentDefinition;

/** The same, with a worse answer in the group's odd episodes. */
function preferences(): EnvironmentDefinition {
  return {
    ...environment(),
    demonstrate: (_, { sampleIndex = 0 } = { seed: 0 }) => [{ agent: sampleIndex % 2 === 0 ? "1" : "2" }],
  };
}

const sft = { algorithm: { id: "sft" }, training: { steps: 2, batchSize: 4 } };
const dpo = { algorithm: { id: "dpo", source: "demonstrations", groupSize: 2 }, training: { steps: 2, batchSize: 4 } };

async function run(config: Partial<TrainingConfigInput>, world: EnvironmentDefinition) {
  const record = await runTraining({
    output: temporaryFolder(),
    environment: world,
    config: letterConfig(config),
  });
  const steps = eventsOf(record, "step").map(({ metrics }) => metrics);
  const warnings = eventsOf(record, "warning").map(({ message }) => message);
  return { error: record.error, steps, warnings };
}

describe.each([
  ["SFT", sft, environment, 1],
  ["DPO", dpo, preferences, 2],
] as const)("an overlong row of %s", (_, config, world, episodes) => {
  it("ends the run by default, with an error that names the row, its length, the limit and the config key", async () => {
    const { error } = await run(config, world());
    expect(error).toMatchObject({
      code: "data.too-long",
      message: expect.stringMatching(
        /number 3 of the split train\).* would have to read 6\d\d tokens, but it reads at most 512/,
      ),
      hint: expect.stringContaining("data.overlong"),
    });
  });

  it.each([
    ["truncate", "data/truncated", "data/dropped"],
    ["drop", "data/dropped", "data/truncated"],
  ] as const)("is counted with %s, warned of once, and the rest is learned", async (overlong, counted, other) => {
    const { error, steps, warnings } = await run({ ...config, data: { overlong } }, world());
    expect(error).toBeUndefined();
    expect(steps).toHaveLength(2);
    for (const metrics of steps) {
      expect(metrics).toMatchObject({ [counted]: episodes, [other]: 0 });
      expect(metrics["tokens/trained"]).toBeGreaterThan(0);
    }
    const overlongWarnings = warnings.filter((message) => message.includes("too long"));
    expect(overlongWarnings).toHaveLength(1);
    expect(overlongWarnings[0]).toContain(`data.overlong: ${overlong}`);
  });

  it("learns less with drop than with truncate", async () => {
    const trained = async (overlong: "truncate" | "drop") =>
      (await run({ ...config, data: { overlong } }, world())).steps[0]!["tokens/trained"]!;
    expect(await trained("drop")).toBeLessThan(await trained("truncate"));
  });
});

describe("rows of which the cut leaves nothing to learn", () => {
  const answering = (answers: readonly [better: string, worse: string]): EnvironmentDefinition => ({
    ...environment(["A", "B", "C", "D"]),
    demonstrate: (_, { sampleIndex = 0 } = { seed: 0 }) => [{ agent: answers[sampleIndex % 2]! }],
  });
  const end = "x".repeat(600);

  it.each([
    ["the whole question is cut off", sft, [`1${end}`, ""], 4],
    ["both answers are equal after the cut", dpo, [`1${end}`, `2${end}`], 8],
    ["one answer lost the question", dpo, ["1", `2${end}`], 4],
  ] as const)("are dropped and counted: %s", async (_, config, answers, dropped) => {
    const data = { overlong: "truncate" } as const;
    const { error, steps } = await run({ ...config, data }, answering(answers));
    expect(error).toBeUndefined();
    for (const metrics of steps) {
      expect(metrics).toMatchObject({ "data/dropped": dropped, "data/truncated": 0 });
      expect(metrics["tokens/trained"] ?? 0).toBe(0);
    }
  });

  it("are kept if the answers differ after the cut and a part of the question is left", async () => {
    const world = {
      ...environment([`${end}A`, `${end}B`, `${end}C`, `${end}D`]),
      demonstrate: (_: unknown, { sampleIndex = 0 } = { seed: 0 }) => [{ agent: sampleIndex % 2 === 0 ? "1" : "2" }],
    } as EnvironmentDefinition;
    const { steps } = await run({ ...dpo, data: { overlong: "truncate" } }, world);
    for (const metrics of steps) expect(metrics).toMatchObject({ "data/dropped": 0, "data/truncated": 8 });
  });
});

it("rows that fit are not counted and give no warning", async () => {
  const { error, steps, warnings } = await run(sft, environment(["A", "B"]));
  expect(error).toBeUndefined();
  expect(steps[0]).toMatchObject({ "data/truncated": 0, "data/dropped": 0 });
  expect(warnings.filter((message) => message.includes("too long"))).toEqual([]);
});

describe("truncation of an episode", () => {
  /** Two sequences: a prompt of four tokens and an answer of three; a prompt of two and an answer of one. */
  const node = (id: number, ids: readonly number[], sampled: boolean, startsSequence: boolean): MessageNode => ({
    ...{ id, parent: id === 0 || startsSequence ? null : id - 1, turn: id < 2 ? 0 : 1 },
    message: textMessage(sampled ? "assistant" : "user", "x"),
    tokens: sampled
      ? { ids, mask: 1, logprobs: ids.map((one) => -one), values: [...ids, 0], weightsVersion: 0, startsSequence }
      : { ids, mask: 0, startsSequence },
  });
  const episode = playedEpisode({
    agent: {
      nodes: [
        node(0, [1, 2, 3, 4], false, true),
        node(1, [5, 6, 7], true, false),
        node(2, [8, 9], false, true),
        node(3, [10], true, false),
      ],
      turns: [
        { turn: 0, node: 1, finish: "stop" },
        { turn: 1, node: 3, finish: "stop" },
      ],
      reward: { status: "scored", value: 1, components: {} },
      terminated: true,
      truncated: false,
    },
  });
  const { episodes } = trainingGroup({ task: episode.task, episodes: [episode] });
  const fitted = (maxLength: number | undefined, overlong: "truncate" | "drop" = "truncate") =>
    fitEpisodes(episodes, { overlong, maxLength: () => maxLength, split: "train" });
  const sequences = (maxLength: number) => fitted(maxLength).episodes[0]!.sequencesOf("agent");

  it("keeps the end of each sequence that is too long, with the data of its tokens", () => {
    const [long, short] = sequences(4);
    expect(long).toMatchObject({ ids: [3, 4, 5, 6, 7], mask: [0, 0, 1, 1, 1], logprobs: [0, 0, -5, -6, -7] });
    expect(short).toMatchObject({ ids: [8, 9, 10], mask: [0, 0, 1] });
    expect(sequences(3)[0]).toMatchObject({ ids: [4, 5, 6, 7], mask: [0, 1, 1, 1] });
  });

  it("drops an episode if nothing of a question is left, and counts it", () => {
    for (const maxLength of [1, 2]) expect(fitted(maxLength)).toEqual({ episodes: [], truncated: 0, dropped: 1 });
    const end = (maxLength: number, length: number) =>
      fitEpisodes(episodes, {
        overlong: "truncate",
        maxLength: () => maxLength,
        promptEnd: () => length,
        split: "train",
      });
    expect(end(4, 1)).toMatchObject({ truncated: 1, dropped: 0 });
    // Both of the two unsampled tokens that are left are the end of the prompt.
    expect(end(4, 2)).toEqual({ episodes: [], truncated: 0, dropped: 1 });
    // What fits is not looked at.
    expect(end(6, 9)).toMatchObject({ truncated: 0, dropped: 0 });
  });

  it("does not change a sequence that fits: one token more than the model reads", () => {
    expect(fitted(6)).toEqual({ episodes, truncated: 0, dropped: 0 });
    expect(fitted(undefined)).toEqual({ episodes, truncated: 0, dropped: 0 });
    expect(fitted(5)).toMatchObject({ truncated: 1 });
    expect(fitted(5, "drop")).toEqual({ episodes: [], truncated: 0, dropped: 1 });
  });
});

describe("a conversation that is cut", () => {
  interface Said {
    readonly role: Role;
    readonly length: number;
  }
  /** Returns an episode of these messages, and the ids of each. `unlearnt` answers are parts of prompts. */
  const conversation = (messages: readonly Said[], unlearnt: readonly number[] = []) => {
    const nodes: MessageNode[] = [];
    const turns: { turn: number; node: number; finish: "stop" }[] = [];
    const idsOf: number[][] = [];
    let observed: number[] = [];
    for (const [id, { role, length }] of messages.entries()) {
      const ids = Array.from({ length }, (_, i) => 100 * (id + 1) + i);
      idsOf.push(ids);
      const node = { id, parent: id === 0 ? null : id - 1, turn: turns.length, message: textMessage(role, "x") };
      const isAnswer = role === "assistant" && !unlearnt.includes(id);
      if (!isAnswer) {
        observed.push(...ids);
        const next = messages[id + 1]?.role === "assistant" && !unlearnt.includes(id + 1);
        nodes.push(next ? { ...node, tokens: { ids: observed, mask: 0, startsSequence: turns.length === 0 } } : node);
        if (next) observed = [];
      } else {
        const tokens = { ids, mask: 1 as const, logprobs: ids.map(() => -1), weightsVersion: 0, startsSequence: false };
        nodes.push({ ...node, tokens });
        turns.push({ turn: turns.length, node: id, finish: "stop" });
      }
    }
    const reward = { status: "scored" as const, value: 1, components: {} };
    const episode = playedEpisode({ agent: { nodes, turns, reward, terminated: true, truncated: false } });
    return { episodes: trainingGroup({ task: episode.task, episodes: [episode] }).episodes, idsOf };
  };
  const learntIds = (kept: ReturnType<typeof fitEpisodes>): readonly number[] =>
    kept.episodes.flatMap((episode) =>
      episode.sequencesOf("agent").flatMap(({ ids, mask }) => ids.filter((_, i) => mask[i] === 1)),
    );

  it.each([
    ["its first question", "uaua", 2, [1, 3]],
    ["the first question whole", "uaua", 3, [3]],
    ["a part of the first answer", "uaua", 4, [3]],
    ["a part of the second question", "uaua", 7, [3]],
    ["the question of a result of a tool", "uatauata", 3, [5, 7]],
    ["a part of that question", "uatauata", 2, [1, 3, 5, 7]],
    ["the question, and a part of the result of the tool", "uata", 7, []],
    ["the system message", "suaua", 3, [2, 4]],
    ["the system message and the question", "suaua", 6, [4]],
    ["every question", "uaua", 9, []],
  ] as const)("learns the answers whose question is left: %s", (_, letters, cutTokens, answers) => {
    const roles = { u: "user", a: "assistant", t: "tool", s: "system" } as const;
    const { episodes, idsOf } = conversation([...letters].map((letter) => ({ role: roles[letter as "u"], length: 3 })));
    const maxLength = 3 * letters.length - 1 - cutTokens;
    const kept = fitEpisodes(episodes, { overlong: "truncate", maxLength: () => maxLength, split: "train" });
    expect(learntIds(kept)).toEqual(answers.flatMap((place) => idsOf[place]!));
    expect(kept).toMatchObject(answers.length === 0 ? { truncated: 0, dropped: 1 } : { truncated: 1, dropped: 0 });
  });

  it("never learns an answer whose last user message is cut off whole", () => {
    const answered = fc.tuple(
      fc.constantFrom<readonly Role[]>(["user"], ["system", "user"], ["tool"], ["tool", "tool"], ["tool", "user"]),
      fc.boolean(),
    );
    const property = fc.property(
      fc.array(answered, { minLength: 1, maxLength: 5 }),
      fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 16, maxLength: 16 }),
      fc.integer({ min: 1, max: 40 }),
      (turns, lengths, maxLength) => {
        const roles = turns.flatMap(([observed], turn) => [
          ...(turn === 0 ? (["user"] as const) : observed),
          "assistant" as const,
        ]);
        const places = roles.flatMap((role, place) => (role === "assistant" ? [place] : []));
        const unlearnt = places.filter((_, turn) => !turns[turn]![1] && turn < places.length - 1);
        const messages = roles.map((role, place) => ({ role, length: lengths[place]! }));
        const { episodes, idsOf } = conversation(messages, unlearnt);
        const kept = fitEpisodes(episodes, { overlong: "truncate", maxLength: () => maxLength, split: "train" });
        const sequence = kept.episodes[0]?.sequencesOf("agent")[0];
        const learnt = new Set(learntIds(kept));
        for (const place of places) {
          const question = roles.slice(0, place).lastIndexOf("user");
          const isLeft = idsOf[question]!.some((id) => sequence?.ids.includes(id));
          const isLearnt = idsOf[place]!.some((id) => learnt.has(id));
          if (isLearnt) expect(isLeft).toBe(true);
          const isPlain = roles[place - 1] === "user" && !unlearnt.includes(place);
          if (sequence !== undefined && isPlain && isLeft) expect(isLearnt).toBe(true);
        }
      },
    );
    fc.assert(property, { numRuns: 300 });
  });
});

describe("the input of a team's critic", () => {
  const team = (length: number): EnvironmentDefinition =>
    defineParallelEnvironment<"left" | "right", string>({
      id: "long-team",
      agents: ["left", "right"],
      tasks: ["A", "B"],
      reset: ({ task }) => ({
        left: `${"l".repeat(length)} newest of left ${task}`,
        right: `${"r".repeat(length)} newest of right ${task}`,
      }),
      step: ({ texts }) => ({ reward: texts.left === texts.right ? 1 : 0 }),
    }) as EnvironmentDefinition;

  it.each([
    "separate",
    "shared",
  ])("is cut and counted if it is too long, and the run continues (%s critic)", async (critic) => {
    const config = {
      algorithm: { id: "maac", groupSize: 2, critic },
      training: { steps: 2, batchSize: 2 },
    };
    const { error, steps, warnings } = await run(config, team(400));
    expect(error).toBeUndefined();
    // Two tasks, two episodes each, and two agents that compare with the critic.
    for (const metrics of steps) expect(metrics["critic/truncated"]).toBe(8);
    expect(warnings.filter((message) => message.includes("team's critic"))).toHaveLength(1);
    const short = await run(config, team(100));
    for (const metrics of short.steps) expect(metrics["critic/truncated"]).toBe(0);
    expect(short.warnings.filter((message) => message.includes("too long"))).toEqual([]);
  });

  it("keeps the newest text of every agent, as much as fits", () => {
    const renderer = createByteRenderer();
    const agent = (name: string, text: string) => ({
      nodes: [
        { id: 0, parent: null, turn: 0, message: textMessage("user", text) },
        { id: 1, parent: 0, turn: 0, message: textMessage("assistant", `answer of ${name}`) },
      ],
      turns: [{ turn: 0, node: 1, finish: "stop" as const }],
      reward: { status: "scored" as const, value: 1, components: {} },
      terminated: true,
      truncated: false,
    });
    const episode = playedEpisode({
      left: agent("left", `${"l".repeat(500)} newest of left`),
      right: agent("right", `${"r".repeat(90)} newest of right`),
    });
    const read = (maxLength: number) => teamState(episode, { turn: 0, input: "v", renderer, maxLength });
    const whole = read(10_000);
    expect(whole.truncated).toBe(false);
    for (const maxLength of [whole.ids.length - 1, 300, 100]) {
      const { ids, truncated } = read(maxLength);
      expect(truncated).toBe(true);
      expect(ids.length).toBeLessThanOrEqual(maxLength);
      expect(ids.length).toBeGreaterThan(maxLength - 3);
      const text = String.fromCharCode(...ids.filter((id) => id < 256));
      expect(text).toContain("newest of left");
      expect(text).toContain("newest of right");
    }
    expect(read(5).ids).toHaveLength(5);
    expect(read(whole.ids.length).truncated).toBe(false);
  });
});
