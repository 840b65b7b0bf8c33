import type { AgentId } from "../../src/contract/action.ts";
import type { AgentEpisode, Episode, TokenSequence } from "../../src/contract/episode.ts";
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
 * its end. An answer is not learnt if nothing of its question is left: its mask becomes 0. An episode is dropped if a
 * sequence has no learnt answer left, or if the cut makes it equal to another episode of the task, so that there is no
 * preference between them. `drop` removes the whole episode. `error` throws `data.too-long` with the task's name. The
 * model never reads the last token of a sequence, so `maxLength` + 1 tokens fit.
 */
export function fitEpisodes(
  episodes: readonly TrainingEpisode[],
  options: {
    readonly overlong: OverlongPolicy;
    /** Returns the largest number of tokens that an agent's model reads, or undefined if the agent is not trained. */
    readonly maxLength: (agent: AgentId) => number | undefined;
    /** Returns the number of tokens that follow the text of a question in every prompt of an agent. 0 by default. */
    readonly promptEnd?: (agent: AgentId, record: AgentEpisode) => number;
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
      episode.sequencesOf(agent).map((sequence) => {
        const kept = lastTokens(sequence, limitOf(agent) + 1);
        if (kept.ids.length === sequence.ids.length) return sequence;
        const record = episode.agents[agent]!;
        return answeringOnly(kept, { whole: sequence, record, promptEnd: promptEnd(agent, record) });
      });
    fitted.push({ episode: isLong ? withSequences(episode, cut) : episode, isCut: isLong });
  }
  const kept = fitted.filter(({ episode, isCut }) => {
    const lost = Object.keys(episode.agents).some((agent) =>
      episode.sequencesOf(agent).some(({ mask }) => !mask.includes(1)),
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

/**
 * Returns a cut sequence in which only answers are learnt whose question is left, at least in part. A question is the
 * last user message before the answer: after results of tools, that of an earlier turn. The tokens of an observation do
 * not tell its messages apart, so an observation that continues after its question must be whole.
 */
function answeringOnly(
  cut: TokenSequence,
  options: { readonly whole: TokenSequence; readonly record: AgentEpisode; readonly promptEnd: number },
): TokenSequence {
  const { whole, record, promptEnd } = options;
  const promptTokens = ({ mask, turns }: TokenSequence, turn: number): number =>
    mask.filter((sampled, i) => sampled === 0 && turns[i] === turn).length;
  const isAnswered = (turn: number): boolean => {
    const roles = record.nodes.flatMap(({ id, turn: own, message }) =>
      own === turn && record.turns.every(({ node }) => node !== id) ? [message.role] : [],
    );
    const asks = roles.some((role) => role !== "tool" && role !== "assistant");
    if (!asks && turn > whole.turns[0]!) return isAnswered(turn - 1);
    const left = promptTokens(cut, turn);
    const endsWithQuestion = asks && roles.at(-1) !== "tool" && roles.at(-1) !== "assistant";
    return endsWithQuestion ? left > promptEnd : left === promptTokens(whole, turn);
  };
  const answered = new Map([...new Set(cut.turns)].map((turn) => [turn, isAnswered(turn)]));
  const isLearnt = (index: number): boolean => answered.get(cut.turns[index]!)!;
  return {
    ...cut,
    mask: cut.mask.map((sampled, i) => (isLearnt(i) ? sampled : 0)),
    logprobs: cut.logprobs.map((logprob, i) => (isLearnt(i) ? logprob : 0)),
  };
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
