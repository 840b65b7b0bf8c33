export type { SingleAgentDefinition } from "../environment/define-environment.ts";
export type {
  DefinitionBase,
  DemonstrationContext,
  ParallelDefinition,
  ParallelResetOutcome,
  ParallelStepContext,
  ParallelStepOutcome,
  Prompts,
} from "../environment/define-parallel-environment.ts";
export type { AgentStep, EnvironmentSpec, ParseError } from "../environment/environment.ts";
export type {
  AnswerContext,
  AnswerDefinition,
  RewardSource,
  RewardValue,
  TeamContext,
  TeamDefinition,
} from "../environment/environment-from-reward.ts";
export type { MixedPart, MixedTask } from "../environment/mixed-environment.ts";
export { createRegistry, type EnvironmentRegistry } from "../environment/registry.ts";
export { addRewards, type ScoredReward, type UnscoredReward } from "../environment/reward.ts";
export { type SharedResource, sharedResource } from "../environment/shared-resource.ts";
export type { AfterCalls, CallRecord } from "../environment/tool-steps.ts";
export type { ErrorData, LyceumErrorOptions } from "../errors/index.ts";
export type { PartType, Role } from "../message/message.ts";
export { deriveSeed } from "../random/random.ts";
export type { AnswerCriterion, Criterion, GroupCriterion, GroupScores } from "../rubric/criterion.ts";
export type { Rubric } from "../rubric/rubric.ts";
export type { DemonstratedCall } from "../tools/call-message.ts";
export type { ToolLimits } from "../tools/call-tool.ts";
export type { McpServer, McpTools } from "../tools/mcp-tools.ts";
export type { ToolInput, ToolRecord } from "../tools/tool.ts";
export type { ToolProtocol } from "../tools/tool-message.ts";
export type { ToolSource } from "../tools/tool-set.ts";
