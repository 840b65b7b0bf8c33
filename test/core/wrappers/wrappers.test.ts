import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { EnvironmentDefinition } from "../../../src/contract/environment.ts";
import type { Episode } from "../../../src/contract/episode.ts";
import { type Message, textMessage, textOf } from "../../../src/contract/message.ts";
import { scored } from "../../../src/contract/reward.ts";
import { defineEnvironment } from "../../../src/core/environment/define-environment.ts";
import { scriptedPolicy } from "../../../src/core/policy/scripted-policy.ts";
import { createRandom } from "../../../src/core/random/random.ts";
import { rolloutEpisode } from "../../../src/core/rollout/rollout-episode.ts";
import { clipReward } from "../../../src/core/wrappers/clip-reward.ts";
import { type RecordedEpisode, record } from "../../../src/core/wrappers/record.ts";
import { scaleReward } from "../../../src/core/wrappers/scale-reward.ts";
import { timeLimit } from "../../../src/core/wrappers/time-limit.ts";
import { toolBudget } from "../../../src/core/wrappers/tool-budget.ts";
import { transformObservation } from "../../../src/core/wrappers/transform-observation.ts";
import { checkEnvironment } from "../../../src/entry-points/testing.ts";
import { temporaryFolder } from "../../temporary-folder.ts";

/** Three steps with a reward of 1 each. Records the calls that it received. */
const seen: string[][] = [];
const walk = defineEnvironment({
  id: "walk",
  tasks: ["north", "south"],
  maxTurns: 3,
  rewardRange: [0, 3],
  reset: ({ task }) => `Go ${task}.`,
  step: ({ action, turn }) => {
    seen.push((action.message.toolCalls ?? []).map(({ id }) => id));
    return { reward: 1, ...(turn < 2 ? { reply: `Step ${turn + 1}.` } : {}) };
  },
  demonstrate: () => ["a", "b", "c"],
});

async function play<Task>(environment: EnvironmentDefinition<Task>, answer: string | Message = "on"): Promise<Episode> {
  const task = await (await environment.tasks("train")).get(0);
  return rolloutEpisode({ environment, task, policies: scriptedPolicy(() => answer), seed: 1 });
}

const shown = ({ agents }: Episode): string[] =>
  agents.agent!.nodes.filter(({ message }) => message.role !== "assistant").map(({ message }) => textOf(message));

const prefix = (text: string) => (environment: EnvironmentDefinition<string>) =>
  transformObservation(environment, (observation) => ({
    ...observation,
    messages: observation.messages.map((message) => textMessage(message.role, text + textOf(message))),
  }));

describe("a time limit", () => {
  test("truncates an episode that continues, and refuses more steps", async () => {
    const limited = timeLimit(walk, 2);
    expect(limited.spec.maxTurns).toBe(2);
    expect(limited.demonstrate!("north")).toBeUndefined();
    expect(await play(limited)).toMatchObject({
      status: "completed",
      turns: 2,
      agents: { agent: { terminated: false, truncated: true, reward: { value: 2 } } },
    });
    const instance = await limited.create();
    const action = { message: textMessage("assistant", "on"), finish: "stop" } as const;
    await expect(instance.step({ agent: action })).rejects.toMatchObject({ code: "environment.contract" });
    await instance.reset({ task: "north", seed: 1 });
    await instance.step({ agent: action });
    await instance.step({ agent: action });
    await expect(instance.step({ agent: action })).rejects.toMatchObject({ code: "environment.contract" });
  });

  test("above the environment's own has no effect; a limit of 0 is refused", async () => {
    expect(timeLimit(walk, 9).spec).toEqual(walk.spec);
    expect(await play(timeLimit(walk, 3))).toMatchObject({ agents: { agent: { terminated: true, truncated: false } } });
    expect(() => timeLimit(walk, 0)).toThrow(/whole number above 0/);
  });
});

describe("rewards", () => {
  test("are scaled with their components and their range", async () => {
    const scaled = scaleReward(walk, -2);
    expect(scaled.spec.rewardRange).toEqual([-6, 0]);
    expect((await play(scaled)).agents.agent!.reward).toEqual(scored(-6, { reward: -6 }));
    expect(() => scaleReward(walk, 0)).toThrow(/other than 0/);
  });

  test("are clipped in their total, and a component shows the difference", async () => {
    const clipped = clipReward(walk, { maximum: 1.5 });
    expect(clipped.spec.rewardRange).toEqual([0, 1.5]);
    const { reward, turns } = (await play(clipped)).agents.agent!;
    expect(reward).toEqual(scored(1.5, { reward: 3, clipped: -1.5 }));
    expect(turns.map((turn) => turn.reward)).toMatchObject([{ value: 1 }, { value: 0.5 }, { value: 0 }]);
    expect(() => clipReward(walk, { minimum: 1 })).toThrow(expect.objectContaining({ code: "config.invalid" }));
  });

  test("of a group are also scaled and clipped", async () => {
    const graded: EnvironmentDefinition<string> = {
      ...walk,
      scoreGroup: async ([episode]) => ({ [episode!.id]: { agent: scored(1) } }),
    };
    expect((await play(scaleReward(graded, 2))).agents.agent!.reward).toMatchObject({ value: 8 });
    expect((await play(clipReward(graded, { maximum: 3.5 }))).agents.agent!.reward).toMatchObject({ value: 3.5 });
  });

  test("depend on the order of wrappers", async () => {
    const scaledLast = scaleReward(clipReward(walk, { maximum: 1 }), 2);
    const clippedLast = clipReward(scaleReward(walk, 2), { maximum: 1 });
    expect([scaledLast.spec.rewardRange, clippedLast.spec.rewardRange]).toEqual([
      [0, 2],
      [0, 1],
    ]);
    expect((await play(scaledLast)).agents.agent!.reward).toMatchObject({ value: 2 });
    expect((await play(clippedLast)).agents.agent!.reward).toMatchObject({ value: 1 });
  });
});

test("observations are transformed, the outermost last", async () => {
  expect(shown(await play(prefix("a ")(prefix("b ")(walk))))).toEqual(["a b Go north.", "a b Step 1.", "a b Step 2."]);
});

describe("a record", () => {
  test("contains exactly what passed through its place", async () => {
    const records: RecordedEpisode<string>[] = [];
    await play(prefix("a ")(record(timeLimit(walk, 2), (episode) => void records.push(episode))));
    expect(records).toMatchObject([
      { environment: "walk", task: "north", ended: true, steps: [{ actions: { agent: {} } }, { result: {} }] },
    ]);
    expect(textOf(records[0]!.observations.agent!.messages[0]!)).toBe("Go north.");
  });

  test("contains an episode that was left before its end", async () => {
    const ends: boolean[] = [];
    const instance = await record(walk, ({ ended }) => void ends.push(ended)).create();
    await instance.reset({ task: "north", seed: 1 });
    await instance.reset({ task: "north", seed: 1 });
    await instance.close();
    await instance.close();
    expect(ends).toEqual([false, false]);
  });

  test("is a line of a file for each episode; one that cannot be written fails the episode", async () => {
    const folder = temporaryFolder();
    const path = join(folder, "episodes.jsonl");
    await play(record(walk, path));
    await play(record(walk, path));
    const lines = (await readFile(path, "utf8")).trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line).steps.length)).toEqual([3, 3]);
    const lost = await play(record(walk, join(folder, "none", "x.jsonl")));
    expect(lost).toMatchObject({ status: "failed", error: { code: "trace.write-failed" } });
    await rm(folder, { recursive: true });
  });
});

describe("a tool budget", () => {
  const calls = (...ids: string[]): Message => ({
    ...textMessage("assistant", "x"),
    toolCalls: ids.map((id) => ({ id, name: "look", arguments: {} })),
  });

  test("answers calls beyond it, and does not run them", async () => {
    seen.length = 0;
    const episode = await play(toolBudget(walk, 3), calls("1", "2"));
    expect(seen).toEqual([["1", "2"], ["1"]]);
    expect(episode).toMatchObject({ turns: 3, agents: { agent: { truncated: true, reward: { value: 2 } } } });
    const refusals = episode.agents.agent!.nodes.filter(({ message }) => message.role === "tool");
    expect(refusals.map(({ message }) => message.toolCallId)).toEqual(["2"]);
    expect(textOf(refusals[0]!.message)).toContain("allows 3 tool calls");
  });

  test("does not change an environment without calls", async () => {
    expect(await play(toolBudget(walk, 0))).toMatchObject({ turns: 3, agents: { agent: { terminated: true } } });
  });
});

test("random compositions of wrappers pass checkEnvironment", async () => {
  const wrappers: ((environment: EnvironmentDefinition<string>) => EnvironmentDefinition<string>)[] = [
    (environment) => timeLimit(environment, 2),
    (environment) => scaleReward(environment, -2),
    (environment) => clipReward(environment, { minimum: -1, maximum: 2 }),
    (environment) => record(environment, () => {}),
    (environment) => toolBudget(environment, 1),
    prefix("> "),
  ];
  const random = createRandom(7);
  for (let round = 0; round < 60; round++) {
    let environment: EnvironmentDefinition<string> = walk;
    for (let depth = random.integer(1, 5); depth > 0; depth--) environment = random.pick(wrappers)(environment);
    const { problems } = await checkEnvironment(environment, { seed: round, tasks: 1, episodes: 3 });
    expect(problems, environment.spec.id).toEqual([]);
  }
});
