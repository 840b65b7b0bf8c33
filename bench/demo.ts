import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { additions, runDemo } from "../examples/training/demo.ts";
import type { Benchmark } from "./benchmark.ts";
import { shuffledRewards } from "./shuffled-rewards.ts";

const seed = 1;

/**
 * Measures the demo and its controls: the same run with randomly permuted rewards within each group, and supervised
 * fine-tuning alone for the time of both stages.
 */
export const demo: Benchmark = {
  prefix: "demo",
  run: async () => {
    const folder = await mkdtemp(join(tmpdir(), "lyceum-bench-demo-"));
    try {
      const result = await runDemo({ seed, output: join(folder, "demo") });
      const rewardedBy = shuffledRewards(additions(), seed);
      const shuffled = await runDemo({ seed, output: join(folder, "shuffled"), rewardedBy });
      const sftSteps = Math.round((190 * result.seconds) / result.sftSeconds);
      const imitated = await runDemo({ seed, output: join(folder, "imitated"), sftSteps, grpoSteps: 1 });
      const { untrained, sft, grpo, seconds } = result;
      const gain = { grpo: grpo - sft, shuffled: shuffled.grpo - shuffled.sft };
      return [
        { name: "demo/untrained", value: untrained, unit: "share" },
        { name: "demo/sft", value: sft, unit: "share" },
        { name: "demo/grpo", value: grpo, unit: "share", baseline: 0.95 },
        { name: "demo/seconds", value: seconds, unit: "s", baseline: 120 },
        { name: "demo/grpo-over-sft", value: gain.grpo, unit: "share", baseline: 0.2 },
        { name: "demo/shuffled-over-sft", value: gain.shuffled, unit: "share", baseline: 0.03 },
        { name: "demo/sft-same-time", value: imitated.sft, unit: "share" },
      ];
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
  summary: (results) => {
    const value = (name: string): number | undefined => results.find((result) => result.name === name)?.value;
    return Object.fromEntries(["untrained", "sft", "grpo", "seconds"].map((key) => [key, value(`demo/${key}`)]));
  },
};
