export type {
  ActTokens,
  EpisodeContext,
  ModelCall,
  PreviousTokens,
  TokenLogprob,
  TokenUsage,
} from "../contract/policy.ts";
export { defaultSampling, type Sample, type SampleRequest, type Sampler } from "../contract/sampler.ts";
export { TokenPrefix } from "../contract/token-prefix.ts";
export type { TokenSupport } from "../contract/token-support.ts";
export { definePolicy, type PolicyContext, type PolicyDefinition } from "../core/policy/define-policy.ts";
export type { OpenAICompatibleOptions } from "../core/policy/openai-compatible/openai-compatible-policy.ts";
export { policies } from "../core/policy/policies.ts";
export { replayPolicy } from "../core/policy/replay-policy.ts";
export { samplerPolicy } from "../core/policy/sampler-policy.ts";
export type { ScriptedAnswer } from "../core/policy/scripted-policy.ts";
export type { ServingOptions } from "../core/policy/serving/serving-options.ts";
