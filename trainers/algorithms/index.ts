import { unknownNameError } from "../../src/contract/errors/index.ts";
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
export type { GroupSettings } from "./group-settings.ts";
export type { GrpoSettings } from "./grpo.ts";
export type { PpoSettings } from "./ppo.ts";
export type { PreferenceSettings } from "./preference-algorithm.ts";
export type { SftSettings } from "./sft.ts";
export type { TurnCriticSettings } from "./turn-critic-algorithm.ts";
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

/** All algorithms of Lyceum. */
export const algorithms: readonly AlgorithmDefinition[] = [
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
];

/** Returns the algorithm with this id. Throws `config.unknown-name`, with the nearest known id, if there is none. */
export function algorithmDefinition(
  id: string,
  known: readonly AlgorithmDefinition[] = algorithms,
): AlgorithmDefinition {
  const found = known.find((definition) => definition.id === id);
  if (found === undefined) {
    throw unknownNameError({ kind: "algorithm", name: id, known: known.map((definition) => definition.id) });
  }
  return found;
}
