import { writtenAt } from "../../contract/errors/function-location.ts";
import { type ErrorData, LyceumError, toErrorData } from "../../contract/errors/index.ts";
import { isOutsideError } from "../../contract/errors/outside-error.ts";
import { thrownAt } from "../../contract/errors/source-location.ts";
import { type Reward, scored, type UnscoredReward, unscored } from "../../contract/reward.ts";
import { boundedWait } from "../rollout/bounded-wait.ts";
import type { ResolvedCriterion } from "./criterion.ts";

/** A score as a criterion gave it, or why there is none. */
export type Judged = number | UnscoredReward | FailedScore;

/** A criterion that fails each time that it reads an answer: that is the answer's doing. */
export interface FailedScore {
  readonly status: "failed";
  readonly failure: ErrorData;
}

interface Question {
  readonly ask: (signal: AbortSignal) => number | UnscoredReward | Promise<number | UnscoredReward>;
  readonly signal?: AbortSignal;
}

/**
 * Asks a criterion within its limit. Never rejects. If it throws, or gives a score out of its range, it is asked once
 * more: the same again is a failure of the answer, and anything else leaves the score out. So does an error of something
 * outside, such as a server.
 */
export async function judge(
  criterion: ResolvedCriterion & { readonly score: object },
  question: Question,
): Promise<Judged> {
  const first = await judgeOnce(criterion, question);
  if (typeof first === "number" || first.failure === undefined) return answerOf(first);
  const second = await judgeOnce(criterion, question);
  if (typeof second === "number" || second.failure === undefined) return answerOf(second);
  return second.failure.message === first.failure.message
    ? { status: "failed", failure: second.failure }
    : answerOf(second);
}

/** A score; or the reward without one, with the failure if the answer may have caused it. */
export type Attempted = number | { readonly reward: UnscoredReward; readonly failure?: ErrorData };

function answerOf(attempted: Attempted): Judged {
  return typeof attempted === "number" ? attempted : attempted.reward;
}

async function judgeOnce(
  criterion: ResolvedCriterion & { readonly score: object },
  question: Question,
): Promise<Attempted> {
  const answer = await attempt(criterion, { ...question, written: criterion.score });
  return answer.status === "unscored" ? answer : checkedScore(criterion, answer.value, criterion.score);
}

/** A score within the range of a criterion, `written` by its author. What is no number at all is no answer's doing. */
export function checkedScore(
  criterion: ResolvedCriterion,
  value: number | UnscoredReward | undefined,
  written: object,
): Attempted {
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

/** A criterion that did not answer. */
export interface NoAnswer {
  readonly status: "unscored";
  readonly reward: UnscoredReward;
  readonly failure?: ErrorData;
}

/** What a criterion answers within its limit, unchecked; or why not, with the failure if what it read may be the cause. */
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
      ...(options.signal === undefined ? {} : { signal: options.signal }),
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

/** A score that is a number within the criterion's range, or why it is none. */
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
 * One reward from the scores of criteria in their order; unscored for the first that has none. One that the answer made
 * fail counts as the worst of its range.
 */
export function compose(criteria: readonly ResolvedCriterion[], scores: readonly Judged[]): Reward {
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
