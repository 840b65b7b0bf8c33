import { expect, test, vi } from "vitest";
import { tokenSequences } from "../../../src/core/rollout/token-sequences.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { eventsOf, letterConfig, runTraining } from "../run-training.ts";

vi.mock("../../../src/core/rollout/token-sequences.ts", { spy: true });

test("a training builds the sequences of each episode once for filter, reward penalty, credit and metrics", async () => {
  const record = await runTraining({
    output: temporaryFolder(),
    config: letterConfig({
      algorithm: { id: "dapo", groupSize: 8, klIn: "reward", klWeight: 0.1 },
      rewards: [{ type: "scale", factor: 2 }],
      training: { steps: 2, batchSize: 4 },
    }),
  });
  expect(record.error).toBeUndefined();
  expect(eventsOf(record, "step")).toHaveLength(2);
  const built = vi.mocked(tokenSequences).mock.calls.map(([{ id }, agent]) => `${id} ${agent}`);
  expect(built.length).toBeGreaterThanOrEqual(64);
  expect(new Set(built).size).toBe(built.length);
});
