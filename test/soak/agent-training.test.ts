import { expect, test } from "vitest";
import { trainShopAgent } from "../trainers/agent-training.ts";
import { temporaryFolder } from "../trainers/run-training.ts";

/** How much the held-out reward, the share of right answers, must rise by GRPO. */
const margin = 0.15;

test.each([1, 2, 3])("GRPO raises the held-out reward of an AI SDK agent with two tools: seed %i", async (seed) => {
  const output = await temporaryFolder();
  const { rewards, seen } = await trainShopAgent({ seed, output, steps: { sft: 70, grpo: 60 } });
  const [before, after] = [rewards[0]!, rewards.at(-1)!];
  process.stdout.write(`seed ${seed}: held-out reward ${before.toFixed(3)} before GRPO, ${after.toFixed(3)} after\n`);
  // A model that is nearly perfect after the demonstrations must halve its errors.
  expect(after - before).toBeGreaterThan(Math.min(margin, (1 - before) / 2));
  expect(seen.trained).toBeGreaterThan(100_000);
});
