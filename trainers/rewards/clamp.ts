import type { RewardProcessor } from "./reward-processor.ts";

/** Returns min(max(r, minimum), maximum). */
export function clamp(bounds: { readonly minimum: number; readonly maximum: number }): RewardProcessor {
  return (reward) => Math.min(Math.max(reward, bounds.minimum), bounds.maximum);
}
