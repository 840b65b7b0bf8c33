import type { Episode } from "../../contract/episode.ts";
import { type UnscoredReward, unscored } from "../../contract/reward.ts";
import { isSameFailure } from "../rollout/failure-cause.ts";
import type { GroupCriterion, GroupScores, ResolvedCriterion } from "./criterion.ts";
import { attempt, type FailedScore, type NoAnswer } from "./score-answer.ts";

/** The scores of a criterion for one episode, one per attempt, or the reason why there are none. */
export type EpisodeScores = { readonly given: readonly GroupScores[number][] } | UnscoredReward | FailedScore;

type Criterion = GroupCriterion & ResolvedCriterion;
type Answer = { readonly status: "answered"; readonly value: GroupScores } | NoAnswer;

/**
 * Scores the episodes of a group by a criterion. Never rejects. If the criterion throws twice at the same place, it
 * scores each episode alone. The episodes for which it throws there again are the cause, and it then scores the other
 * ones together. If no episode or all episodes are the cause, all of them fail. If a score is out of range, the
 * criterion is called once more.
 */
export async function scoreGroup(
  criterion: Criterion,
  episodes: readonly Episode[],
  signal: AbortSignal | undefined,
): Promise<readonly EpisodeScores[]> {
  const ask = (group: readonly Episode[]): Promise<Answer> => askOnce(criterion, group, signal);
  const first = await ask(episodes);
  if (first.status === "unscored" && first.failure === undefined) return all(episodes, first.reward);
  if (first.status === "answered" && isWithinRange(criterion, first.value)) return given(first.value);
  const second = await ask(episodes);
  if (second.status === "answered") return given(...(first.status === "answered" ? [first.value] : []), second.value);
  if (first.status === "answered" || !isSame(first, second)) return all(episodes, second.reward);
  const failed: FailedScore = { status: "failed", failure: second.failure! };
  const alone = await Promise.all(episodes.map((episode) => ask([episode])));
  const others = episodes.filter((_, index) => !isSame(first, alone[index]!));
  if (others.length === 0 || others.length === episodes.length) return all(episodes, failed);
  const rest = await ask(others);
  const scores =
    rest.status === "answered" ? given(rest.value) : all(others, rest.failure === undefined ? rest.reward : failed);
  return episodes.map((episode) => (others.includes(episode) ? scores[others.indexOf(episode)]! : failed));
}

/** Calls the criterion once. Returns one score per episode, or the reason why there are none. */
async function askOnce(
  criterion: Criterion,
  group: readonly Episode[],
  signal: AbortSignal | undefined,
): Promise<Answer> {
  const answer = await attempt(criterion, {
    ask: (stop) => criterion.scoreGroup(group, { signal: stop }),
    written: criterion.scoreGroup,
    signal,
  });
  if (answer.status === "unscored") return answer;
  if (Array.isArray(answer.value) && answer.value.length === group.length) return answer;
  const reason = `Criterion "${criterion.name}" did not give one score for each of ${group.length} episodes.`;
  return { status: "unscored", reward: unscored(reason) };
}

function isSame(first: Answer, second: Answer): boolean {
  if (first.status === "answered" || second.status === "answered") return false;
  return first.failure !== undefined && second.failure !== undefined && isSameFailure(first.failure, second.failure);
}

/** True if all numbers are within the range. */
function isWithinRange({ range: [low, high] }: Criterion, scores: GroupScores): boolean {
  const numbers = scores.flatMap((score) =>
    typeof score === "object" && score !== null ? Object.values(score) : [score],
  );
  return numbers.every((number) => typeof number !== "number" || (number >= low && number <= high));
}

function all(episodes: readonly Episode[], scores: UnscoredReward | FailedScore): readonly EpisodeScores[] {
  return episodes.map(() => scores);
}

/** Converts the scores of several attempts to the scores of each episode. */
function given(...times: readonly GroupScores[]): readonly EpisodeScores[] {
  return times[0]!.map((_, index) => ({ given: times.map((scores) => scores[index]!) }));
}
