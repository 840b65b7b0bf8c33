import type { AgentId } from "../../src/contract/action.ts";
import type { AgentEpisode, Episode, MessageNode, NodeTokens } from "../../src/contract/episode.ts";
import { LyceumError } from "../../src/contract/errors/index.ts";

/** What is done with an episode that is longer than the model of one of its agents takes. */
export type Overlong = "error" | "truncate" | "drop";

/** The episodes that fit, and how many were changed or left out. */
export interface FittedEpisodes {
  readonly episodes: readonly Episode[];
  readonly truncated: number;
  readonly dropped: number;
}

/**
 * Episodes whose every sequence a model can read: `truncate` cuts the beginning off a longer one and keeps its end,
 * `drop` leaves the whole episode out. The model never reads the last token of a sequence, so that one token more than
 * `maxLength` fits. Throws `data.too-long`, naming the task, for `error`.
 */
export function fitEpisodes(
  episodes: readonly Episode[],
  options: {
    readonly overlong: Overlong;
    /** The most tokens that the model of an agent reads; undefined for an agent that is not trained. */
    readonly maxLength: (agent: AgentId) => number | undefined;
    /** The split that the tasks are of, for messages. */
    readonly split: string;
  },
): FittedEpisodes {
  const { overlong, maxLength, split } = options;
  const fitted: Episode[] = [];
  let truncated = 0;
  let dropped = 0;
  for (const episode of episodes) {
    const agents: Record<AgentId, AgentEpisode> = {};
    let isLong = false;
    for (const [agent, record] of Object.entries(episode.agents)) {
      const limit = maxLength(agent) ?? Number.POSITIVE_INFINITY;
      const longest = Math.max(0, ...sequencesOf(record).map(lengthOf)) - 1;
      if (longest > limit && overlong === "error") throw tooLong(episode, { agent, longest, limit, split });
      isLong ||= longest > limit;
      agents[agent] = longest > limit ? cut(record, limit + 1) : record;
    }
    if (isLong && overlong === "drop") {
      dropped += 1;
      continue;
    }
    if (isLong) truncated += 1;
    fitted.push(isLong ? { ...episode, agents } : episode);
  }
  return { episodes: fitted, truncated, dropped };
}

/** The nodes with tokens of each sequence. */
function sequencesOf({ nodes }: AgentEpisode): MessageNode[][] {
  const sequences: MessageNode[][] = [];
  for (const node of nodes) {
    if (node.tokens === undefined) continue;
    if (node.tokens.startsSequence || sequences.length === 0) sequences.push([]);
    sequences.at(-1)!.push(node);
  }
  return sequences;
}

function lengthOf(nodes: readonly MessageNode[]): number {
  return nodes.reduce((sum, { tokens }) => sum + tokens!.ids.length, 0);
}

/** The record with the last `kept` tokens of each sequence. */
function cut(record: AgentEpisode, kept: number): AgentEpisode {
  const shortened = new Map<number, NodeTokens>();
  for (const nodes of sequencesOf(record)) {
    let excess = lengthOf(nodes) - kept;
    for (const { id, tokens } of nodes) {
      if (excess <= 0) break;
      const count = Math.min(excess, tokens!.ids.length);
      shortened.set(id, withoutFirst(tokens!, count));
      excess -= count;
    }
  }
  return {
    ...record,
    nodes: record.nodes.map((node) => (shortened.has(node.id) ? { ...node, tokens: shortened.get(node.id)! } : node)),
  };
}

function withoutFirst(tokens: NodeTokens, count: number): NodeTokens {
  const { ids, logprobs, supports, values } = tokens;
  return {
    ...tokens,
    ids: ids.slice(count),
    ...(logprobs === undefined ? {} : { logprobs: logprobs.slice(count) }),
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
    message: `The row ${task.id} (number ${task.index + 1} of the split ${split}) is too long for agent "${agent}": the model would read ${longest} tokens, and takes ${limit}.`,
    hint: "Set data.overlong to truncate (keep the end) or drop, shorten the row, or take a model of a greater length.",
    data: { task: task.id, index: task.index, agent, tokens: longest, limit },
  });
}
