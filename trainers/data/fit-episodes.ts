import type { AgentId } from "../../src/contract/action.ts";
import type { AgentEpisode, Episode, MessageNode, NodeTokens } from "../../src/contract/episode.ts";
import { LyceumError } from "../../src/contract/errors/index.ts";

/** What happens to an episode that is too long for the model of one of its agents. */
export type OverlongPolicy = "error" | "truncate" | "drop";

/** The episodes that fit, and how many were cut or dropped. */
export interface FittedEpisodes {
  readonly episodes: readonly Episode[];
  readonly truncated: number;
  readonly dropped: number;
}

/**
 * Makes all sequences of the episodes fit their model. `truncate` cuts the beginning of a sequence and keeps its end.
 * `drop` removes the whole episode. `error` throws `data.too-long` with the task's name. The model never reads the last
 * token of a sequence, so `maxLength` + 1 tokens fit.
 */
export function fitEpisodes(
  episodes: readonly Episode[],
  options: {
    readonly overlong: OverlongPolicy;
    /** Returns the largest number of tokens that an agent's model reads, or undefined if the agent is not trained. */
    readonly maxLength: (agent: AgentId) => number | undefined;
    /** The split of the tasks, for error messages. */
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
      agents[agent] = longest > limit ? withLastTokens(record, limit + 1) : record;
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

/** Returns the nodes with tokens of each sequence. */
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

/** Returns the record with only the last `kept` tokens of each sequence. */
function withLastTokens(record: AgentEpisode, kept: number): AgentEpisode {
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
    message: `The row ${task.id} (number ${task.index + 1} of the split ${split}) is too long for agent "${agent}": the model would have to read ${longest} tokens, but it reads at most ${limit}.`,
    hint: "Set data.overlong to truncate (keep the end) or drop, shorten the row, or use a model with a larger context.",
    data: { task: task.id, index: task.index, agent, tokens: longest, limit },
  });
}
