import { expect, test } from "vitest";
import { createTinyHub } from "../../examples/tiny-hub.ts";
import { trainOneStep } from "../../examples/train-one-step.ts";

test("GRPO trains a step on debates in which one model plays both agents", async () => {
  await using hub = await createTinyHub();
  await using run = await trainOneStep({
    config: {
      seed: 1,
      environment: { id: "debate", rounds: 1, reward: "zero-sum" },
      algorithm: { id: "grpo", groupSize: 2 },
      model: { path: hub.model },
      sampling: { maxTokens: 8 },
      training: { steps: 1, batchSize: 2, learningRate: 1e-4 },
      evaluation: { split: "test", every: 1 },
    },
    hub,
  });
  expect(run.output).toMatch(/\nstep 1\/1 /);
});
