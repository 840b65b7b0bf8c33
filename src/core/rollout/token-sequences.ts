import type { AgentId } from "../../contract/action.ts";
import type { AgentEpisode, Episode, MessageNode, TokenSequence } from "../../contract/episode.ts";
import type { TokenSupport } from "../../contract/token-support.ts";

/**
 * Returns the token sequences of an episode in order, of all agents or of one. A sequence begins at the first node,
 * after a `replace`, and if the template could not extend the previous tokens. The ids are those of the trace: nothing
 * is encoded again. Skips sequences without a sampled token.
 */
export function tokenSequences(episode: Episode, agent?: AgentId): TokenSequence[] {
  return Object.entries(episode.agents)
    .filter(([name]) => agent === undefined || name === agent)
    .flatMap(([name, record]) => agentSequences(name, record));
}

function agentSequences(agent: AgentId, record: AgentEpisode): TokenSequence[] {
  const runs: MessageNode[][] = [];
  for (const node of record.nodes) {
    if (node.tokens === undefined) continue;
    if (node.tokens.startsSequence || runs.length === 0) runs.push([]);
    runs.at(-1)!.push(node);
  }
  const cutOff = record.turns.some(({ finish }) => finish === "length");
  return runs
    .filter((nodes) => nodes.some(isSampled))
    .map((nodes) => ({ ...sequence(agent, nodes), ...(cutOff ? { cutOff } : {}) }));
}

/**
 * Returns the token sequence of the last of an agent's nodes: the whole prompt and the completion. `mask` is 1 for the
 * completion only. Returns undefined if the node has no sampled token.
 */
export function completionSequence(agent: AgentId, nodes: readonly MessageNode[]): TokenSequence | undefined {
  const last = nodes.at(-1);
  if (last === undefined || !isSampled(last)) return undefined;
  const start = nodes.findLastIndex(({ tokens }) => tokens?.startsSequence);
  const context = nodes.slice(Math.max(start, 0), -1).filter(({ tokens }) => tokens !== undefined);
  return sequence(agent, [...context.map(seen), last]);
}

/** The node as part of the prompt of a later completion. */
function seen(node: MessageNode): MessageNode {
  return { ...node, tokens: { ids: node.tokens!.ids, mask: 0, startsSequence: node.tokens!.startsSequence } };
}

function sequence(agent: AgentId, nodes: readonly MessageNode[]): TokenSequence {
  const ids: number[] = [];
  const mask: (0 | 1)[] = [];
  const logprobs: number[] = [];
  const supports: TokenSupport[] = [];
  const turns: number[] = [];
  let weightsVersion = Infinity;
  for (const { turn, tokens } of nodes) {
    for (const [index, id] of tokens!.ids.entries()) {
      ids.push(id);
      mask.push(tokens!.mask);
      logprobs.push(tokens!.logprobs?.[index] ?? 0);
      supports.push(tokens!.supports?.[index] ?? null);
      turns.push(turn);
    }
    weightsVersion = Math.min(weightsVersion, tokens!.weightsVersion ?? Infinity);
  }
  const values = nodes.every((node) => !isSampled(node) || node.tokens!.values !== undefined)
    ? valuesAfter(nodes)
    : undefined;
  const temperature = nodes.find(isSampled)!.tokens!.temperature ?? 1;
  return {
    agent,
    ids,
    mask,
    logprobs,
    ...(supports.every((support) => support === null) ? {} : { supports }),
    ...(nodes.some(({ tokens }) => tokens?.lacksSupports) ? { lacksSupports: true } : {}),
    ...(values === undefined ? {} : { values }),
    turns,
    temperature,
    weightsVersion: Number.isFinite(weightsVersion) ? weightsVersion : 0,
  };
}

/** The values after each id. The first value of a completion belongs to the state after the id before it. */
function valuesAfter(nodes: readonly MessageNode[]): number[] {
  const after: number[] = [];
  for (const { tokens } of nodes) {
    const { ids, values } = tokens!;
    if (values !== undefined && after.length > 0) after[after.length - 1] = values[0]!;
    for (const index of ids.keys()) after.push(values?.[index + 1] ?? 0);
  }
  return after;
}

function isSampled({ tokens }: MessageNode): boolean {
  return tokens?.mask === 1 && tokens.ids.length > 0;
}
