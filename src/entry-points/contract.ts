export type { ParseError } from "../contract/action.ts";
export type { AgentStep, EnvironmentSpec } from "../contract/environment.ts";
export { type ErrorData, type LyceumErrorOptions, toErrorData, unknownNameError } from "../contract/errors/index.ts";
export { isJsonObject, tryParseJson } from "../contract/json.ts";
export type { PartType, Role } from "../contract/message.ts";
export { promptMessages } from "../contract/prompt.ts";
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
export { contractError } from "../core/environment/environment-error.ts";
export type {
  AnswerContext,
  AnswerDefinition,
  RewardSource,
  RewardValue,
  TeamContext,
  TeamDefinition,
} from "../core/environment/environment-from-reward.ts";
export type { EnvironmentResources } from "../core/environment/environment-resources.ts";
export type { MixedPart, MixedTask } from "../core/environment/mixed-environment.ts";
export {
  createEnvironmentRegistry,
  type EnvironmentRegistry,
  type OpenNamedPolicy,
  openEnvironment,
  parseEnvironmentOptions,
} from "../core/environment/registry.ts";
export { type SharedResource, sharedResource } from "../core/environment/shared-resource.ts";
export { loadTasks, type TaskSource } from "../core/environment/task-source.ts";
export type { AfterCalls, CallRecord } from "../core/environment/tool-steps.ts";
export { askForVerdict, type VerdictQuestion } from "../core/judge/ask-for-verdict.ts";
export type { StepJudge } from "../core/judge/counted-judge.ts";
export { type Judge, type JudgedAnswer, type JudgeListing, type JudgeOptions, judge } from "../core/judge/judge.ts";
export { quoted, quotedRule } from "../core/judge/quoted.ts";
export type { VerdictForm } from "../core/judge/verdict-form.ts";
export { judgeOptions, withJudge } from "../core/judge/with-judge.ts";
export { demonstratedMessage } from "../core/policy/demonstration-policy.ts";
export { type PolicySpecification, policySpecificationSchema } from "../core/policy/policy-specification.ts";
export { deriveSeed } from "../core/random/random.ts";
export { createRegistry, type Registry } from "../core/registry.ts";
export { boundedWait } from "../core/rollout/bounded-wait.ts";
export type { AnswerCriterion, Criterion, GroupCriterion, GroupScores } from "../core/rubric/criterion.ts";
export type { Rubric } from "../core/rubric/rubric.ts";
export { type LargeIntegers, parseExactJson, tryParseExactJson } from "../core/text/exact-json.ts";
export { withoutUrlSecrets } from "../core/text/secrets.ts";
export { warn } from "../core/text/warn.ts";
export { reasoningOf } from "../core/tokens/assistant-text.ts";
export { withSeparateReasoning } from "../core/tokens/split-reasoning.ts";
export { templateVariablesSchema } from "../core/tokens/template-variables.ts";
export { type CallArguments, callArguments } from "../core/tools/call-arguments.ts";
export type { DemonstratedCall } from "../core/tools/call-message.ts";
export type { McpServer, McpTools } from "../core/tools/mcp-tools.ts";
export type { ToolInput, ToolRecord } from "../core/tools/tool.ts";
export type { ToolLimits } from "../core/tools/tool-limits.ts";
export { type ToolProtocol, toolProtocols } from "../core/tools/tool-message.ts";
export { createToolSet, type ToolSet, type ToolSource } from "../core/tools/tool-set.ts";
