import { expect, it } from "vitest";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { eventsOf, letterConfig, runTraining } from "./run-training.ts";
import { teamEnvironment } from "./team-environment.ts";

it.each([
  ["sft", false],
  ["magrpo", true],
])("%s of a team reports the rewards of its agents: %s", async (id, reports) => {
  const run = await runTraining({
    output: temporaryFolder(),
    environment: teamEnvironment({ turns: 1 }) as EnvironmentDefinition,
    config: letterConfig({ algorithm: { id }, training: { steps: 1, batchSize: 2 } }),
  });
  expect(run.error).toBeUndefined();
  const names = eventsOf(run, "step").flatMap(({ metrics }) => Object.keys(metrics));
  // The rewards of demonstrations are the expert's.
  expect(names.filter((name) => name.startsWith("reward/") || name.endsWith("/reward")).length > 0).toBe(reports);
});
