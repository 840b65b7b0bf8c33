import { describe, expect, test } from "vitest";
import type { Environment, EnvironmentDefinition, EnvironmentSpec } from "../../../src/contract/environment.ts";
import { textMessage } from "../../../src/contract/message.ts";
import { scored } from "../../../src/contract/reward.ts";
import { mixedEnvironment } from "../../../src/core/environment/mixed-environment.ts";
import { withJudge } from "../../../src/core/judge/with-judge.ts";
import { scriptedPolicy } from "../../../src/core/policy/scripted-policy.ts";
import { memoryTaskset } from "../../../src/core/taskset/memory-taskset.ts";
import { clipReward } from "../../../src/core/wrappers/clip-reward.ts";
import { record } from "../../../src/core/wrappers/record.ts";
import { scaleReward } from "../../../src/core/wrappers/scale-reward.ts";
import { timeLimit } from "../../../src/core/wrappers/time-limit.ts";
import { toolBudget } from "../../../src/core/wrappers/tool-budget.ts";
import { transformObservation } from "../../../src/core/wrappers/transform-observation.ts";
import { withPolicies } from "../../../src/core/wrappers/with-policies.ts";

const judged = { requests: 1, cached: 0, failed: 0, promptTokens: 2, completionTokens: 3 };
const part: Required<EnvironmentSpec> = {
  id: "part",
  agents: ["left", "right"],
  maxTurns: 4,
  rewardRange: [0, 4],
  deterministic: true,
  tools: [],
  description: "A part.",
  statesCorrect: true,
  environments: {},
};
const spec: Required<EnvironmentSpec> = { ...part, id: "whole", environments: { part } };

/** `right` acts first and last, so that policies which play it act before and after `left`. */
function createInstance(turn = 0): Required<Environment<string>> {
  let steps = turn;
  const shown = (agent: string) => ({ [agent]: { messages: [textMessage("user", "?")], context: "append" as const } });
  return {
    specificationVersion: "v1",
    spec,
    reset: async () => {
      steps = 0;
      return shown("right");
    },
    step: async () => {
      steps += 1;
      return {
        observations: steps === 1 ? shown("left") : steps === 2 ? shown("right") : {},
        agents: { left: { reward: scored(1), terminated: steps === 3, truncated: false } },
        ...(steps === 1 ? { correct: true } : {}),
        info: steps,
        judge: judged,
      };
    },
    fork: async () => createInstance(steps),
    state: () => steps,
    close: async () => {},
  };
}

/** An environment with every optional field. A new field must be added here, and each wrapper must decide about it. */
const whole: Required<EnvironmentDefinition<string>> = {
  specificationVersion: "v1",
  spec,
  splits: ["train"],
  tasks: async () => memoryTaskset("whole", ["task"]),
  create: async () => createInstance(),
  scoreGroup: async () => ({}),
  demonstrate: () => [],
  demonstratesPairs: true,
  taskFolder: async () => ({ name: "task", files: {} }),
  groupOf: () => "group",
  judge: { required: false },
  environmentOf: () => ({ name: "part", spec: part }),
};

type Wrapped = EnvironmentDefinition<unknown>;
const policy = scriptedPolicy(() => "yes");
/** Each wrapper, the fields that it leaves out on purpose, and the same for its instances. */
const wrappers: readonly (readonly [name: string, wrapped: Wrapped, without: string[], instanceWithout: string[]])[] = [
  ["timeLimit", timeLimit(whole, 3) as Wrapped, ["taskFolder"], []],
  ["clipReward", clipReward(whole, { maximum: 2 }) as Wrapped, ["taskFolder"], []],
  ["scaleReward", scaleReward(whole, 2) as Wrapped, ["taskFolder"], []],
  ["toolBudget", toolBudget(whole, 2) as Wrapped, ["taskFolder"], []],
  ["record", record(whole, () => {}) as Wrapped, ["taskFolder"], []],
  ["transformObservation", transformObservation(whole, (seen) => seen) as Wrapped, ["taskFolder"], []],
  ["withJudge", withJudge(whole, { policy }) as Wrapped, [], []],
  [
    "withPolicies",
    withPolicies(whole, { right: policy }) as Wrapped,
    ["demonstrate", "demonstratesPairs", "taskFolder"],
    ["fork"],
  ],
  ["mixedEnvironment", mixedEnvironment([{ environment: whole as Wrapped }]) as Wrapped, ["taskFolder"], []],
];

const present = (value: object): string[] =>
  [...new Set([...Object.keys(value), ...Object.getOwnPropertyNames(Object.getPrototypeOf(value))])].filter(
    (key) => (value as Record<string, unknown>)[key] !== undefined,
  );

describe.each(wrappers)("%s", (name, wrapped, without, instanceWithout) => {
  test("keeps every field of a definition, except those that it leaves out on purpose", () => {
    expect(Object.keys(whole).filter((key) => !present(wrapped).includes(key))).toEqual(without);
    const unchanged = name === "mixedEnvironment" ? ["tools"] : [];
    expect(Object.keys(spec).filter((key) => !(key in wrapped.spec))).toEqual(unchanged);
  });

  test("keeps every method of an instance, except those that it leaves out on purpose", async () => {
    const instance = await wrapped.create();
    const { task } = await (await wrapped.tasks("train")).get(0);
    await instance.reset({ task, seed: 1 });
    expect(Object.keys(createInstance()).filter((key) => !present(instance).includes(key))).toEqual(instanceWithout);
    expect(instance.state?.()).toBe(name === "withPolicies" ? 1 : 0);
  });

  test("changes the specs of a mixture's environments like its own", () => {
    if (name === "mixedEnvironment") return;
    const { environments, agents, maxTurns, rewardRange, deterministic } = wrapped.spec;
    const found = wrapped.environmentOf!("part/1")!.spec;
    expect(found).toMatchObject({ id: "part", agents, maxTurns, rewardRange, deterministic });
    expect(environments).toEqual({ part: found });
  });
});

test("withPolicies keeps what the steps of its policies give: judges' requests, infos, and whether it is correct", async () => {
  const instance = await withPolicies(whole, { right: policy }).create();
  await instance.reset({ task: "task", seed: 1 });
  const answer = { message: textMessage("assistant", "yes"), finish: "stop" as const };
  expect(await instance.step({ left: answer })).toEqual({
    observations: {},
    agents: { left: { reward: expect.objectContaining({ value: 3 }), terminated: true, truncated: false } },
    correct: true,
    info: [1, 2, 3],
    judge: { requests: 3, cached: 0, failed: 0, promptTokens: 6, completionTokens: 9 },
  });
});
