export {
  defineEnvironment,
  type ResetOutcome,
  type SingleAgentDefinition,
  type StepContext,
  type StepOutcome,
} from "./environment/define-environment.ts";
export {
  type DefinitionBase,
  type DemonstrationContext,
  defineParallelEnvironment,
  type ParallelDefinition,
  type ParallelResetOutcome,
  type ParallelStepContext,
  type ParallelStepOutcome,
  type Prompts,
  type ResetContext,
} from "./environment/define-parallel-environment.ts";
export type {
  Action,
  AgentId,
  AgentStep,
  Demonstration,
  Environment,
  EnvironmentDefinition,
  EnvironmentFactory,
  EnvironmentSpec,
  Observation,
  Observations,
  ParseError,
  StepResult,
} from "./environment/environment.ts";
export {
  type AnswerContext,
  type AnswerDefinition,
  environmentFromReward,
  type RewardSource,
  type RewardValue,
  type TeamContext,
  type TeamDefinition,
} from "./environment/environment-from-reward.ts";
export { type MixedPart, type MixedTask, mixedEnvironment } from "./environment/mixed-environment.ts";
export type { Prompt } from "./environment/prompt.ts";
export {
  createRegistry,
  type EnvironmentEntry,
  type EnvironmentRegistry,
  environmentEntry,
} from "./environment/registry.ts";
export {
  addRewards,
  type Reward,
  type ScoredReward,
  scored,
  type UnscoredReward,
  unscored,
} from "./environment/reward.ts";
export { type SharedResource, sharedResource } from "./environment/shared-resource.ts";
export type { AfterCalls, CallRecord } from "./environment/tool-steps.ts";
export { type ErrorCode, type ErrorData, LyceumError, type LyceumErrorOptions } from "./errors/index.ts";
export { type ComparedMetric, type Comparison, compareRuns } from "./evaluate/compare.ts";
export { evaluate } from "./evaluate/evaluate.ts";
export type { EvaluateOptions } from "./evaluate/evaluate-options.ts";
export type { EvaluationEvent } from "./evaluate/evaluation-event.ts";
export type { EpisodeEntry } from "./evaluate/log/episode-entry.ts";
export type {
  CorrectRule,
  EvaluationIdentity,
  EvaluationManifest,
  TaskLine,
  TokenPrice,
} from "./evaluate/log/manifest.ts";
export { readEntries, readEpisode, readManifest, readSummary, readTaskLines } from "./evaluate/log/read-log.ts";
export type {
  EpisodeCounts,
  EvaluationSummary,
  Interval,
  LevelSummary,
  Metric,
  Percentiles,
  TaskSummary,
  TimeSummary,
} from "./evaluate/log/summary.ts";
export { estimatePassAtK, estimatePassHatK } from "./evaluate/metrics/pass-at-k.ts";
export { bradleyTerry } from "./evaluate/ratings/bradley-terry.ts";
export { type RatedPair, type RatedPlayer, type Ratings, rateRuns } from "./evaluate/ratings/rate-runs.ts";
export type { RecordedAnswer } from "./evaluate/rubric-grader.ts";
export { defaultHealthSettings, type HealthCheck, type HealthSettings, watchHealth } from "./health/index.ts";
export type { Json } from "./json.ts";
export {
  type Message,
  type Part,
  type PartType,
  type Role,
  type ToolCall,
  type ToolSpec,
  textMessage,
  textOf,
} from "./message/message.ts";
export { demonstrationPolicy } from "./policy/demonstration-policy.ts";
export {
  type OpenAICompatibleOptions,
  openAICompatiblePolicy,
} from "./policy/openai-compatible/openai-compatible-policy.ts";
export type {
  ActRequest,
  ActResult,
  ActTokens,
  EpisodeContext,
  Policy,
  PreviousTokens,
  TokenLogprob,
  Usage,
} from "./policy/policy.ts";
export { replayPolicy } from "./policy/replay-policy.ts";
export {
  defaultSampling,
  type Sample,
  type SampleRequest,
  type Sampler,
  type SamplingSettings,
} from "./policy/sampler.ts";
export { samplerPolicy } from "./policy/sampler-policy.ts";
export { type ScriptedAnswer, scriptedPolicy } from "./policy/scripted-policy.ts";
export type { ServingOptions } from "./policy/serving/serving-options.ts";
export type { TokenSupport } from "./policy/token-support.ts";
export { createRandom, deriveSeed, type Random } from "./random/random.ts";
export {
  type MetricsFile,
  readMetrics,
  recordRun,
  showTraining,
  type TrainingEvent,
  writeReport,
} from "./report/index.ts";
export { collectGroups } from "./rollout/collect-groups.ts";
export { EnvironmentPool } from "./rollout/environment-pool.ts";
export type {
  AgentEpisode,
  AgentTurn,
  Episode,
  EpisodeStatus,
  Group,
  MessageNode,
  NodeTokens,
  TokenSequence,
} from "./rollout/episode.ts";
export { jointValue } from "./rollout/handoff.ts";
export type { JointAction, JointNode, JointTree, TurnCandidate } from "./rollout/joint-action.ts";
export { type JointRolloutOptions, jointRollout } from "./rollout/joint-rollout.ts";
export type { JointShape } from "./rollout/joint-shape.ts";
export { countJointNodes, jointActionsPerNode } from "./rollout/joint-shape.ts";
export { rollout } from "./rollout/rollout.ts";
export { rolloutEpisode } from "./rollout/rollout-episode.ts";
export type { RolloutEvent } from "./rollout/rollout-event.ts";
export { rolloutGroup } from "./rollout/rollout-group.ts";
export { defaultLimits, type RolloutLimits } from "./rollout/rollout-limits.ts";
export type { PlannedTask, PlayOptions, RolloutOptions } from "./rollout/rollout-options.ts";
export { tokenSequences } from "./rollout/token-sequences.ts";
export type { AnswerCriterion, Criterion, GroupCriterion, GroupScores } from "./rubric/criterion.ts";
export { type Rubric, rubric } from "./rubric/rubric.ts";
export { contentHash } from "./taskset/content-hash.ts";
export { checkDisjoint } from "./taskset/disjoint.ts";
export { type GeneratedTasksetOptions, generatedTaskset } from "./taskset/generated-taskset.ts";
export { loadTaskset, type TasksetSpec } from "./taskset/load-taskset.ts";
export { mapTaskset } from "./taskset/map-taskset.ts";
export { memoryTaskset } from "./taskset/memory-taskset.ts";
export type { TaskEntry, Taskset } from "./taskset/taskset.ts";
export { createByteRenderer } from "./tokens/byte-renderer.ts";
export { createByteTokenizer } from "./tokens/byte-tokenizer.ts";
export { createChatTemplateRenderer } from "./tokens/chat-template-renderer.ts";
export type { ContentMarks } from "./tokens/content-marks.ts";
export { loadTokenizer } from "./tokens/huggingface-tokenizer.ts";
export { loadRenderer } from "./tokens/load-renderer.ts";
export type { Renderer } from "./tokens/renderer.ts";
export type { Tokenizer } from "./tokens/tokenizer.ts";
export { callMessage, type DemonstratedCall } from "./tools/call-message.ts";
export type { ToolLimits } from "./tools/call-tool.ts";
export { type McpServer, type McpTools, mcpTools } from "./tools/mcp-tools.ts";
export { defineTool, type Tool, type ToolContext, type ToolInput, type ToolRecord } from "./tools/tool.ts";
export type { ToolProtocol } from "./tools/tool-message.ts";
export type { ToolSource } from "./tools/tool-set.ts";
export { readTrace } from "./trace/read-trace.ts";
export type { AgentEntry, TraceEntry } from "./trace/trace-entry.ts";
export { createTraceWriter, type TraceWriter } from "./trace/trace-writer.ts";
export {
  eventMetrics,
  type MlflowTrackerOptions,
  mlflowTracker,
  type TrackedRun,
  type TrackedSession,
  type Tracker,
  tensorboardTracker,
} from "./trackers/index.ts";
export { clipReward } from "./wrappers/clip-reward.ts";
export { type EpisodeSink, type RecordedEpisode, record } from "./wrappers/record.ts";
export { scaleReward } from "./wrappers/scale-reward.ts";
export { timeLimit } from "./wrappers/time-limit.ts";
export { toolBudget } from "./wrappers/tool-budget.ts";
export { type ObservationPlace, transformObservation } from "./wrappers/transform-observation.ts";
export { type SeatOptions, withPolicies } from "./wrappers/with-policies.ts";
