import { writtenAt } from "../../contract/errors/function-location.ts";
import { type ErrorData, LyceumError, toErrorData } from "../../contract/errors/index.ts";
import { isOutsideError } from "../../contract/errors/outside-error.ts";
import { thrownAt } from "../../contract/errors/source-location.ts";
import { type Reward, scored, type UnscoredReward, unscored } from "../../contract/reward.ts";
import { boundedWait } from "../rollout/bounded-wait.ts";
import type { ResolvedCriterion } from "./criterion.ts";

/** The score of a criterion, or the reason why there is none. */
export type CriterionScore = number | UnscoredReward | FailedScore;

/** A failure of a criterion that the answer causes in each attempt. */
export interface FailedScore {
  readonly status: "failed";
  readonly failure: ErrorData;
}

interface Question {
  readonly ask: (signal: AbortSignal) => number | UnscoredReward | Promise<number | UnscoredReward>;
  readonly signal?: AbortSignal;
}

/**
 * Scores an answer by a criterion within its timeout. Never rejects. If the criterion throws or returns a score out of
 * range, it is called once more. A score of the second call is the result. If the same failure repeats, the answer is
 * its cause. With any other failure, or with an external error such as that of a server, the answer is unscored.
 */
export async function scoreAnswer(
  criterion: ResolvedCriterion & { readonly score: object },
  question: Question,
): Promise<CriterionScore> {
  const first = await scoreOnce(criterion, question);
  if (typeof first === "number" || first.failure === undefined) return answerOf(first);
  const second = await scoreOnce(criterion, question);
  if (typeof second === "number" || second.failure === undefined) return answerOf(second);
  return second.failure.message === first.failure.message
    ? { status: "failed", failure: second.failure }
    : answerOf(second);
}

/** A score, or an unscored reward with the failure that the answer may have caused. */
export type ScoreAttempt = number | { readonly reward: UnscoredReward; readonly failure?: ErrorData };

function answerOf(attempted: ScoreAttempt): CriterionScore {
  return typeof attempted === "number" ? attempted : attempted.reward;
}

async function scoreOnce(
  criterion: ResolvedCriterion & { readonly score: object },
  question: Question,
): Promise<ScoreAttempt> {
  const answer = await attempt(criterion, { ...question, written: criterion.score });
  return answer.status === "unscored" ? answer : checkedScore(criterion, answer.value, criterion.score);
}

/**
 * Checks that a score is within the range of a criterion. `written` is the author's function, for the location in
 * errors. A value that is not a number has no failure, because the answer cannot be its cause.
 */
export function checkedScore(
  criterion: ResolvedCriterion,
  value: number | UnscoredReward | undefined,
  written: object,
): ScoreAttempt {
  const score = checkScore(criterion, value);
  if (typeof score === "number") return score;
  if (typeof value !== "number") return { reward: score };
  return { reward: score, failure: failureAt(score.reason, writtenAt(written)) };
}

function failureAt(reason: string, location: string | undefined): ErrorData {
  return new LyceumError({
    code: "environment.failed",
    message: location === undefined ? reason : `${reason} (${location})`,
    ...(location === undefined ? {} : { data: { location } }),
  }).toData();
}

/** The result of a criterion that did not return a value. */
export interface NoAnswer {
  readonly status: "unscored";
  readonly reward: UnscoredReward;
  readonly failure?: ErrorData;
}

/**
 * Calls a criterion within its timeout. Returns its value without checks, or the reason why there is none, with the
 * failure if the criterion's input may be the cause.
 */
export async function attempt<T>(
  { name, limitMs }: ResolvedCriterion,
  options: {
    readonly ask: (signal: AbortSignal) => T | Promise<T>;
    readonly signal?: AbortSignal;
    /** The author's function. */
    readonly written: object;
  },
): Promise<{ readonly status: "answered"; readonly value: T } | NoAnswer> {
  const stop = new AbortController();
  const signal = options.signal === undefined ? stop.signal : AbortSignal.any([stop.signal, options.signal]);
  try {
    const asked = (async () => options.ask(signal))();
    const value = await boundedWait(asked, {
      ms: limitMs,
      timeout: () => new LyceumError({ code: "timeout", message: `It took more than ${limitMs} ms.` }),
      signal: options.signal,
    });
    return { status: "answered", value };
  } catch (error) {
    const data = toErrorData(error, "environment.failed");
    const reward = unscored(`Criterion "${name}" failed: ${data.message}`, data);
    if (isOutsideError(error)) return { status: "unscored", reward };
    const location = thrownAt(error) ?? writtenAt(options.written);
    return { status: "unscored", reward, failure: failureAt(reward.reason, location) };
  } finally {
    stop.abort();
  }
}

/** Returns a score within the criterion's range, or an unscored reward with the reason. */
function checkScore(
  { name, range: [low, high] }: ResolvedCriterion,
  score: number | UnscoredReward | undefined,
): number | UnscoredReward {
  if (typeof score === "number") {
    if (score >= low && score <= high) return score;
    return unscored(`Criterion "${name}" gave ${score}, which is not in [${low}, ${high}].`);
  }
  if (score?.status === "unscored") return { ...score, reason: `Criterion "${name}": ${score.reason}` };
  return unscored(`Criterion "${name}" gave no number.`);
}

/**
 * Combines the scores of criteria, in the order of `criteria`, to one reward. The reward is unscored if a score is. The
 * score of a criterion that the answer made fail is the worst of its range.
 */
export function compose(criteria: readonly ResolvedCriterion[], scores: readonly CriterionScore[]): Reward {
  const components: [name: string, value: number][] = [];
  let total = 0;
  let failure: ErrorData | undefined;
  for (const [index, { name, weight, range }] of criteria.entries()) {
    const judged = scores[index]!;
    if (typeof judged !== "number" && judged.status === "unscored") return judged;
    if (typeof judged !== "number") failure ??= judged.failure;
    const score = typeof judged === "number" ? judged : weight < 0 ? range[1] : range[0];
    const part = score * weight + 0;
    components.push([name, part]);
    total += part;
  }
  return { ...scored(total, Object.fromEntries(components)), ...(failure === undefined ? {} : { failure }) };
}
