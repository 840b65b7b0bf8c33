import type { AgentId } from "../../src/contract/action.ts";
import type { Episode, TokenSequence } from "../../src/contract/episode.ts";
import { LyceumError } from "../../src/contract/errors/index.ts";
import { type TrainingEpisode, withSequences } from "./training-group.ts";

/** What happens to an episode that is too long for the model of one of its agents. */
export type OverlongPolicy = "error" | "truncate" | "drop";

/** The episodes that fit, and how many were cut or dropped. */
export interface FittedEpisodes {
  readonly episodes: readonly TrainingEpisode[];
  readonly truncated: number;
  readonly dropped: number;
}

/**
 * Makes all sequences of the episodes fit their model. `truncate` cuts the beginning of a sequence and keeps its end.
 * `drop` removes the whole episode. `error` throws `data.too-long` with the task's name. The model never reads the last
 * token of a sequence, so `maxLength` + 1 tokens fit.
 */
export function fitEpisodes(
  episodes: readonly TrainingEpisode[],
  options: {
    readonly overlong: OverlongPolicy;
    /** Returns the largest number of tokens that an agent's model reads, or undefined if the agent is not trained. */
    readonly maxLength: (agent: AgentId) => number | undefined;
    /** The split of the tasks, for error messages. */
    readonly split: string;
  },
): FittedEpisodes {
  const { overlong, maxLength, split } = options;
  const limitOf = (agent: AgentId): number => maxLength(agent) ?? Number.POSITIVE_INFINITY;
  const fitted: TrainingEpisode[] = [];
  let truncated = 0;
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
    if (isLong) truncated += 1;
    const cut = (agent: AgentId): TokenSequence[] =>
      episode.sequencesOf(agent).map((sequence) => lastTokens(sequence, limitOf(agent) + 1));
    fitted.push(isLong ? withSequences(episode, cut) : episode);
  }
  return { episodes: fitted, truncated, dropped };
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
