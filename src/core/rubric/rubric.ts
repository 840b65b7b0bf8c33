import type { EnvironmentFactory } from "../../contract/environment.ts";
import { LyceumError } from "../../contract/errors/index.ts";
import type { Reward } from "../../contract/reward.ts";
import type { AnswerCriterion, Criterion, GroupCriterion, ResolvedCriterion } from "./criterion.ts";
import { groupRewards } from "./group-rewards.ts";
import { compose, type Judged, judge } from "./judge.ts";

/** A reward put together from criteria. */
export interface Rubric<Context> {
  /** The range of the whole reward, group criteria included: what `rewardRange` should be. */
  readonly range: readonly [minimum: number, maximum: number];
  /**
   * Asks all criteria of an answer at once. The reward has a component for each; it is unscored when one of them takes
   * too long, fails for want of something outside, or is unscored itself. One that throws or leaves its range twice on
   * the same answer counts as the worst of its range, with a `failure`. Rejects only when `signal` aborts.
   */
  score(context: Context & { readonly signal?: AbortSignal | undefined }): Promise<Reward>;
  /** What group criteria add to the episodes of a group; only where there are such criteria. */
  readonly scoreGroup?: NonNullable<EnvironmentFactory["scoreGroup"]>;
}

/**
 * A reward from weighted criteria: the sum of their scores times their weights. Throws `config.invalid` for criteria
 * without a name of their own, a weight that is not finite or a range that is not ordered.
 */
export function rubric<Context extends object>(criteria: readonly Criterion<Context>[]): Rubric<Context> {
  const resolved = criteria.map(resolve);
  checkNames(resolved);
  const answers: (AnswerCriterion<Context> & ResolvedCriterion)[] = [];
  const groups: (GroupCriterion & ResolvedCriterion)[] = [];
  for (const criterion of resolved) {
    if ("score" in criterion) answers.push(criterion);
    else groups.push(criterion);
  }
  const bounds = resolved.map(({ range: [low, high], weight }) => [low * weight + 0, high * weight + 0] as const);
  return {
    range: [sum(bounds.map(([a, b]) => Math.min(a, b))), sum(bounds.map(([a, b]) => Math.max(a, b)))],
    score: async (context) => {
      context.signal?.throwIfAborted();
      const scores = await Promise.all(answers.map((criterion) => judgeAnswer(criterion, context)));
      context.signal?.throwIfAborted();
      return compose(answers, scores);
    },
    ...(groups.length === 0
      ? {}
      : { scoreGroup: (episodes, options) => groupRewards({ criteria: groups, episodes, ...options }) }),
  };
}

function judgeAnswer<Context extends object>(
  criterion: AnswerCriterion<Context> & ResolvedCriterion,
  context: Context & { readonly signal?: AbortSignal | undefined },
): Promise<Judged> {
  return judge(criterion, {
    ask: (signal) => criterion.score({ ...context, signal }),
    ...(context.signal === undefined ? {} : { signal: context.signal }),
  });
}

function resolve<Context>(criterion: Criterion<Context>): Criterion<Context> & ResolvedCriterion {
  const { name, weight = 1, range = [0, 1], limitMs = 60_000 } = criterion;
  if (!Number.isFinite(weight)) throw invalid(`Criterion "${name}" has the weight ${weight}.`);
  if (!range.every(Number.isFinite) || range[0] > range[1]) {
    throw invalid(`Criterion "${name}" has the range [${range.join(", ")}].`);
  }
  if (!(limitMs > 0)) throw invalid(`Criterion "${name}" has a limit of ${limitMs} ms.`);
  return { ...criterion, name, weight, range, limitMs };
}

function checkNames(criteria: readonly ResolvedCriterion[]): void {
  if (criteria.length === 0) throw invalid("A rubric has no criteria.");
  const names = new Set<string>();
  for (const { name } of criteria) {
    if (names.has(name)) throw invalid(`Two criteria are called "${name}".`);
    names.add(name);
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

function invalid(message: string): LyceumError {
  return new LyceumError({
    code: "config.invalid",
    message,
    hint: "A criterion has a name of its own, a finite weight, a range in order and a limit above 0.",
  });
}
