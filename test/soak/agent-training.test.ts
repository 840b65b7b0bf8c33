import { expect, test } from "vitest";
import { temporaryFolder } from "../temporary-folder.ts";
import { trainShopAgent } from "../trainers/agent-training.ts";

/** How much the held-out reward must rise by GRPO. The reward is the share of right answers. */
const margin = 0.15;

test.each([1, 2, 3])("GRPO raises the held-out reward of an AI SDK agent with two tools: seed %i", async (seed) => {
  const output = temporaryFolder();
  const { rewards, seen } = await trainShopAgent({ seed, output, steps: { sft: 56, grpo: 80 } });
  const [before, after] = [rewards[0]!, rewards.at(-1)!];
  process.stdout.write(`seed ${seed}: held-out reward ${rewards.map((reward) => reward.toFixed(3)).join(", ")}\n`);
  expect(after - before).toBeGreaterThan(margin);
  expect(seen.trained).toBeGreaterThan(100_000);
});
