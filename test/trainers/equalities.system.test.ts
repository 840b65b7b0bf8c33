import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../temporary-folder.ts";
import { checkpointState, letterConfig, runTraining } from "./run-training.ts";

type Settings = Readonly<Record<string, unknown>>;

/** Returns the weights, moments and step after a few steps of one agent. */
async function trained(id: string, settings: Settings): Promise<string> {
  const output = temporaryFolder();
  const { error } = await runTraining({
    output,
    config: letterConfig({ algorithm: { id, ...settings }, training: { steps: 3, batchSize: 8 } }),
  });
  if (error !== undefined) throw error;
  return checkpointState(output, 3);
}

describe("with one agent, exactly,", () => {
  const pairs: readonly [team: string, alone: string, both: Settings, onlyAlone?: Settings][] = [
    ["mareinforce", "reinforce", { groupSize: 4 }],
    ["marloo", "rloo", { groupSize: 4 }],
    ["ippo", "ppo", { groupSize: 4 }],
    ["magrpo", "grpo", { groupSize: 4 }, { advantage: "group-mean", surrogate: "none" }],
  ];

  it.each(pairs)("%s is %s", async (team, alone, both, onlyAlone = {}) => {
    const state = await trained(team, both);
    expect(await trained(alone, { ...both, ...onlyAlone })).toBe(state);
    // Another setting gives other weights, so the comparison can fail.
    expect(await trained(alone, { ...both, ...onlyAlone, groupSize: 5 })).not.toBe(state);
  });

  it.each(["tree", "handoff"])("align equals cross in a %s", async (turnStructure) => {
    const settings = { groupSize: 4, turnStructure };
    expect(await trained("magrpo", { ...settings, jointMode: "cross" })).toBe(await trained("magrpo", settings));
  });
});
