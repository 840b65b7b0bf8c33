/** The parts of a finished episode's reward; their sum is at most 1. */
export interface ToolsReward extends Readonly<Record<string, number>> {
  readonly correct: number;
  readonly tools: number;
  readonly efficiency: number;
}

const weights = { correct: 0.8, tools: 0.1, efficiency: 0.1 } as const;

/**
 * What an episode earns. `correct`: 0.8 for the right answer (0.9 where no tool is required). `tools`: 0.1 times the
 * share of the required tools that gave a result at least once; only an episode with an answer earns it, and
 * repeats earn nothing. `efficiency`: 0.1, falling evenly from `fewestTurns` to 0 at `maxTurns`, only for a right
 * answer with every required tool used.
 */
export function toolsReward(episode: {
  readonly answered: boolean;
  readonly correct: boolean;
  readonly required: readonly string[];
  /** Tools that gave a result. */
  readonly used: ReadonlySet<string>;
  /** Turns taken, the answer's included. */
  readonly turns: number;
  /** Turns that an expert takes. */
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
