export {
  defineEnvironment,
  type ResetOutcome,
  type StepContext,
  type StepOutcome,
} from "./environment/define-environment.ts";
export { defineParallelEnvironment, type ResetContext } from "./environment/define-parallel-environment.ts";
export type {
  Action,
  AgentId,
  Demonstration,
  Environment,
  EnvironmentDefinition,
  EnvironmentFactory,
  Observation,
  Observations,
  StepResult,
} from "./environment/environment.ts";
export { environmentFromReward } from "./environment/environment-from-reward.ts";
export { mixedEnvironment } from "./environment/mixed-environment.ts";
export type { Prompt } from "./environment/prompt.ts";
export { type EnvironmentEntry, environmentEntry } from "./environment/registry.ts";
export { type Reward, scored, unscored } from "./environment/reward.ts";
export { type ErrorCode, LyceumError } from "./errors/index.ts";
export { evaluate } from "./evaluate/evaluate.ts";
export type { EvaluateOptions } from "./evaluate/evaluate-options.ts";
export type { EvaluationSummary } from "./evaluate/log/summary.ts";
export type { Json } from "./json.ts";
export { type Message, type Part, type ToolCall, type ToolSpec, textMessage, textOf } from "./message/message.ts";
export { demonstrationPolicy } from "./policy/demonstration-policy.ts";
export { openAICompatiblePolicy } from "./policy/openai-compatible/openai-compatible-policy.ts";
export type { ActRequest, ActResult, Policy } from "./policy/policy.ts";
export type { SamplingSettings } from "./policy/sampler.ts";
export { scriptedPolicy } from "./policy/scripted-policy.ts";
export { createRandom, type Random } from "./random/random.ts";
export { collectGroups } from "./rollout/collect-groups.ts";
export type { Episode, Group } from "./rollout/episode.ts";
export { rollout } from "./rollout/rollout.ts";
export { rolloutEpisode } from "./rollout/rollout-episode.ts";
export type { RolloutOptions } from "./rollout/rollout-options.ts";
export { rubric } from "./rubric/rubric.ts";
export { generatedTaskset } from "./taskset/generated-taskset.ts";
export { loadTaskset } from "./taskset/load-taskset.ts";
export type { TaskEntry, Taskset } from "./taskset/taskset.ts";
export { callMessage } from "./tools/call-message.ts";
export { mcpTools } from "./tools/mcp-tools.ts";
export { defineTool, type Tool, type ToolContext } from "./tools/tool.ts";
