import { describe, expect, it } from "vitest";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import { scored } from "../../src/contract/reward.ts";
import { defineEnvironment } from "../../src/core/environment/define-environment.ts";
import { tokenSequences } from "../../src/core/rollout/token-sequences.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { playedEpisode } from "./played-episode.ts";
import { checkpointState, eventsOf, letterConfig, runTraining } from "./run-training.ts";

/** Rewards the first character and ignores the rest. Has `turns` turns. */
function firstCharacter(turns = 1): EnvironmentDefinition {
  return defineEnvironment<{ readonly prompt: string }>({
    id: "first-character",
    maxTurns: turns,
    tasks: () => ["a", "b", "c", "d"].map((prompt) => ({ prompt })),
    reset: ({ task }) => task.prompt,
    step: ({ text, turn }) => ({
      reward: (text.charCodeAt(0) || 0) % 2,
      ...(turn + 1 < turns ? { messages: "again" } : {}),
    }),
  }) as EnvironmentDefinition;
}

/**
 * Returns the metrics of each step and the final weights. With 263 tokens, a completion of up to `maxTokens` rarely
 * ends.
 */
async function trained(options: {
  readonly algorithm: { readonly id: string; readonly [setting: string]: unknown };
  readonly maxTokens: number;
  readonly turns?: number;
}): Promise<{ readonly steps: readonly Readonly<Record<string, number>>[]; readonly state: string }> {
  const { algorithm, maxTokens, turns } = options;
  const output = temporaryFolder();
  const run = await runTraining({
    output,
    environment: firstCharacter(turns),
    config: letterConfig({ algorithm, sampling: { maxTokens }, training: { steps: 3, batchSize: 4 } }),
  });
  if (run.error !== undefined) throw run.error;
  return { steps: eventsOf(run, "step").map(({ metrics }) => metrics), state: await checkpointState(output, 3) };
}

describe.each([
  { id: "grpo", groupSize: 4, dropGroupsWithoutSignal: false },
  { id: "ppo", groupSize: 4 },
  { id: "iac", groupSize: 4, critic: "shared" },
  { id: "magrpo", groupSize: 4 },
])("$id", (algorithm) => {
  it("does not learn if all completions are cut off and masked, and learns if they are not masked", async () => {
    const masked = await trained({ algorithm: { ...algorithm, maskTruncated: true }, maxTokens: 1 });
    const whole = await trained({ algorithm, maxTokens: 1 });
    // One of 263 first tokens ends the turn.
    for (const metrics of masked.steps) {
      expect(metrics["length/masked"]).toBeGreaterThan(0.8);
      expect(metrics["tokens/trained"] ?? 0).toBeLessThanOrEqual(2);
    }
    expect(whole.steps.every((metrics) => metrics["tokens/trained"]! >= 12)).toBe(true);
    expect(whole.steps[0]).not.toHaveProperty("length/masked");
    expect(masked.state).not.toBe(whole.state);
  });
});

it("masks only the cut-off completions of one-turn episodes", async () => {
  const algorithm = { id: "grpo", groupSize: 8, dropGroupsWithoutSignal: false, maskTruncated: true };
  const { steps } = await trained({ algorithm, maxTokens: 30 });
  for (const metrics of steps) expect(metrics["length/masked"]).toBeCloseTo(metrics["length/cut-off"]!, 12);
  expect(steps.some((metrics) => metrics["length/masked"]! > 0.5 && metrics["length/masked"]! < 1)).toBe(true);
});

describe("cutOff of a sequence", () => {
  const node = (id: number, sampled: boolean) => ({
    id,
    parent: id === 0 ? null : id - 1,
    turn: id >> 1,
    message: { role: sampled ? ("assistant" as const) : ("user" as const), content: [] },
    tokens: { ids: [id], mask: sampled ? (1 as const) : (0 as const), startsSequence: id === 0 || id === 2 },
  });
  const record = (finishes: readonly ("stop" | "length")[]) => ({
    nodes: [node(0, false), node(1, true), node(2, false), node(3, true)],
    turns: finishes.map((finish, turn) => ({ turn, node: 2 * turn + 1, finish })),
    reward: scored(0),
    terminated: true,
    truncated: false,
  });

  it("is true for all sequences of an agent with a cut-off completion in the episode, and for no other agent's", () => {
    const episode = playedEpisode({ cut: record(["length", "stop"]), whole: record(["stop", "stop"]) });
    const found = tokenSequences(episode).map(({ agent, cutOff = false }) => [agent, cutOff]);
    expect(found).toEqual([
      ["cut", true],
      ["cut", true],
      ["whole", false],
      ["whole", false],
    ]);
  });
});
