import type { AgentId } from "../../src/contract/action.ts";
import type { TokenSequence } from "../../src/contract/episode.ts";

/**
 * The actions of one agent in one episode, or in one turn, with the weight of each token. Batches are shuffled and
 * averaged by sample.
 */
export interface TrainingSample {
  readonly agent: AgentId;
  /** Usually one sequence. More if the conversation restarted in the middle. */
  readonly sequences: readonly TokenSequence[];
  /**
   * One advantage for all sampled tokens, or one for each id of each sequence. Absent for imitation and preferences.
   */
  readonly advantage?: number | PerToken;
  /** For a value term: the return and the critic's old prediction before each sampled id. */
  readonly values?: { readonly returns: PerToken; readonly old: PerToken };
  /** For a value head on the policy that values whole turns: the states and their targets. */
  readonly states?: readonly StateTargets[];
  /** The loss mask of each id. If absent, 1 for sampled ids. */
  readonly weights?: PerToken;
  /** If set, the sample is a preference: `sequences` are the better answer and these the other one. */
  readonly rejected?: readonly TokenSequence[];
  /** For a team's preference: the sum of the other agents' margins. */
  readonly marginOffset?: number;
}

/** One number per id of each sequence. Numbers of ids that were not sampled are ignored. */
export type PerToken = readonly (readonly number[])[];

/**
 * A sequence that a critic reads, with its targets. A target has the index of the id that it comes after, the value to
 * predict, and the old prediction.
 */
export interface StateTargets {
  readonly ids: readonly number[];
  readonly targets: readonly { readonly after: number; readonly value: number; readonly old: number }[];
}
