export type { OpenAICompatibleOptions } from "../policy/openai-compatible/openai-compatible-policy.ts";
export type { ActTokens, EpisodeContext, PreviousTokens, TokenLogprob, TokenUsage } from "../policy/policy.ts";
export { replayPolicy } from "../policy/replay-policy.ts";
export { defaultSampling, type Sample, type SampleRequest, type Sampler } from "../policy/sampler.ts";
export { samplerPolicy } from "../policy/sampler-policy.ts";
export type { ScriptedAnswer } from "../policy/scripted-policy.ts";
export type { ServingOptions } from "../policy/serving/serving-options.ts";
export type { TokenSupport } from "../policy/token-support.ts";
