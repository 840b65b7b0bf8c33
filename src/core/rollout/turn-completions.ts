import type { AgentEpisode, AgentTurn, NodeTokens } from "../../contract/episode.ts";
import { sum } from "../statistics.ts";

/** One completion of a model: an action, or one of the model calls that led to it. */
export interface TurnCompletion {
  readonly finish: AgentTurn["finish"];
  /** The sampled tokens. Absent if the policy has no access to tokens. */
  readonly tokens?: NodeTokens;
}

/** Returns the completions of a turn: those of its model calls, or its action if it has none. */
export function completionsOf(
  { nodes }: Pick<AgentEpisode, "nodes">,
  { node, finish, calls }: AgentTurn,
): readonly TurnCompletion[] {
  if (calls === undefined) return [completion(finish, nodes[node]?.tokens)];
  return calls.map((call) => completion(call.finish, call.completion));
}

/** Returns the number of sampled tokens of a turn. Undefined if none of its completions has tokens. */
export function sampledTokens(record: Pick<AgentEpisode, "nodes">, turn: AgentTurn): number | undefined {
  const lengths = completionsOf(record, turn).flatMap(({ tokens }) => tokens?.ids.length ?? []);
  return lengths.length === 0 ? undefined : sum(lengths);
}

function completion(finish: AgentTurn["finish"], tokens: NodeTokens | undefined): TurnCompletion {
  return tokens === undefined ? { finish } : { finish, tokens };
}
