import type { EnvironmentFactory } from "../../contract/environment.ts";
import { LyceumError } from "../../contract/errors/index.ts";
import type { Reward } from "../../contract/reward.ts";
import { isJudge, type JudgeListing } from "../judge/judge.ts";
import { sum } from "../statistics.ts";
import type { AnswerCriterion, Criterion, GroupCriterion, ResolvedCriterion } from "./criterion.ts";
import { groupRewards } from "./group-rewards.ts";
import { type CriterionScore, compose, scoreAnswer } from "./score-answer.ts";

/** A reward that combines several criteria. */
export interface Rubric<Context> {
  /** The range of the whole reward, including group criteria. Use it as `rewardRange`. */
  readonly range: readonly [minimum: number, maximum: number];
  /** The judges among the criteria. Absent if there are none. */
  readonly judges?: readonly JudgeListing[];
  /**
   * Scores an answer by all criteria concurrently. The reward has one component per criterion. It is unscored if a
   * criterion times out, has an external error or is unscored itself. If a criterion throws or leaves its range twice
   * for the same answer, its score is the worst of its range and the reward has a `failure`. Rejects only if `signal`
   * aborts.
   */
  score(context: Context & { readonly signal?: AbortSignal | undefined }): Promise<Reward>;
  /** Returns the rewards of group criteria. Present only if there are such criteria. */
  readonly scoreGroup?: NonNullable<EnvironmentFactory["scoreGroup"]>;
}

/**
 * Creates a rubric. Its reward is the sum of the criteria's scores times their weights. Throws `config.invalid` if
 * there are no criteria, two of them have the same name, a weight is not finite, a range is invalid or a limit is not
 * positive.
 *
 * @example
 * import { rubric } from "lyceum";
 * const reward = rubric<{ readonly text: string }>([
 *   { name: "polite", score: ({ text }) => (text.includes("please") ? 1 : 0), weight: 0.2 },
 *   { name: "brief", score: ({ text }) => (text.length < 40 ? 1 : 0) },
 * ]);
 * await reward.score({ text: "Tea, please." }); // => { status: "scored", value: 1.2, components: { polite: 0.2, brief: 1 } }
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
  const judges = resolved.filter(isJudge);
  const bounds = resolved.map(({ range: [low, high], weight }) => [low * weight + 0, high * weight + 0] as const);
  return {
    range: [sum(bounds.map(([a, b]) => Math.min(a, b))), sum(bounds.map(([a, b]) => Math.max(a, b)))],
    ...(judges.length === 0 ? {} : { judges }),
    score: async (context) => {
      context.signal?.throwIfAborted();
      const scores = await Promise.all(answers.map((criterion) => answerScore(criterion, context)));
      context.signal?.throwIfAborted();
      return compose(answers, scores);
    },
    ...(groups.length === 0
      ? {}
      : { scoreGroup: (episodes, options) => groupRewards({ criteria: groups, episodes, ...options }) }),
  };
}

function answerScore<Context extends object>(
  criterion: AnswerCriterion<Context> & ResolvedCriterion,
  context: Context & { readonly signal?: AbortSignal | undefined },
): Promise<CriterionScore> {
  return scoreAnswer(criterion, {
    ask: (signal) => criterion.score({ ...context, signal }),
    signal: context.signal,
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
    if (names.has(name)) throw invalid(`Two criteria have the name "${name}".`);
    names.add(name);
  }
}

function invalid(message: string): LyceumError {
  return new LyceumError({
    code: "config.invalid",
    message,
    hint: "A criterion needs a unique name, a finite weight, a finite range in order and a limit above 0.",
  });
}
