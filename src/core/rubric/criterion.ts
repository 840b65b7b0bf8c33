import type { AgentId } from "../../contract/action.ts";
import type { Episode } from "../../contract/episode.ts";
import type { UnscoredReward } from "../../contract/reward.ts";

/** The common properties of criteria. */
interface CriterionBase {
  /** The name of the criterion's reward component. */
  readonly name: string;
  /** The component is the score times this weight. A negative weight makes a penalty. 1 by default. */
  readonly weight?: number;
  /** The lowest and the highest score, without the weight. [0, 1] by default. Other scores are failures. */
  readonly range?: readonly [minimum: number, maximum: number];
  /** The timeout of one score in milliseconds. 60,000 by default. */
  readonly limitMs?: number;
}

/** A criterion that scores one answer. `Context` is the input of the rubric. */
export interface AnswerCriterion<Context> extends CriterionBase {
  /** Returns the score. `signal` aborts at the timeout and if the caller aborts. */
  readonly score: (
    context: Context & { readonly signal: AbortSignal },
  ) => number | UnscoredReward | Promise<number | UnscoredReward>;
}

/** A criterion that scores all episodes of a group together, such as their diversity. */
export interface GroupCriterion extends CriterionBase {
  /** Returns one score per episode, in order. A score applies to all agents or is given by agent. */
  readonly scoreGroup: (
    group: readonly Episode[],
    options: { readonly signal: AbortSignal },
  ) => GroupScores | Promise<GroupScores>;
}

/** The scores of a group, one per episode. */
export type GroupScores = readonly (number | UnscoredReward | Readonly<Record<AgentId, number | UnscoredReward>>)[];

/** A criterion of a rubric. */
export type Criterion<Context> = AnswerCriterion<Context> | GroupCriterion;

/** The properties of a criterion with all defaults. */
export interface ResolvedCriterion {
  readonly name: string;
  readonly weight: number;
  readonly range: readonly [minimum: number, maximum: number];
  readonly limitMs: number;
}
