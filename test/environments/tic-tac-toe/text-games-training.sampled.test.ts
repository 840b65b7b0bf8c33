import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { repository } from "../../examples/run-program.ts";
import { createTinyHub, type TinyHub } from "../../examples/tiny-hub.ts";
import { trainOneStep } from "../../examples/train-one-step.ts";
import { sampleOf } from "../../tier.ts";

let hub: TinyHub;
beforeAll(async () => {
  hub = await createTinyHub();
});
afterAll(() => hub[Symbol.asyncDispose]());

const games = [
  { id: "number-guessing", maximum: 12, spareGuesses: 1 },
  { id: "word-guessing", maxTurns: 2 },
  { id: "tic-tac-toe", openingMoves: 2 },
  { id: "kuhn-poker" },
];
it.each(sampleOf(games, 4))("one step of GRPO trains on $id", async (environment) => {
  const config = {
    seed: 1,
    environment,
    algorithm: { id: "grpo", groupSize: 2 },
    model: { path: hub.model },
    evaluation: { split: "test" },
  };
  await using run = await trainOneStep({ config, hub });
  expect(run.output).toMatch(/\nstep 1\/1 /);
  expect(run.output).toMatch(/\nmodel: /);
});

it.each(
  sampleOf(["tic-tac-toe", "kuhn-poker"], 2),
)("self-play in %s is evaluated against a random player", async (id) => {
  const opponent = `scripted:${join(repository, "examples/agents/random-player.ts")}`;
  const config = {
    seed: 1,
    environment: { id },
    agents: { weights: "shared" },
    algorithm: { id: "grpo", groupSize: 2 },
    model: { path: hub.model },
    evaluation: { split: "test", opponent },
  };
  await using run = await trainOneStep({ config, hub });
  // Two tasks, each from both sides.
  expect(run.output).toMatch(/^evaluation of test against scripted:.*random-player\.ts at step 1 .* episodes 4$/m);
  await using probe = await trainOneStep({ config, hub, probe: true });
  expect(probe.output).toMatch(/^probe: \d of 2 groups have a signal/m);
});
