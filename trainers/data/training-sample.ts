import type { AgentId } from "../../src/contract/action.ts";
import type { TokenSequence } from "../../src/contract/episode.ts";

/**
 * What one agent did in one episode, or in one turn of it, and how each of its tokens is to be weighed: the unit that
 * batches are shuffled and averaged by.
 */
export interface TrainingSample {
  readonly agent: AgentId;
  /** Usually one; more where the conversation began anew in the middle. */
  readonly sequences: readonly TokenSequence[];
  /** Of every sampled token, or of each id of each sequence. Absent for imitation and preferences. */
  readonly advantage?: number | PerToken;
  /** For a value term: what the critic is to predict, and what it predicted, before each sampled id. */
  readonly values?: { readonly returns: PerToken; readonly old: PerToken };
  /** For a value head on the policy that is asked about whole turns: the states it was asked about, and what they came to. */
  readonly states?: readonly StateTargets[];
  /** The loss mask of each id; 1 on what was sampled where absent. */
  readonly weights?: PerToken;
  /** Makes it a preference: `sequences` are the better answer and these the other one. */
  readonly rejected?: readonly TokenSequence[];
  /** Of a preference that a team shares: the margin of the other agents. */
  readonly marginOffset?: number;
}

/** One number per id of each sequence. Those of ids that were not sampled are not read. */
export type PerToken = readonly (readonly number[])[];

/** A sequence that a critic reads, and after which of its ids it is to predict what. */
export interface StateTargets {
  readonly ids: readonly number[];
  readonly targets: readonly { readonly after: number; readonly value: number; readonly old: number }[];
}
