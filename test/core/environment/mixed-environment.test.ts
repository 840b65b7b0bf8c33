import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { environments } from "../../../environments/index.ts";
import type { EnvironmentDefinition } from "../../../src/contract/environment.ts";
import { defineParallelEnvironment } from "../../../src/core/environment/define-parallel-environment.ts";
import { mixedEnvironment } from "../../../src/core/environment/mixed-environment.ts";
import { mixedTaskset } from "../../../src/core/taskset/mixed-taskset.ts";
import { memoryTaskset } from "../../../src/entry-points/tasksets.ts";
import { checkEnvironment } from "../../../src/entry-points/testing.ts";
import {
  collectGroups,
  defineEnvironment,
  demonstrationPolicy,
  type Episode,
  rollout,
  scored,
  scriptedPolicy,
  type Taskset,
} from "../../../src/index.ts";
import { rolloutMetrics } from "../../../trainers/metrics/rollout-metrics.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { letterEnvironment } from "../../trainers/letter-environment.ts";
import { eventsOf, letterConfig, runTraining } from "../../trainers/run-training.ts";

const letters = (): EnvironmentDefinition => letterEnvironment() as EnvironmentDefinition;

/** Rewards a word. Its highest reward differs from that of the letters environment. */
function words(options: { readonly value?: number; readonly demonstrates?: boolean } = {}): EnvironmentDefinition {
  const { value = 3, demonstrates = true } = options;
  return defineEnvironment<string>({
    id: "words",
    tasks: (split) => (split === "train" ? ["red", "green"] : ["blue"]),
    rewardRange: [0, value],
    maxTurns: 1,
    reset: ({ task }) => `Say ${task}`,
    tools: { spell: { description: "Spells.", execute: () => "" } },
    step: ({ task, text }) => ({ reward: text === task ? value : 0 }),
    ...(demonstrates ? { demonstrate: (task: string) => task } : {}),
  }) as EnvironmentDefinition;
}

async function ids(tasks: Taskset, count: number): Promise<string[]> {
  const entries = await Promise.all(Array.from({ length: count }, (_, index) => tasks.get(index)));
  return entries.map(({ id }) => id);
}

describe("mixedTaskset", () => {
  const parts = (weights: readonly number[], lengths: readonly number[]) =>
    weights.map((weight, part) => ({
      name: `p${part}`,
      weight,
      taskset: memoryTaskset(
        `p${part}`,
        Array.from({ length: lengths[part]! }, (_, task) => `${part}:${task}`),
      ),
    }));
  const task = (_: string, inner: unknown): unknown => inner;

  it("gives each part its share of any number of tasks, and plays every task of each part", async () => {
    const weight = fc.integer({ min: 1, max: 9 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(weight, fc.integer({ min: 1, max: 12 })), { minLength: 1, maxLength: 4 }),
        async (drawn) => {
          const weights = drawn.map(([one]) => one);
          const mixture = mixedTaskset("mix", {
            parts: parts(
              weights,
              drawn.map(([, length]) => length),
            ),
            task,
            seed: 0,
          });
          const rounds = Math.max(...drawn.map(([one, length]) => length / one));
          const given = await ids(mixture, Math.ceil((rounds + 2) * weights.reduce((sum, one) => sum + one, 0)));
          const total = weights.reduce((sum, one) => sum + one, 0);
          for (const [part, one] of weights.entries()) {
            const own = given.map((id) => id.startsWith(`p${part}/`));
            for (let n = 1; n <= given.length; n++) {
              const count = own.slice(0, n).filter(Boolean).length;
              expect(Math.abs(count - (n * one) / total)).toBeLessThan(1.5);
            }
            expect(new Set(given.filter((_, place) => own[place])).size).toBe(drawn[part]![1]);
          }
        },
      ),
      { numRuns: 25 },
    );
  });

  it("takes infinite parts in order, and shuffles finite parts in each pass by the seed", async () => {
    const endless: Taskset = {
      specificationVersion: "v1",
      name: "n",
      length: "unbounded",
      get: async (index) => ({ index, id: `${index}`, hash: `${index}`, task: index }),
    };
    const mixture = (seed: number): Taskset =>
      mixedTaskset("mix", { parts: [{ name: "n", weight: 1, taskset: endless }, ...parts([1], [6])], task, seed });
    expect(mixture(0).length).toBe("unbounded");
    const given = await ids(mixture(0), 24);
    expect(given.filter((id) => id.startsWith("n/"))).toEqual(Array.from({ length: 12 }, (_, index) => `n/${index}`));
    const finite = given.filter((id) => id.startsWith("p0/"));
    for (const pass of [finite.slice(0, 6), finite.slice(6)]) {
      expect(pass.toSorted()).toEqual(Array.from({ length: 6 }, (_, index) => `p0/${index}`));
    }
    expect(finite.slice(0, 6)).not.toEqual(finite.slice(6));
    expect(await ids(mixture(0), 24)).toEqual(given);
    expect(await ids(mixture(1), 24)).not.toEqual(given);
  });

  it("refuses an empty part", () => {
    expect(() => mixedTaskset("mix", { parts: parts([1, 1], [3, 0]), task, seed: 0 })).toThrow(
      expect.objectContaining({ code: "data.out-of-range", message: expect.stringContaining("p1 has no tasks") }),
    );
  });
});

describe("mixedEnvironment", () => {
  it("passes checkEnvironment", async () => {
    const mixture = mixedEnvironment([{ environment: words({ value: 1 }) }, { environment: letters(), weight: 2 }]);
    expect((await checkEnvironment(mixture, { tasks: 4, episodes: 4 })).problems).toEqual([]);
  });

  it("passes checkEnvironment with environments that open resources and take turns", async () => {
    const mixture = mixedEnvironment([
      { environment: environments.create("math") },
      { environment: environments.create("number-guessing") },
    ]);
    expect((await checkEnvironment(mixture, { tasks: 2, episodes: 2 })).problems).toEqual([]);
    expect(mixture.spec).toMatchObject({ id: "math+number-guessing", agents: ["agent"] });
  });

  it("is reported if one of its environments does not return the correct flag that its spec promises", async () => {
    const silent = { ...words(), spec: { ...words().spec, statesCorrect: true } };
    const mixture = mixedEnvironment([{ environment: letters() }, { environment: silent }]);
    const { problems } = await checkEnvironment(mixture, { tasks: 4, episodes: 4 });
    expect(problems.map(({ rule }) => rule)).toContain("states-whether-correct");
  });

  it("plays and demonstrates each task in its own environment, with the tools of that environment", async () => {
    const mixture = mixedEnvironment([{ environment: words() }, { environment: letters(), weight: 2, name: "abc" }]);
    expect(mixture.spec).toMatchObject({ id: "words+letters", rewardRange: [0, 3] });
    const tasks = await mixture.tasks("test");
    const six = await Promise.all([0, 1, 2, 3, 4, 5].map((index) => tasks.get(index)));
    const groups = await collectGroups(
      rollout({ environment: mixture, tasks: six, policies: demonstrationPolicy({ environment: mixture }), seed: 0 }),
    );
    for (const { task, episodes } of groups) {
      const part = mixture.environmentOf!(task.id)!;
      expect(episodes[0]!.agents.agent!.reward).toMatchObject({ value: part.name === "words" ? 3 : 1 });
      expect(part.spec.id).toBe(part.name === "words" ? "words" : "letters");
    }
    const { rewardRange } = mixture.spec;
    expect(rolloutMetrics(groups, { rewardRange, environmentOf: mixture.environmentOf! })["groups/solved"]).toBe(1);
    expect(rolloutMetrics(groups, { rewardRange })["groups/solved"]).toBeLessThan(1);
    expect(new Set(groups.map(({ task }) => task.id.split("/")[0]))).toEqual(new Set(["words", "abc"]));
    const instance = await mixture.create();
    for (const index of [0, 1]) {
      const { task } = await tasks.get(index);
      const { agent } = await instance.reset({ task, seed: 0 });
      expect(agent!.tools?.map(({ name }) => name)).toEqual(task.environment === "words" ? ["spell"] : undefined);
    }
    await instance.close();
  });

  it("asks each environment to score its own groups", async () => {
    const bonus = (id: string, value: number): EnvironmentDefinition => ({
      ...(defineEnvironment<string>({
        id,
        tasks: ["x"],
        reset: () => "?",
        step: () => ({ reward: 0 }),
      }) as EnvironmentDefinition),
      ...(value === 0
        ? {}
        : {
            scoreGroup: async (group: readonly Episode[]) =>
              Object.fromEntries(group.map((episode) => [episode.id, { agent: scored(value) }])),
          }),
    });
    const mixture = mixedEnvironment([
      { environment: bonus("a", 1) },
      { environment: bonus("b", 0) },
      { environment: bonus("c", 0.5) },
    ]);
    const tasks = await mixture.tasks("train");
    const three = await Promise.all([0, 1, 2].map((index) => tasks.get(index)));
    const policies = scriptedPolicy(() => "!", { name: "any" });
    const groups = await collectGroups(
      rollout({ environment: mixture, tasks: three, policies, groupSize: 2, seed: 0 }),
    );
    const rewards = groups.map(({ task, episodes }) => [
      task.id,
      ...episodes.map(({ agents }) => agents.agent!.reward),
    ]);
    expect(rewards).toMatchObject([
      ["a/0", { value: 1 }, { value: 1 }],
      ["b/0", { value: 0 }, { value: 0 }],
      ["c/0", { value: 0.5 }, { value: 0.5 }],
    ]);
  });

  const two = defineParallelEnvironment({
    id: "two",
    agents: ["a", "b"],
    tasks: ["x"],
    reset: () => ({ a: "?", b: "?" }),
    step: () => ({ reward: 0 }),
  }) as EnvironmentDefinition;
  it.each<[string, () => unknown, RegExp]>([
    ["nothing", () => mixedEnvironment([]), /no environments to mix/],
    [
      "different agents",
      () => mixedEnvironment([{ environment: letters() }, { environment: two }]),
      /"letters" has agent, "two" has a, b/,
    ],
    ["a weight of 0", () => mixedEnvironment([{ environment: letters(), weight: 0 }]), /weight of "letters" is 0/],
    [
      "one name twice",
      () => mixedEnvironment([{ environment: letters() }, { environment: words(), name: "letters" }]),
      /called "letters"/,
    ],
  ])("refuses %s", (_, make, message) => {
    expect(make).toThrow(expect.objectContaining({ code: "config.invalid", message: expect.stringMatching(message) }));
  });

  it("passes the slice of a split to each environment", async () => {
    const mixture = mixedEnvironment([{ environment: letters() }, { environment: words() }]);
    const given = await ids(await mixture.tasks("train[:50%]"), 200);
    expect(new Set(given.filter((id) => id.startsWith("words/")))).toEqual(new Set(["words/0"]));
    expect(new Set(given.filter((id) => id.startsWith("letters/"))).size).toBe(32);
    expect(mixture.splits).toEqual(["train", "test"]);
  });

  it("evaluates each held-out task once, and refuses splits that overlap", async () => {
    const mixture = mixedEnvironment([{ environment: letters() }, { environment: words() }]) as EnvironmentDefinition;
    const run = async (split: string, limit = 10) =>
      runTraining({
        output: temporaryFolder(),
        environment: mixture,
        config: letterConfig({
          training: { steps: 1, batchSize: 2 },
          evaluation: { split, limit },
          tasks: { split: "train[:50%]" },
        }),
      });
    const [evaluation] = eventsOf(await run("test"), "evaluation");
    expect(evaluation!.metrics["episodes/count"]).toBe(6);
    expect((await run("train[50%:]", 200)).error).toBeUndefined();
    expect((await run("train[40%:]", 200)).error).toMatchObject({ code: "data.malformed" });
  });

  it("numbers environments with the same id, and demonstrates only if all of them do", () => {
    const mixture = mixedEnvironment([
      { environment: letters() },
      { environment: letters() },
      { environment: words({ demonstrates: false }) },
    ]);
    expect(mixture.environmentOf!("letters-2/5")?.name).toBe("letters-2");
    expect(mixture.environmentOf!("elsewhere/5")).toBeUndefined();
    expect(mixture.demonstrate).toBeUndefined();
    expect(mixedEnvironment([{ environment: letters() }]).demonstrate).toBeDefined();
  });

  it("trains on all at once, by weight, and reports the reward of each", async () => {
    const run = async (weight: number) => {
      const environment = mixedEnvironment([
        { environment: letters(), weight },
        { environment: letterEnvironment({ judge: () => 0.25 }) as EnvironmentDefinition, name: "flat" },
      ]);
      return runTraining({
        output: temporaryFolder(),
        environment: environment as EnvironmentDefinition,
        config: letterConfig({
          algorithm: { id: "grpo", groupSize: 8, dropGroupsWithoutSignal: false },
          training: { steps: 25, batchSize: 12 },
          evaluation: { split: "test", limit: 24 },
        }),
      });
    };
    const record = await run(3);
    expect(record.error).toBeUndefined();
    const steps = eventsOf(record, "step");
    for (const { metrics } of steps) expect(metrics["reward/flat"]).toBeCloseTo(0.25, 12);
    expect(steps.at(-1)!.metrics["reward/letters"]).toBeGreaterThan(steps[0]!.metrics["reward/letters"]! + 0.4);
    const { metrics } = eventsOf(record, "evaluation").at(-1)!;
    expect(metrics).toMatchObject({ "reward/flat": 0.25, "accuracy/flat": 0 });
    expect(metrics["accuracy/letters"]).toBeGreaterThan(0.6);
    // Three of four tasks are letters.
    expect(metrics.accuracy).toBeCloseTo(0.75 * metrics["accuracy/letters"]!, 12);
  });
});
