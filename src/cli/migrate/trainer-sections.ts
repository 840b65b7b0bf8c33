import type { Json } from "../../contract/json.ts";

/** A section of a config of LLM_Collab by which one of its training scripts is known. */
export interface TrainerSection {
  readonly name: string;
  /** The settings that make the same algorithm here. */
  readonly algorithm: Readonly<Record<string, Json>>;
  /** How many agents the script has if the config does not say. */
  readonly agents: 1 | 2;
  readonly note?: string;
}

// GRPO there is MAGRPO with one agent: no ratio, no clipping, no standard deviation.
const singleAgent = { id: "grpo", advantage: "group-mean", surrogate: "none" };

/** The sections of LLM_Collab's trainers, and of CoMLRL's config classes, which have the same fields. */
export const trainerSections: readonly TrainerSection[] = [
  { name: "magrpo", algorithm: { id: "magrpo" }, agents: 2 },
  { name: "mt_magrpo", algorithm: { id: "magrpo" }, agents: 2, note: "two turns" },
  { name: "mareinforce", algorithm: { id: "mareinforce" }, agents: 2 },
  { name: "marloo", algorithm: { id: "marloo" }, agents: 2 },
  { name: "maremax", algorithm: { id: "maremax" }, agents: 2 },
  { name: "grpo", algorithm: singleAgent, agents: 1, note: "one agent: advantage: group-mean, surrogate: none" },
  { name: "mt_grpo", algorithm: singleAgent, agents: 1, note: "two turns" },
  { name: "iac", algorithm: { id: "iac" }, agents: 2 },
  { name: "ippo", algorithm: { id: "iac" }, agents: 2, note: "later called IAC; it has neither ratio nor clipping" },
  { name: "ac", algorithm: { id: "iac" }, agents: 1, note: "IAC with one agent" },
  { name: "maac", algorithm: { id: "maac" }, agents: 2 },
  { name: "madpo", algorithm: { id: "madpo" }, agents: 2 },
  { name: "madpo_iter", algorithm: { id: "madpo" }, agents: 2, note: "every step of madpo draws its answers anew" },
  {
    name: "marlhf",
    algorithm: { id: "magrpo" },
    agents: 2,
    note: "the algorithm in rl_algorithm, by the environment's own reward instead of a learned one",
  },
  { name: "marlhf_iter", algorithm: { id: "magrpo" }, agents: 2, note: "as marlhf" },
  { name: "trainer", algorithm: { id: "magrpo" }, agents: 2, note: "of early versions for ClassEval" },
];
