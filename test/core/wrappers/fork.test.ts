import { describe, expect, test } from "vitest";
import type { Action } from "../../../src/contract/action.ts";
import type { Environment, EnvironmentDefinition, StepResult } from "../../../src/contract/environment.ts";
import { type Message, textMessage, textOf } from "../../../src/contract/message.ts";
import { scored } from "../../../src/contract/reward.ts";
import { taskEntry } from "../../../src/core/taskset/task-entry.ts";
import { clipReward } from "../../../src/core/wrappers/clip-reward.ts";
import { type RecordedEpisode, record } from "../../../src/core/wrappers/record.ts";
import { timeLimit } from "../../../src/core/wrappers/time-limit.ts";
import { toolBudget } from "../../../src/core/wrappers/tool-budget.ts";
import { transformObservation } from "../../../src/core/wrappers/transform-observation.ts";
import { checkEnvironment } from "../../../src/entry-points/testing.ts";
import { forking } from "../../testing/planted-faults.ts";

/** Continues for ten steps with a reward of 1 each, and can fork. */
const path: EnvironmentDefinition<string> = {
  specificationVersion: "v1",
  spec: { id: "path", agents: ["agent"], maxTurns: 10, rewardRange: [0, 10], deterministic: true },
  splits: ["train"],
  tasks: async () => ({ specificationVersion: "v1", name: "path", length: 1, get: async () => taskEntry("north", 0) }),
  create: async () => walker(0),
};

function walker(begun: number): Environment<string> {
  let turn = begun;
  const shown = () => ({
    agent: { messages: [textMessage("user", `step ${turn}`)], context: "append" as const },
  });
  return {
    specificationVersion: "v1",
    spec: path.spec,
    reset: async () => {
      turn = 0;
      return shown();
    },
    step: async () => {
      turn += 1;
      const over = turn === 10;
      return {
        observations: over ? {} : shown(),
        agents: { agent: { reward: scored(1), terminated: over, truncated: false } },
      };
    },
    fork: async () => walker(turn),
    close: async () => {},
  };
}

const say = (message: Message = textMessage("assistant", "on")): { agent: Action } => ({
  agent: { message, finish: "stop" },
});
const call: Message = { ...textMessage("assistant", "x"), toolCalls: [{ id: "1", name: "look", arguments: {} }] };

/** An instance after some steps, and its fork. */
async function forkAfter(
  environment: EnvironmentDefinition<string>,
  steps: number,
  message?: Message,
): Promise<{ own: Environment<string>; fork: Environment<string> }> {
  const own = await environment.create();
  await own.reset({ task: "north", seed: 1 });
  for (let step = 0; step < steps; step++) await own.step(say(message));
  return { own, fork: await own.fork!() };
}

/** Steps until the end: the results. */
async function finish(instance: Environment<string>, message?: Message): Promise<StepResult[]> {
  const results: StepResult[] = [];
  do results.push(await instance.step(say(message)));
  while (Object.keys(results.at(-1)!.observations).length > 0);
  return results;
}

const total = (results: readonly StepResult[]): number =>
  results.reduce(
    (sum, { agents }) => sum + (agents.agent?.reward?.status === "scored" ? agents.agent.reward.value : 0),
    0,
  );

describe("a fork of a wrapped environment", () => {
  test("counts the steps of a time limit separately", async () => {
    const { own, fork } = await forkAfter(timeLimit(path, 4), 1);
    expect(await finish(fork)).toHaveLength(3);
    expect(await finish(own)).toHaveLength(3);
  });

  test("clips its own total", async () => {
    const { own, fork } = await forkAfter(clipReward(path, { maximum: 3 }), 2);
    expect(total(await finish(fork))).toBe(1);
    expect(total(await finish(own))).toBe(1);
  });

  test("has its own tool budget, which starts with what was left at the fork", async () => {
    const { own, fork } = await forkAfter(toolBudget(path, 3), 2, call);
    const answers = async (instance: Environment<string>): Promise<string[]> => {
      const shown: string[] = [];
      for (let step = 0; step < 2; step++) {
        const { observations } = await instance.step(say(call));
        shown.push(observations.agent!.messages[0]?.role ?? "none");
      }
      return shown;
    };
    expect(await answers(fork)).toEqual(["user", "tool"]);
    expect(await answers(own)).toEqual(["user", "tool"]);
  });

  test("passes its own turn to a transform", async () => {
    const numbered = transformObservation(path, (seen, { turn }) => ({
      ...seen,
      messages: [textMessage("user", `${turn}: ${textOf(seen.messages[0]!)}`)],
    }));
    const { own, fork } = await forkAfter(numbered, 1);
    const next = async (instance: Environment<string>): Promise<string> =>
      textOf((await instance.step(say())).observations.agent!.messages[0]!);
    expect([await next(fork), await next(fork), await next(own)]).toEqual(["2: step 2", "3: step 3", "2: step 2"]);
  });

  test("is recorded separately, with the steps before the fork", async () => {
    const episodes: RecordedEpisode<string>[] = [];
    const { own, fork } = await forkAfter(
      record(path, (episode) => void episodes.push(episode)),
      2,
    );
    await fork.step(say(textMessage("assistant", "left")));
    await fork.close();
    await finish(own);
    await own.close();
    expect(episodes.map(({ steps, ended }) => [steps.length, ended])).toEqual([
      [3, false],
      [10, true],
    ]);
    const words = episodes.map(({ steps }) => textOf(steps[2]!.actions.agent!.message));
    expect(words).toEqual(["left", "on"]);
  });

  test("works after its original is closed", async () => {
    const { own, fork } = await forkAfter(
      timeLimit(
        record(path, () => {}),
        4,
      ),
      1,
    );
    await own.close();
    expect(await finish(fork)).toHaveLength(3);
    await expect(fork.step(say())).rejects.toMatchObject({ code: "environment.contract" });
  });

  test("passes checkEnvironment under every wrapper", async () => {
    const base = forking();
    const wrapped = [
      timeLimit(base, 2),
      clipReward(base, { maximum: 0.5 }),
      toolBudget(base, 1),
      record(base, () => {}),
      transformObservation(base, (seen) => ({ ...seen, context: "replace" })),
    ];
    for (const environment of [
      ...wrapped,
      timeLimit(
        record(toolBudget(clipReward(base, { maximum: 0.5 }), 1), () => {}),
        2,
      ),
    ]) {
      // Its one reward comes in the third turn, which a limit of two turns excludes.
      expect((await checkEnvironment(environment, { skip: ["some-episode-has-a-reward"] })).problems).toEqual([]);
    }
  });
});
