export { EnvironmentPool } from "../rollout/environment-pool.ts";
export type {
  AgentEpisode,
  AgentTurn,
  EpisodeStatus,
  MessageNode,
  NodeTokens,
  TokenSequence,
} from "../rollout/episode.ts";
export { jointValue } from "../rollout/handoff.ts";
export type { JointAction, JointNode, JointTree, TurnCandidate } from "../rollout/joint-action.ts";
export { type JointRolloutOptions, jointRollout } from "../rollout/joint-rollout.ts";
export { countJointNodes, type JointShape, jointActionsPerNode } from "../rollout/joint-shape.ts";
export type { RolloutEvent } from "../rollout/rollout-event.ts";
export { rolloutGroup } from "../rollout/rollout-group.ts";
export { defaultRolloutLimits, type RolloutLimits } from "../rollout/rollout-limits.ts";
export type { PlannedTask, PlayOptions } from "../rollout/rollout-options.ts";
export { tokenSequences } from "../rollout/token-sequences.ts";
export { readTrace } from "../trace/read-trace.ts";
export type { AgentEntry, TraceEntry } from "../trace/trace-entry.ts";
export { createTraceWriter, type TraceWriter } from "../trace/trace-writer.ts";
