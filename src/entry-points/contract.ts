export type { ParseError } from "../contract/action.ts";
export type { AgentStep, EnvironmentSpec } from "../contract/environment.ts";
export type { ErrorData, LyceumErrorOptions } from "../contract/errors/index.ts";
export type { PartType, Role } from "../contract/message.ts";
export { addRewards, type ScoredReward, type UnscoredReward } from "../contract/reward.ts";
export type { SingleAgentDefinition } from "../core/environment/define-environment.ts";
export type {
  DefinitionBase,
  DemonstrationContext,
  ParallelDefinition,
  ParallelResetOutcome,
  ParallelStepContext,
  ParallelStepOutcome,
  Prompts,
} from "../core/environment/define-parallel-environment.ts";
export type {
  AnswerContext,
  AnswerDefinition,
  RewardSource,
  RewardValue,
  TeamContext,
  TeamDefinition,
} from "../core/environment/environment-from-reward.ts";
export type { MixedPart, MixedTask } from "../core/environment/mixed-environment.ts";
export { createRegistry, type EnvironmentRegistry } from "../core/environment/registry.ts";
export { type SharedResource, sharedResource } from "../core/environment/shared-resource.ts";
export type { AfterCalls, CallRecord } from "../core/environment/tool-steps.ts";
export { deriveSeed } from "../core/random/random.ts";
export type { AnswerCriterion, Criterion, GroupCriterion, GroupScores } from "../core/rubric/criterion.ts";
export type { Rubric } from "../core/rubric/rubric.ts";
export type { DemonstratedCall } from "../core/tools/call-message.ts";
export type { ToolLimits } from "../core/tools/call-tool.ts";
export type { McpServer, McpTools } from "../core/tools/mcp-tools.ts";
export type { ToolInput, ToolRecord } from "../core/tools/tool.ts";
export type { ToolProtocol } from "../core/tools/tool-message.ts";
export type { ToolSource } from "../core/tools/tool-set.ts";
