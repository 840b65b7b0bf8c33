import { join } from "node:path";
import { expect, it } from "vitest";
import { teamPolicy } from "../../src/core/policy/team-policy.ts";
import { collectGroups } from "../../src/core/rollout/collect-groups.ts";
import { rollout } from "../../src/core/rollout/rollout.ts";
import { rolloutMetrics } from "../../trainers/metrics/rollout-metrics.ts";
import { openCheckpoint } from "../../trainers/models/open-checkpoint.ts";
import { openModelPolicy } from "../../trainers/models/open-policy.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { createBigramBackend } from "./bigram-backend.ts";
import { letterConfig, runTraining } from "./run-training.ts";
import { teamEnvironment } from "./team-environment.ts";

it("a checkpoint of several agents plays each with its own weights, without their critics", async () => {
  const environment = teamEnvironment({ turns: 1 });
  const output = temporaryFolder();
  const algorithm = { id: "ippo", groupSize: 8 };
  const training = { steps: 30, batchSize: 8, learningRate: 0.6, epsilon: 1e-3 };
  const record = await runTraining({ output, environment, config: letterConfig({ algorithm, training }) });
  expect(record.error).toBeUndefined();

  const backend = createBigramBackend();
  const models = await openCheckpoint(join(output, "checkpoints", "step-000030"), { backend });
  expect(models.map(({ agent }) => agent)).toEqual(["left", "right"]);
  const play = async (swapped: boolean): Promise<number> => {
    const opened = await Promise.all(models.map(({ model }) => openModelPolicy(model)));
    const [left, right] = swapped ? opened.toReversed() : opened;
    const groups = await collectGroups(
      rollout({
        environment,
        tasks: await environment.tasks("test"),
        policies: teamPolicy({ left: left!.policy, right: right!.policy }),
        sampling: { temperature: 0, maxTokens: 1 },
        seed: 1,
      }),
    );
    return rolloutMetrics(groups)["reward/mean"]!;
  };
  expect(await play(false)).toBeGreaterThan(0.7);
  expect(await play(true)).toBeLessThan(0.3);
});
