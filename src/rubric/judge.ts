import { type Reward, scored, type UnscoredReward, unscored } from "../environment/reward.ts";
import { LyceumError, toErrorData } from "../errors/index.ts";
import { boundedWait } from "../rollout/bounded-wait.ts";
import type { ResolvedCriterion } from "./criterion.ts";

/** A score as a criterion gave it, or why there is none. */
export type Judged = number | UnscoredReward;

/** Asks a criterion within its limit. Never rejects: what goes wrong leaves the score out. */
export async function judge(
  criterion: ResolvedCriterion,
  options: { readonly ask: (signal: AbortSignal) => Judged | Promise<Judged>; readonly signal?: AbortSignal },
): Promise<Judged> {
  const answer = await attempt(criterion, options);
  return answer.status === "unscored" ? answer : checkScore(criterion, answer.value);
}

/** What a criterion answers within its limit, unchecked. Never rejects. */
export async function attempt<T>(
  { name, limitMs }: ResolvedCriterion,
  options: { readonly ask: (signal: AbortSignal) => T | Promise<T>; readonly signal?: AbortSignal },
): Promise<{ readonly status: "answered"; readonly value: T } | UnscoredReward> {
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
    return unscored(`Criterion "${name}" failed: ${data.message}`, data);
  } finally {
    stop.abort();
  }
}

/** A score that is a number within the criterion's range, or why it is none. */
export function checkScore({ name, range: [low, high] }: ResolvedCriterion, score: Judged | undefined): Judged {
  if (typeof score === "number") {
    if (score >= low && score <= high) return score;
    return unscored(`Criterion "${name}" gave ${score}, which is not in [${low}, ${high}].`);
  }
  if (score?.status === "unscored") return { ...score, reason: `Criterion "${name}": ${score.reason}` };
  return unscored(`Criterion "${name}" gave no number.`);
}

/** One reward from the scores of criteria in their order; unscored for the first that has none. */
export function compose(criteria: readonly ResolvedCriterion[], scores: readonly Judged[]): Reward {
  const components: [name: string, value: number][] = [];
  let total = 0;
  for (const [index, { name, weight }] of criteria.entries()) {
    const score = scores[index]!;
    if (typeof score !== "number") return score;
    const part = score * weight + 0;
    components.push([name, part]);
    total += part;
  }
  return scored(total, Object.fromEntries(components));
}
