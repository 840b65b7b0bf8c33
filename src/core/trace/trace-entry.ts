import type { AgentId } from "../../contract/action.ts";
import type { AgentEpisode, Episode } from "../../contract/episode.ts";
import type { ErrorCode } from "../../contract/errors/index.ts";
import type { JudgeUsage } from "../../contract/judge.ts";
import { isReasoningOnly } from "../rollout/reasoning-only.ts";
import { sampledTokens } from "../rollout/turn-completions.ts";
import { sum } from "../statistics.ts";
import type { TracePosition } from "./trace-writer.ts";

/** A line of a trace's index: a summary of an episode, and its place. It is computed from the episode alone. */
export interface TraceEntry {
  /** The offset of its line in the trace, in bytes. */
  readonly offset: number;
  /** The length of its line in bytes, with the newline. A line beyond the end of the trace is not written yet. */
  readonly length: number;
  readonly id: string;
  readonly task: Episode["task"];
  /** The index of the episode in its group, from 0. */
  readonly sampleIndex: number;
  readonly status: Episode["status"];
  readonly limit?: Episode["limit"];
  readonly error?: { readonly code: ErrorCode; readonly message: string };
  readonly agents: Readonly<Record<AgentId, AgentEntry>>;
  readonly turns: number;
  readonly judge?: JudgeUsage;
  readonly durationMs: number;
}

/** The summary of one agent. */
export interface AgentEntry {
  /** The total reward. Null if it is unscored; `reason` says why. */
  readonly reward: number | null;
  readonly components?: Readonly<Record<string, number>>;
  readonly reason?: string;
  readonly actions: number;
  /** The number of its actions that are reasoning alone, without a text or a tool call. Absent if there are none. */
  readonly reasoningOnly?: number;
  /** Why its last action ended. */
  readonly finish?: string;
  /** The sum of tokens over its actions, if the policy reports them. Prompt tokens count again in every turn. */
  readonly promptTokens?: number;
  readonly completionTokens?: number;
  /** The sum over its actions, if the policy reports it. */
  readonly latencyMs?: number;
  readonly retries?: number;
}

/** Returns the entry of an episode at `place` of its trace. */
export function traceEntry(episode: Episode, { offset, length }: TracePosition): TraceEntry {
  const { id, task, sampleIndex, status, limit, error, agents, turns, judge, durationMs } = episode;
  return {
    offset,
    length,
    id,
    task,
    sampleIndex,
    status,
    limit,
    ...(error === undefined ? {} : { error: { code: error.code, message: error.message } }),
    agents: Object.fromEntries(Object.entries(agents).map(([agent, record]) => [agent, agentEntry(record)])),
    turns,
    ...(judge === undefined ? {} : { judge }),
    durationMs,
  };
}

function agentEntry({ reward, turns, nodes }: AgentEpisode): AgentEntry {
  const finish = turns.at(-1)?.finish;
  const reasoningOnly = turns.filter((turn) => isReasoningOnly({ nodes }, turn)).length;
  const summary = {
    ...tokenCounts({ turns, nodes }),
    ...sumOf("latencyMs", turns),
    ...sumOf("retries", turns),
  };
  return {
    ...(reward.status === "scored"
      ? { reward: reward.value, components: reward.components }
      : { reward: null, reason: reward.reason }),
    actions: turns.length,
    ...(reasoningOnly === 0 ? {} : { reasoningOnly }),
    finish,
    ...summary,
  };
}

function tokenCounts({ turns, nodes }: Pick<AgentEpisode, "turns" | "nodes">): Partial<AgentEntry> {
  let promptTokens = 0;
  let completionTokens = 0;
  for (const turn of turns) {
    const { usage } = turn;
    const sampled = sampledTokens({ nodes }, turn);
    if (usage === undefined && sampled === undefined) return {};
    promptTokens += usage?.promptTokens ?? 0;
    completionTokens += usage?.completionTokens ?? sampled!;
  }
  return turns.length === 0 ? {} : { promptTokens, completionTokens };
}

function sumOf(key: "latencyMs" | "retries", turns: AgentEpisode["turns"]): Partial<AgentEntry> {
  const values = turns.flatMap((turn) => turn[key] ?? []);
  return values.length === 0 ? {} : { [key]: sum(values) };
}
