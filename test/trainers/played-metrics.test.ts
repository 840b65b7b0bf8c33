import { describe, expect, it } from "vitest";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import type { TrainingEvent } from "../../src/contract/training-event.ts";
import { defineParallelEnvironment } from "../../src/core/environment/define-parallel-environment.ts";
import { watchHealth } from "../../src/reports/health/index.ts";
import { train } from "../../trainers/training/train.ts";
import { createBigramBackend } from "./bigram-backend.ts";
import { eventsOf, letterConfig, type RunRecord, runTraining, temporaryFolder } from "./run-training.ts";
import { teamEnvironment } from "./team-environment.ts";

/** Two agents get this reward in each of two turns, at most 1, for any answer. */
function constantEnvironment(reward: number): EnvironmentDefinition {
  return defineParallelEnvironment<"left" | "right", string>({
    id: "constant",
    agents: ["left", "right"],
    maxTurns: 2,
    rewardRange: [0, 2],
    tasks: ["a", "b"],
    reset: ({ task }) => ({ left: task, right: task }),
    step: ({ turn }) => ({ reward, ...(turn === 0 ? { replies: { left: "again", right: "again" } } : {}) }),
  }) as EnvironmentDefinition;
}

const shapes = [
  { turnStructure: "tree" },
  { turnStructure: "tree", terminationThreshold: 0.2 },
  { turnStructure: "handoff" },
  { turnStructure: "handoff", handoff: "best" },
  { turnStructure: "handoff", handoff: "randomIndependent" },
  { turnStructure: "handoff", terminationThreshold: 0.2 },
];

/** One training step in which all agents get this reward in each turn. */
async function playedOnce(shape: object, reward: number): Promise<RunRecord> {
  return await runTraining({
    output: await temporaryFolder(),
    environment: constantEnvironment(reward),
    config: letterConfig({ algorithm: { id: "magrpo", groupSize: 3, ...shape }, training: { steps: 1, batchSize: 2 } }),
  });
}

describe("if joint actions branch", () => {
  it.each(shapes)("groups with the highest rewards are solved, without a warning: %o", async (shape) => {
    const record = await playedOnce(shape, 1);
    expect(record.error).toBeUndefined();
    expect(eventsOf(record, "step")[0]!.metrics).toMatchObject({
      "groups/solved": 1,
      "groups/without-signal": 1,
      "episodes/truncated": 0,
    });
    expect(eventsOf(record, "warning")).toEqual([]);
  });

  it.each(shapes)("groups with equal, lower rewards have no signal: %o", async (shape) => {
    const record = await playedOnce(shape, 0.1);
    expect(eventsOf(record, "step")[0]!.metrics).toMatchObject({ "groups/solved": 0, "groups/without-signal": 1 });
    const [probed, stepped] = eventsOf(record, "warning");
    expect(probed).toMatchObject({ step: 0, message: expect.stringMatching(/^The probe found no signal/) });
    expect(stepped!.message).toMatch(/^None of the 2 groups has a signal/);
  });

  it.each([
    "tree",
    "handoff",
  ])("a run that learns in a %s until all is solved is not warned of", async (turnStructure) => {
    const events: TrainingEvent[] = [];
    const run = train({
      environment: teamEnvironment({ partial: 0.2 }),
      backend: createBigramBackend(),
      output: await temporaryFolder(),
      config: letterConfig({
        algorithm: { id: "magrpo", groupSize: 4, turnStructure },
        training: { steps: 80, batchSize: 8, sampleEvery: 0 },
        checkpoint: { every: 0 },
      }),
    });
    // Completions of one token are all cut off.
    for await (const event of watchHealth(run, { settings: { ignore: ["truncation"] } })) events.push(event);
    expect(events.filter(({ type }) => type === "warning")).toEqual([]);
    const last = eventsOf({ events, error: undefined }, "step").at(-1)!;
    expect(last.metrics["groups/solved"]).toBeGreaterThan(0.9);
    expect(last.metrics["groups/without-signal"]).toBeGreaterThan(0.9);
  });
});
