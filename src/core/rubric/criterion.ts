import type { AgentId } from "../../contract/action.ts";
import type { Episode } from "../../contract/episode.ts";
import type { UnscoredReward } from "../../contract/reward.ts";

/** What every criterion says of itself. */
interface CriterionBase {
  /** Names its component of the reward. */
  readonly name: string;
  /** Its score times this is its component; 1 by default. Below 0 it is a penalty. */
  readonly weight?: number;
  /** Least and greatest score, without the weight; [0, 1] by default. A score beyond leaves the reward unscored. */
  readonly range?: readonly [minimum: number, maximum: number];
  /** The most milliseconds of one score; 60,000 by default. */
  readonly limitMs?: number;
}

/** A criterion of one answer. `Context` is what the rubric is asked with. */
export interface AnswerCriterion<Context> extends CriterionBase {
  /** `signal` aborts at the limit and where nobody waits any more. */
  readonly score: (
    context: Context & { readonly signal: AbortSignal },
  ) => number | UnscoredReward | Promise<number | UnscoredReward>;
}

/** A criterion of all episodes of a group together, such as how unlike they are. */
export interface GroupCriterion extends CriterionBase {
  /** One score for each episode in order: for all its agents, or by agent. */
  readonly scoreGroup: (
    group: readonly Episode[],
    options: { readonly signal: AbortSignal },
  ) => GroupScores | Promise<GroupScores>;
}

/** The scores of a group, one for each of its episodes. */
export type GroupScores = readonly (number | UnscoredReward | Readonly<Record<AgentId, number | UnscoredReward>>)[];

/** One thing that a rubric looks at. */
export type Criterion<Context> = AnswerCriterion<Context> | GroupCriterion;

/** A criterion with nothing left open. */
export interface ResolvedCriterion {
  readonly name: string;
  readonly weight: number;
  readonly range: readonly [minimum: number, maximum: number];
  readonly limitMs: number;
}
