import type { ModelCall } from "../../src/contract/policy.ts";
import type { SamplingSettings } from "../../src/contract/sampler.ts";

/** The protocol of a client. */
export type CaptureDialect = "openai-chat" | "openai-responses" | "anthropic";

/** One recorded model call of a client. `tokens.sampling` has the settings that were used. */
export interface CapturedCall extends ModelCall {
  /** Unique within a server. It is a part of the ids in the client's answer. */
  readonly id: string;
  readonly dialect: CaptureDialect;
  /** The model that the client named. It has no effect. */
  readonly model: string;
  readonly seed: number;
  /** The settings that were used. */
  readonly sampling: SamplingSettings;
  /** The settings that the client asked for. Those of the session replace them. */
  readonly requestedSampling: Partial<SamplingSettings>;
  /**
   * True if the call continues an earlier one but does not extend its tokens, because the chat template now renders the
   * earlier turns in another way. The sampled ids of the earlier call stay in their own sequence, and this call begins
   * another one.
   */
  readonly rerendered?: true;
  /**
   * The whole prompt that the model read. Present if `tokens` is. Each access returns a new array, because calls share
   * the tokens of the calls that they continue.
   */
  readonly promptIds?: readonly number[];
  /** The time of the answer in milliseconds since 1970. */
  readonly answeredAt: number;
}
