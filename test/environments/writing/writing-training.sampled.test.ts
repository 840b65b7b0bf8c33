import { expect, it } from "vitest";
import { createTinyHub } from "../../examples/tiny-hub.ts";
import { trainOneStep } from "../../examples/train-one-step.ts";
import { sampleOf } from "../../tier.ts";

it.each(sampleOf(["tldr", "arxiv"], 2))("one step of GRPO trains on %s", async (form) => {
  await using hub = await createTinyHub();
  const config = {
    seed: 1,
    environment: { id: "writing", form },
    algorithm: { id: "grpo", groupSize: 2, advantage: "group-mean" },
    model: { path: hub.model },
    evaluation: { split: "test" },
  };
  await using run = await trainOneStep({ config, hub });
  expect(run.output).toMatch(/\nstep 1\/1 /);
  expect(run.output).toMatch(/\nmodel: /);
});
