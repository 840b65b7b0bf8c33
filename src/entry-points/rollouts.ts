export type {
  AgentEpisode,
  AgentTurn,
  EpisodeStatus,
  MessageNode,
  NodeTokens,
  RecordedCall,
  TokenSequence,
} from "../contract/episode.ts";
export { EnvironmentPool } from "../core/rollout/environment-pool.ts";
export { jointValue } from "../core/rollout/handoff.ts";
export type { JointAction, JointNode, JointTree, TurnCandidate } from "../core/rollout/joint-action.ts";
export { type JointRolloutOptions, jointRollout } from "../core/rollout/joint-rollout.ts";
export { countJointNodes, type JointShape, jointActionsPerNode } from "../core/rollout/joint-shape.ts";
export type { RolloutEvent } from "../core/rollout/rollout-event.ts";
export { rolloutGroup } from "../core/rollout/rollout-group.ts";
export { defaultRolloutLimits, type RolloutLimits } from "../core/rollout/rollout-limits.ts";
export type { PlannedTask, PlayOptions } from "../core/rollout/rollout-options.ts";
export { tokenSequences } from "../core/rollout/token-sequences.ts";
export { readTrace } from "../core/trace/read-trace.ts";
export type { AgentEntry, TraceEntry } from "../core/trace/trace-entry.ts";
export { createTraceWriter, type TraceWriter } from "../core/trace/trace-writer.ts";
