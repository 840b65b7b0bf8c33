/** The limits of tool calls. */
export interface ToolLimits {
  /** The timeout of one call in milliseconds. Default: 30,000. The model gets an error for a call that takes longer. */
  readonly callMs?: number;
  /** The maximum number of characters of a result. Default: 4,000. The rest is cut. */
  readonly resultCharacters?: number;
  /** The maximum number of calls that are run per message. Default: 8. */
  readonly callsPerMessage?: number;
}

/** The default limits. */
export const defaultToolLimits: Required<ToolLimits> = { callMs: 30_000, resultCharacters: 4_000, callsPerMessage: 8 };

/** The default of `maxTurns` for an environment with tools. */
export const defaultToolTurns = 10;
