import type { AgentId } from "../../contract/action.ts";
import type { AgentEpisode, Episode } from "../../contract/episode.ts";
import type { ErrorCode } from "../../contract/errors/index.ts";
import type { TracePlace } from "./trace-writer.ts";

/** A line of a trace's index: an episode in short, and where all of it is. It follows from the episode alone. */
export interface TraceEntry {
  /** Bytes before its line in the trace. */
  readonly offset: number;
  /** Bytes of its line, with the newline. A line beyond the end of the trace is not written yet. */
  readonly length: number;
  readonly id: string;
  readonly task: Episode["task"];
  /** Which sample of its task, from 0. */
  readonly member: number;
  readonly status: Episode["status"];
  readonly limit?: Episode["limit"];
  readonly error?: { readonly code: ErrorCode; readonly message: string };
  readonly agents: Readonly<Record<AgentId, AgentEntry>>;
  readonly turns: number;
  readonly durationMs: number;
}

/** An agent's part of an episode in short. */
export interface AgentEntry {
  /** The total reward; null where it is unscored, and `reason` says why. */
  readonly reward: number | null;
  readonly components?: Readonly<Record<string, number>>;
  readonly reason?: string;
  readonly actions: number;
  /** How its last action ended. */
  readonly finish?: string;
  /** Tokens over its actions, where the policy tells; all that the model read, each time it read it. */
  readonly promptTokens?: number;
  readonly completionTokens?: number;
  /** Sum over its actions, where the policy tells. */
  readonly latencyMs?: number;
  readonly retries?: number;
}

/** The entry of an episode that stands at `place` of its trace. */
export function traceEntry(episode: Episode, { offset, length }: TracePlace): TraceEntry {
  const { id, task, member, status, limit, error, agents, turns, durationMs } = episode;
  return {
    offset,
    length,
    id,
    task,
    member,
    status,
    ...(limit === undefined ? {} : { limit }),
    ...(error === undefined ? {} : { error: { code: error.code, message: error.message } }),
    agents: Object.fromEntries(Object.entries(agents).map(([agent, record]) => [agent, agentEntry(record)])),
    turns,
    durationMs,
  };
}

function agentEntry({ reward, turns, nodes }: AgentEpisode): AgentEntry {
  const finish = turns.at(-1)?.finish;
  const told = {
    ...tokenCounts({ turns, nodes }),
    ...sumOf("latencyMs", turns),
    ...sumOf("retries", turns),
  };
  return {
    ...(reward.status === "scored"
      ? { reward: reward.value, components: reward.components }
      : { reward: null, reason: reward.reason }),
    actions: turns.length,
    ...(finish === undefined ? {} : { finish }),
    ...told,
  };
}

function tokenCounts({ turns, nodes }: Pick<AgentEpisode, "turns" | "nodes">): Partial<AgentEntry> {
  let promptTokens = 0;
  let completionTokens = 0;
  for (const { usage, node } of turns) {
    const sampled = nodes[node]?.tokens?.ids.length;
    if (usage === undefined && sampled === undefined) return {};
    promptTokens += usage?.promptTokens ?? 0;
    completionTokens += usage?.completionTokens ?? sampled!;
  }
  return turns.length === 0 ? {} : { promptTokens, completionTokens };
}

function sumOf(key: "latencyMs" | "retries", turns: AgentEpisode["turns"]): Partial<AgentEntry> {
  const told = turns.flatMap((turn) => turn[key] ?? []);
  return told.length === 0 ? {} : { [key]: told.reduce((total, value) => total + value, 0) };
}
