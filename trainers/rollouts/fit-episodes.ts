import type { AgentId } from "../../src/contract/action.ts";
import type { Episode, TokenSequence } from "../../src/contract/episode.ts";
import { LyceumError } from "../../src/contract/errors/index.ts";
import { type TrainingEpisode, withSequences } from "../data/training-group.ts";

/** What happens to an episode that is too long for the model of one of its agents. */
export type OverlongPolicy = "error" | "truncate" | "drop";

/** The episodes that fit, and how many were cut or dropped. */
export interface FittedEpisodes {
  readonly episodes: readonly TrainingEpisode[];
  readonly truncated: number;
  readonly dropped: number;
}

/**
 * Makes all sequences of the episodes of a task fit their model. `truncate` cuts the beginning of a sequence and keeps
 * its end. An episode is dropped if nothing of a question is left before an answer, or if the cut makes it equal to
 * another episode of the task, so that there is no preference between them. `drop` removes the whole episode. `error`
 * throws `data.too-long` with the task's name. The model never reads the last token of a sequence, so `maxLength` + 1
 * tokens fit.
 */
export function fitEpisodes(
  episodes: readonly TrainingEpisode[],
  options: {
    readonly overlong: OverlongPolicy;
    /** Returns the largest number of tokens that an agent's model reads, or undefined if the agent is not trained. */
    readonly maxLength: (agent: AgentId) => number | undefined;
    /** Returns the number of tokens that follow the text of a question in every prompt of an agent. 0 by default. */
    readonly promptEnd?: (agent: AgentId) => number;
    /** The split of the tasks, for error messages. */
    readonly split: string;
  },
): FittedEpisodes {
  const { overlong, maxLength, promptEnd = () => 0, split } = options;
  const limitOf = (agent: AgentId): number => maxLength(agent) ?? Number.POSITIVE_INFINITY;
  const fitted: { readonly episode: TrainingEpisode; readonly isCut: boolean }[] = [];
  let dropped = 0;
  for (const episode of episodes) {
    let isLong = false;
    for (const agent of Object.keys(episode.agents)) {
      const limit = limitOf(agent);
      const longest = Math.max(0, ...episode.sequencesOf(agent).map(({ ids }) => ids.length)) - 1;
      if (longest > limit && overlong === "error") throw tooLong(episode, { agent, longest, limit, split });
      isLong ||= longest > limit;
    }
    if (isLong && overlong === "drop") {
      dropped += 1;
      continue;
    }
    const cut = (agent: AgentId): TokenSequence[] =>
      episode.sequencesOf(agent).map((sequence) => lastTokens(sequence, limitOf(agent) + 1));
    fitted.push({ episode: isLong ? withSequences(episode, cut) : episode, isCut: isLong });
  }
  const kept = fitted.filter(({ episode, isCut }) => {
    const lost = Object.keys(episode.agents).some((agent) =>
      episode.sequencesOf(agent).some(({ mask }) => !hasQuestion(mask, promptEnd(agent))),
    );
    const isSame = (other: (typeof fitted)[number]): boolean =>
      other.episode !== episode && (isCut || other.isCut) && haveEqualTokens(other.episode, episode);
    return !((isCut && lost) || fitted.some(isSame));
  });
  dropped += fitted.length - kept.length;
  return {
    episodes: kept.map(({ episode }) => episode),
    truncated: kept.filter(({ isCut }) => isCut).length,
    dropped,
  };
}

/** Returns true if a sequence has more unsampled tokens before its last answer than the end of a prompt. */
function hasQuestion(mask: TokenSequence["mask"], promptEnd: number): boolean {
  let unsampled = 0;
  for (const sampled of mask.slice(0, mask.lastIndexOf(1))) if (sampled === 0) unsampled += 1;
  return unsampled > promptEnd;
}

function haveEqualTokens(first: TrainingEpisode, second: TrainingEpisode): boolean {
  const idsOf = (episode: TrainingEpisode): string =>
    JSON.stringify(Object.keys(episode.agents).map((agent) => episode.sequencesOf(agent).map(({ ids }) => [...ids])));
  return idsOf(first) === idsOf(second);
}

/** Returns the last `kept` tokens of a sequence. */
function lastTokens(sequence: TokenSequence, kept: number): TokenSequence {
  const { ids, mask, logprobs, turns, supports, values } = sequence;
  const count = Math.max(0, ids.length - kept);
  return {
    ...sequence,
    ids: ids.slice(count),
    mask: mask.slice(count),
    logprobs: logprobs.slice(count),
    turns: turns.slice(count),
    ...(supports === undefined ? {} : { supports: supports.slice(count) }),
    ...(values === undefined ? {} : { values: values.slice(count) }),
  };
}

function tooLong(
  { task }: Episode,
  options: { readonly agent: string; readonly longest: number; readonly limit: number; readonly split: string },
): LyceumError {
  const { agent, longest, limit, split } = options;
  return new LyceumError({
    code: "data.too-long",
    message: `The row ${task.id} (number ${task.index + 1} of the split ${split}) is too long for agent "${agent}": the model would have to read ${longest} tokens, but it reads at most ${limit}.`,
    hint: "Set data.overlong to truncate (keep the end) or drop, shorten the row, or use a model with a larger context.",
    data: { task: task.id, index: task.index, agent, tokens: longest, limit },
  });
}
