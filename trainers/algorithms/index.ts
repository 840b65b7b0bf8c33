import { createRegistry, type Registry } from "../../src/core/registry.ts";
import type { AlgorithmDefinition } from "./algorithm.ts";
import { cispo } from "./cispo.ts";
import { dapo } from "./dapo.ts";
import { dpo } from "./dpo.ts";
import { drGrpo } from "./dr-grpo.ts";
import { grpo } from "./grpo.ts";
import { gspo } from "./gspo.ts";
import { iac } from "./iac.ts";
import { ippo } from "./ippo.ts";
import { maac } from "./maac.ts";
import { madpo } from "./madpo.ts";
import { magrpo } from "./magrpo.ts";
import { mareinforce } from "./mareinforce.ts";
import { maremax } from "./maremax.ts";
import { marloo } from "./marloo.ts";
import { ppo } from "./ppo.ts";
import { reinforce } from "./reinforce.ts";
import { remax } from "./remax.ts";
import { rloo } from "./rloo.ts";
import { sft } from "./sft.ts";

export type { Algorithm, AlgorithmDefinition, RolloutShape, UpdateSchedule } from "./algorithm.ts";
export { defineAlgorithm } from "./define-algorithm.ts";
export {
  cispo,
  dapo,
  dpo,
  drGrpo,
  grpo,
  gspo,
  iac,
  ippo,
  maac,
  madpo,
  magrpo,
  mareinforce,
  maremax,
  marloo,
  ppo,
  reinforce,
  remax,
  rloo,
  sft,
};

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
