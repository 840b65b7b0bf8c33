/** The components of a finished episode's reward. Their sum is at most 1. */
export interface ToolsReward extends Readonly<Record<string, number>> {
  readonly correct: number;
  readonly tools: number;
  readonly efficiency: number;
}

const weights = { correct: 0.8, tools: 0.1, efficiency: 0.1 } as const;

/**
 * Returns the reward of an episode.
 *
 * - `correct`: 0.8 for the correct answer, or 0.9 if no tool is required.
 * - `tools`: 0.1 times the share of the required tools that returned a result at least once. Repeated calls add
 *   nothing. Without an answer, it is 0.
 * - `efficiency`: 0.1, falling linearly from `fewestTurns` to 0 at `maxTurns`. It requires the correct answer and every
 *   required tool.
 */
export function toolsReward(episode: {
  readonly answered: boolean;
  readonly correct: boolean;
  readonly required: readonly string[];
  /** The tools that returned a result. */
  readonly used: ReadonlySet<string>;
  /** The number of turns, including the answer. */
  readonly turns: number;
  /** The number of turns that an expert takes. */
  readonly fewestTurns: number;
  readonly maxTurns: number;
}): ToolsReward {
  const required = [...new Set(episode.required)];
  const share = required.filter((name) => episode.used.has(name)).length / Math.max(1, required.length);
  const complete = episode.correct && (required.length === 0 || share === 1);
  const spare = episode.maxTurns - episode.fewestTurns;
  const saved = spare <= 0 ? 1 : Math.min(1, Math.max(0, (episode.maxTurns - episode.turns) / spare));
  return {
    correct: episode.correct ? (required.length === 0 ? weights.correct + weights.tools : weights.correct) : 0,
    tools: episode.answered ? weights.tools * share : 0,
    efficiency: complete ? weights.efficiency * saved : 0,
  };
}
