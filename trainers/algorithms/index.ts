import { createRegistry, type Registry } from "../../src/core/registry.ts";
import type { AlgorithmDefinition } from "./algorithm.ts";
import { dpo, madpo } from "./dpo.ts";
import { cispo, dapo, drGrpo, grpo, gspo } from "./grpo.ts";
import { magrpo, mareinforce, maremax, marloo, reinforce, remax, rloo } from "./policy-gradient.ts";
import { ippo, ppo } from "./ppo.ts";
import { sft } from "./sft.ts";
import { iac, maac } from "./turn-critic.ts";

export * from "./algorithm.ts";
export * from "./dpo.ts";
export * from "./grpo.ts";
export * from "./policy-gradient.ts";
export * from "./ppo.ts";
export * from "./sft.ts";
export * from "./turn-critic.ts";

/** The algorithms of Lyceum. */
export const algorithms: Registry<AlgorithmDefinition> = createRegistry<AlgorithmDefinition>("algorithm", [
  sft,
  dpo,
  reinforce,
  rloo,
  remax,
  grpo,
  drGrpo,
  dapo,
  gspo,
  cispo,
  ppo,
  mareinforce,
  magrpo,
  marloo,
  maremax,
  ippo,
  iac,
  maac,
  madpo,
]);
