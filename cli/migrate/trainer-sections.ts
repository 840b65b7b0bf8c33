import type { Json } from "../../src/contract/json.ts";

/** A trainer section of an LLM_Collab config, which identifies a training script. */
export interface TrainerSection {
  readonly name: string;
  /** The settings of the same algorithm here. */
  readonly algorithm: Readonly<Record<string, Json>>;
  /** The script's default number of agents. */
  readonly agents: 1 | 2;
  readonly note?: string;
}

// GRPO in LLM_Collab is MAGRPO with one agent: no ratio, no clipping, no standard deviation.
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
  { name: "ippo", algorithm: { id: "iac" }, agents: 2, note: "later called IAC; without ratio and clipping" },
  { name: "ac", algorithm: { id: "iac" }, agents: 1, note: "IAC with one agent" },
  { name: "maac", algorithm: { id: "maac" }, agents: 2 },
  { name: "madpo", algorithm: { id: "madpo" }, agents: 2 },
  { name: "madpo_iter", algorithm: { id: "madpo" }, agents: 2, note: "every step of madpo samples new completions" },
  {
    name: "marlhf",
    algorithm: { id: "magrpo" },
    agents: 2,
    note: "the algorithm in rl_algorithm, with the environment's own reward instead of a learned one",
  },
  { name: "marlhf_iter", algorithm: { id: "magrpo" }, agents: 2, note: "like marlhf" },
  { name: "trainer", algorithm: { id: "magrpo" }, agents: 2, note: "in early versions for ClassEval" },
];
