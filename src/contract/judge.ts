import type { Action } from "./action.ts";
import type { Message } from "./message.ts";
import type { TokenUsage } from "./policy.ts";
import type { SamplingSettings } from "./sampler.ts";

/** A question to a judge model. */
export interface JudgeRequest {
  readonly messages: readonly Message[];
  readonly sampling: SamplingSettings;
  /** Distinguishes several samples of the same question. 0 by default. */
  readonly sample?: number;
  /** True to ask an equal request once and to use its answer again. */
  readonly cache: boolean;
  /** The judge model to ask if the environment has not opened one. */
  readonly model?: JudgeModel | undefined;
  /** The limit on requests that this one counts towards. */
  readonly limit?: JudgeRequestLimit | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The answer of a judge model. */
export interface JudgeReply {
  /** The text without reasoning. */
  readonly text: string;
  readonly finish: Action["finish"];
  readonly usage?: TokenUsage;
  /** True if the answer belongs to an earlier or concurrent request that is equal. */
  readonly cached: boolean;
}

/** A model that judges. It asks equal requests once. */
export interface JudgeModel {
  readonly name: string;
  /** Rejects with the errors of the policy, with `policy.limit`, and with the signal's reason on abort. */
  ask(request: JudgeRequest): Promise<JudgeReply>;
}

/** A limit on the requests to judge models. */
export interface JudgeRequestLimit {
  /** Counts a request. Throws `policy.limit` if none is left. */
  take(): void;
}

/** The judge of an instance of an environment. */
export interface InstanceJudge {
  /** The opened model. Absent if the judges have policies of their own. */
  readonly model?: JudgeModel | undefined;
  readonly limit?: JudgeRequestLimit | undefined;
}

/** The requests to judge models and their tokens, of a step, an episode or a run. */
export interface JudgeUsage {
  /** The requests that were sent. */
  readonly requests: number;
  /** The answers that were used again instead of a request. */
  readonly cached: number;
  /** The sent requests without an answer. */
  readonly failed: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
}

/** What a definition says about its judges. */
export interface JudgeDeclaration {
  /** The model that judges if no other one is named, such as `openai:gpt-5-mini`. */
  readonly model?: string | undefined;
  /** True if the environment cannot judge before a model is opened. */
  readonly required: boolean;
  /** The name of the opened model. */
  readonly opened?: string | undefined;
}

/** Adds the usage of two steps or episodes. */
export function addJudgeUsage(first: JudgeUsage, second: JudgeUsage): JudgeUsage {
  return {
    requests: first.requests + second.requests,
    cached: first.cached + second.cached,
    failed: first.failed + second.failed,
    promptTokens: first.promptTokens + second.promptTokens,
    completionTokens: first.completionTokens + second.completionTokens,
  };
}
