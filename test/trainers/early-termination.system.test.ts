import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../temporary-folder.ts";
import { eventsOf, letterConfig, runTraining } from "./run-training.ts";
import { teamEnvironment } from "./team-environment.ts";

describe.each(["iac", "maac"])("%s", (id) => {
  /** The share of episodes that played the second turn, step by step, and the final weights. */
  async function run(settings: { readonly terminationThreshold?: number }) {
    const record = await runTraining({
      output: temporaryFolder(),
      environment: teamEnvironment({ partial: 0.5 }),
      config: letterConfig({ algorithm: { id, groupSize: 8, ...settings }, training: { steps: 2, batchSize: 8 } }),
    });
    expect(record.error).toBeUndefined();
    return eventsOf(record, "step").map(({ metrics }) => ({
      second: metrics["rollout/turn-2/episodes"],
      truncated: metrics["rollout/episodes/truncated"] ?? metrics["episodes/truncated"],
      loss: metrics["update/loss"] ?? metrics.loss,
    }));
  }

  it("plays every turn without a threshold, or if no turn exceeds it", async () => {
    const whole = await run({});
    for (const { second } of whole) expect(second).toBe(1);
    expect(await run({ terminationThreshold: 1 })).toEqual(whole);
  });

  it("plays no second turn if the first exceeds the threshold", async () => {
    // A turn has the reward 0, 0.5 or 1.
    for (const { second, truncated } of await run({ terminationThreshold: 0.6 })) {
      expect(second).toBeGreaterThan(0.2);
      expect(second).toBeLessThan(1);
      expect(truncated ?? 0).toBe(0);
    }
    for (const { second } of await run({ terminationThreshold: -1 })) expect(second).toBeUndefined();
  });
});
