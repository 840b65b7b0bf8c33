export type { Action, AgentId } from "./contract/action.ts";
export type {
  Demonstration,
  Environment,
  EnvironmentDefinition,
  EnvironmentFactory,
  Observation,
  Observations,
  StepResult,
} from "./contract/environment.ts";
export type { Episode, Group } from "./contract/episode.ts";
export { type ErrorCode, LyceumError } from "./contract/errors/index.ts";
export type { Json } from "./contract/json.ts";
export { type Message, type Part, type ToolCall, type ToolSpec, textMessage, textOf } from "./contract/message.ts";
export type { ActRequest, ActResult, Policy } from "./contract/policy.ts";
export type { Prompt } from "./contract/prompt.ts";
export { type Reward, scored, unscored } from "./contract/reward.ts";
export type { SamplingSettings } from "./contract/sampler.ts";
export type { TaskEntry, Taskset } from "./contract/taskset.ts";
export {
  defineEnvironment,
  type ResetOutcome,
  type StepContext,
  type StepOutcome,
} from "./core/environment/define-environment.ts";
export { defineParallelEnvironment, type ResetContext } from "./core/environment/define-parallel-environment.ts";
export { environmentFromReward } from "./core/environment/environment-from-reward.ts";
export { mixedEnvironment } from "./core/environment/mixed-environment.ts";
export { defineEnvironmentEntry, type EnvironmentEntry } from "./core/environment/registry.ts";
export { demonstrationPolicy } from "./core/policy/demonstration-policy.ts";
export { openAICompatiblePolicy } from "./core/policy/openai-compatible/openai-compatible-policy.ts";
export { scriptedPolicy } from "./core/policy/scripted-policy.ts";
export { createRandom, type Random } from "./core/random/random.ts";
export { collectGroups } from "./core/rollout/collect-groups.ts";
export { rollout } from "./core/rollout/rollout.ts";
export { rolloutEpisode } from "./core/rollout/rollout-episode.ts";
export type { RolloutOptions } from "./core/rollout/rollout-options.ts";
export { rubric } from "./core/rubric/rubric.ts";
export { generatedTaskset } from "./core/taskset/generated-taskset.ts";
export { loadTaskset } from "./core/taskset/load-taskset.ts";
export { callMessage } from "./core/tools/call-message.ts";
export { mcpTools } from "./core/tools/mcp-tools.ts";
export { defineTool, type Tool, type ToolContext } from "./core/tools/tool.ts";
export { evaluate } from "./evaluation/evaluate.ts";
export type { EvaluateOptions } from "./evaluation/evaluate-options.ts";
export type { EvaluationSummary } from "./evaluation/log/summary.ts";
