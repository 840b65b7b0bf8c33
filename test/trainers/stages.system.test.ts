import { cp, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import { scriptedPolicy } from "../../src/core/policy/scripted-policy.ts";
import type { StageEvent, StagesOptions } from "../../trainers/training/stages.ts";
import { planStages, type Stage, trainStages } from "../../trainers/training/stages.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { createBigramBackend } from "./bigram-backend.ts";
import { letterEnvironment } from "./letter-environment.ts";
import { checkpointState, letterConfig } from "./run-training.ts";
import { teamEnvironment } from "./team-environment.ts";

const environment = letterEnvironment() as EnvironmentDefinition;
const checkpoint = { every: 1, keep: 9 };
const evaluation = { split: "test", limit: 64 };

/** SFT, then PPO with a critic, then GRPO with the result of PPO as its reference. */
const stages = (steps: readonly number[] = [3, 3, 2]): Stage[] => [
  {
    name: "sft",
    environment,
    config: letterConfig({
      algorithm: { id: "sft" },
      training: { steps: steps[0]!, batchSize: 8 },
      checkpoint,
      evaluation,
    }),
  },
  {
    name: "ppo",
    environment,
    config: letterConfig({
      algorithm: { id: "ppo", groupSize: 4 },
      training: { steps: steps[1]!, batchSize: 8 },
      checkpoint,
      evaluation,
    }),
  },
  {
    name: "grpo",
    environment,
    config: letterConfig({
      algorithm: { id: "grpo", groupSize: 4, klWeight: 0.1, dropGroupsWithoutSignal: false },
      training: { steps: steps[2]!, batchSize: 8 },
      checkpoint,
    }),
  },
];

async function run(
  options: StagesOptions & { readonly until?: (event: StageEvent) => boolean },
): Promise<{ events: StageEvent[]; error: unknown }> {
  const { until, ...rest } = options;
  const stop = new AbortController();
  const events: StageEvent[] = [];
  try {
    for await (const event of trainStages({ ...rest, backend: createBigramBackend(), signal: stop.signal })) {
      events.push(event);
      if (until?.(event) === true) stop.abort();
    }
    return { events, error: undefined };
  } catch (error) {
    return { events, error };
  }
}

const stepsOf = (events: readonly StageEvent[]): string[] =>
  events.flatMap(({ stage, event }) => (event.type === "step" ? [`${stage} ${event.step}`] : []));
const everyStep = ["sft 1", "sft 2", "sft 3", "ppo 1", "ppo 2", "ppo 3", "grpo 1", "grpo 2"];

const folders: string[] = [];
afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true }))));

let whole: Promise<string> | undefined;
/** The folder of a run without an interruption. */
const uninterrupted = (): Promise<string> => {
  whole ??= (async () => {
    const output = temporaryFolder();
    folders.push(output);
    const { events, error } = await run({ stages: stages(), output });
    expect(error).toBeUndefined();
    expect(stepsOf(events)).toEqual(everyStep);
    return output;
  })();
  return whole;
};

describe("trainStages", () => {
  it("starts each stage from the weights of the previous one", async () => {
    const output = temporaryFolder();
    const { events, error } = await run({ stages: stages([12, 1, 1]), output });
    expect(error).toBeUndefined();
    const accuracies = events.flatMap(({ stage, event }) =>
      event.type === "evaluation" ? [[stage, event.step, event.metrics.accuracy!] as const] : [],
    );
    expect(accuracies.map(([stage, step]) => `${stage} ${step}`)).toEqual(["sft 0", "sft 12", "ppo 0", "ppo 1"]);
    const [, taught, begun] = accuracies.map(([, , accuracy]) => accuracy);
    expect(taught).toBeGreaterThan(0.9);
    expect(begun).toBe(taught);
    expect((await readdir(output)).toSorted()).toEqual(["grpo", "ppo", "sft"]);
  });

  it("starts a stage from the best weights of the previous one, if that exports them", async () => {
    const output = temporaryFolder();
    let judged = 0;
    // Each step scores 128 episodes and each evaluation 32. After six steps, right answers become wrong and nothing is
    // solved.
    const turning = letterEnvironment({
      judge: (right) => (judged++ < 32 + 3 * (2 * 128 + 32) ? Number(right) : right ? 0 : 0.5),
    }) as EnvironmentDefinition;
    const sampled = { split: "test", limit: 32, temperature: 1 };
    const first = letterConfig({
      preflight: false,
      probe: { groups: 0 },
      evaluation: { ...sampled, every: 2 },
      training: { steps: 12, batchSize: 16 },
      checkpoint: { every: 0, best: {} },
      export: { from: "best" },
    });
    const second = letterConfig({ algorithm: { id: "sft" }, evaluation: sampled, training: { steps: 1 } });
    const { events, error } = await run({
      stages: [
        { name: "turning", environment: turning, config: first },
        { name: "sft", environment, config: second },
      ],
      output,
    });
    expect(error).toBeUndefined();
    const accuracies = (stage: string): number[] =>
      events.flatMap((record) =>
        record.stage === stage && record.event.type === "evaluation" ? [record.event.metrics.accuracy!] : [],
      );
    const best = Math.max(...accuracies("turning"));
    expect(accuracies("turning").at(-1)).toBeLessThan(best);
    expect(accuracies("sft")[0]).toBe(best);
  });

  it("uses the model at the start of a stage as its reference", async () => {
    const output = temporaryFolder();
    const { events, error } = await run({ stages: stages([12, 1, 1]), output });
    expect(error).toBeUndefined();
    const step = events.find(({ stage, event }) => stage === "grpo" && event.type === "step")?.event;
    // At the first step, the policy equals the reference, although it differs from the untrained model.
    expect(step?.type === "step" && step.metrics["loss/kl"]).toBeCloseTo(0, 6);
  });

  it.each(
    everyStep.slice(0, -1),
  )("stopped after %s and resumed, ends in the same weights, to the bit", async (place) => {
    const output = temporaryFolder();
    const first = await run({
      stages: stages(),
      output,
      until: ({ stage, event }) => event.type === "step" && `${stage} ${event.step}` === place,
    });
    expect(first.events.at(-1)!.event).toMatchObject({ type: "run-end", reason: "aborted" });
    // The paths of models are part of a config, so the run continues in its own folder.
    const second = await run({ stages: stages(), output, resume: true });
    expect(second.error).toBeUndefined();
    expect(stepsOf(second.events)).toEqual(everyStep.slice(everyStep.indexOf(place) + 1));
    const expected = await uninterrupted();
    for (const [stage, step] of [
      ["ppo", 3],
      ["grpo", 2],
    ] as const) {
      expect(await checkpointState(join(output, stage), step)).toBe(await checkpointState(join(expected, stage), step));
    }
  });

  it("resumes after a stage was killed before its first checkpoint, or before its export", async () => {
    const expected = await uninterrupted();
    const output = temporaryFolder();
    const until = ({ stage, event }: StageEvent): boolean => stage === "ppo" && event.type === "step";
    await run({ stages: stages(), output, until });
    await rm(join(output, "ppo"), { recursive: true });
    await rm(join(output, "sft", "model"), { recursive: true });
    const { error, events } = await run({ stages: stages(), output, resume: true });
    expect(error).toBeUndefined();
    expect(stepsOf(events)).toEqual(everyStep.slice(3));
    expect(await checkpointState(join(output, "grpo"), 2)).toBe(await checkpointState(join(expected, "grpo"), 2));
  });

  it("gives each agent its own model of the previous stage", async () => {
    const team = teamEnvironment({ turns: 1 }) as EnvironmentDefinition;
    const config = (id: string) =>
      letterConfig({ algorithm: { id }, training: { steps: 8, batchSize: 8 }, evaluation });
    const output = temporaryFolder();
    const { events, error } = await run({
      output,
      stages: [
        { name: "sft", environment: team, config: config("sft") },
        { name: "magrpo", environment: team, config: { ...config("magrpo"), training: { steps: 1, batchSize: 8 } } },
      ],
    });
    expect(error).toBeUndefined();
    const accuracies = events.flatMap(({ event }) => (event.type === "evaluation" ? [event.metrics.accuracy!] : []));
    expect(accuracies[2]).toBe(accuracies[1]);
    expect(accuracies[1]).toBeGreaterThan(accuracies[0]!);
    const alone = { name: "alone", environment, config: config("grpo") };
    const mixed = await run({
      output: temporaryFolder(),
      stages: [{ name: "sft", environment: team, config: config("sft") }, alone],
    });
    expect(mixed.error).toMatchObject({ code: "config.invalid", message: expect.stringContaining("has other agents") });
    expect(mixed.events).toEqual([]);
  });

  it.each<[string, () => Stage[], RegExp]>([
    ["no stages", () => [], /no stages/],
    ["two stages with one name", () => [stages()[0]!, stages()[0]!], /Two stages have the name "sft"/],
    ["a name outside the folder", () => [{ ...stages()[0]!, name: "../x" }], /cannot be the name of a stage/],
    [
      "a later stage's own model",
      () => [stages()[0]!, { ...stages()[1]!, config: { ...stages()[1]!.config, model: { path: "elsewhere" } } }],
      /names its own model/,
    ],
  ])("refuses %s before anything runs", async (_, make, message) => {
    const { error, events } = await run({ stages: make(), output: temporaryFolder() });
    expect(error).toMatchObject({ code: "config.invalid", message: expect.stringMatching(message) });
    expect(events).toEqual([]);
  });

  it("refuses a new training in the folder of another, also of a later stage", async () => {
    const output = temporaryFolder();
    await cp(join(await uninterrupted(), "ppo"), join(output, "ppo"), { recursive: true });
    const { error, events } = await run({ stages: stages(), output });
    expect(error).toMatchObject({ code: "checkpoint.unusable" });
    expect(events).toEqual([]);
  });
});

describe("stages with frozen agents", () => {
  const team = teamEnvironment({ turns: 1 }) as EnvironmentDefinition;
  const partner = scriptedPolicy(() => "A", { name: "always A" });
  const stage = (name: string, frozen: readonly string[]): Stage => ({
    name,
    environment: team,
    policies: Object.fromEntries(frozen.map((agent) => [agent, partner])),
    config: letterConfig({ algorithm: { id: "magrpo", groupSize: 4 }, training: { steps: 2, batchSize: 8 } }),
  });

  it("start from the weights of the last stage that trained each agent", async () => {
    const output = temporaryFolder();
    const all = [stage("both", []), stage("left", ["right"]), stage("right", ["left"]), stage("end", [])];
    const { error } = await run({ stages: all, output });
    expect(error).toBeUndefined();
    const begins = Object.fromEntries(
      (await planStages({ stages: all, output: `${output}-plan` })).map(({ name, config }) => [
        name,
        config.agents.models,
      ]),
    );
    const path = (name: string, agent: string): object => ({ path: join(`${output}-plan`, name, "model", agent) });
    expect(begins).toMatchObject({
      both: {},
      left: { left: path("both", "left") },
      right: { right: path("both", "right") },
      end: { left: path("left", "left"), right: path("right", "right") },
    });
    for (const [name, agents] of [
      ["left", ["left"]],
      ["right", ["right"]],
      ["end", ["left", "right"]],
    ] as const) {
      expect((await readdir(join(output, name, "model"))).toSorted()).toEqual(agents);
    }
  });

  it("start from an agent's own model if it was frozen until then", async () => {
    const output = temporaryFolder();
    const [, second] = await planStages({ stages: [stage("left", ["right"]), stage("both", [])], output });
    expect(second!.config.agents.models).toMatchObject({
      left: { path: join(output, "left", "model", "left") },
      right: { scratch: {} },
    });
  });

  it("pass on the shared weights of trained agents", async () => {
    const output = temporaryFolder();
    const shared = (name: string, frozen: readonly string[]): Stage => {
      const one = stage(name, frozen);
      return { ...one, config: { ...one.config, agents: { weights: "shared" } } };
    };
    const { error } = await run({ stages: [shared("left", ["right"]), shared("both", [])], output });
    expect(error).toBeUndefined();
    expect(await readdir(join(output, "left", "model"))).toContain("bigram.json");
  });
});
