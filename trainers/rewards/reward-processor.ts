import type { z } from "zod";

/** Changes the reward of one turn before credit is assigned. Must be pure. */
export interface RewardProcessor {
  /** Returns the new reward. */
  (reward: number, context: RewardContext): number;
  /** True if it also changes turns without a reward, which count as 0. False by default. */
  readonly everyTurn?: boolean;
}

/** What a reward processor reads besides the reward. */
export interface RewardContext {
  /** The number of tokens of the answer. */
  readonly length: number;
  /** The seed of random choices. It differs between turns and agents, and a resumed run has the same ones. */
  readonly seed: number;
}

/** A kind of reward processor that `rewards` of a config can name. */
export interface RewardProcessorDefinition<Options extends z.ZodObject = z.ZodObject> {
  /** The `type` in a config. */
  readonly id: string;
  readonly description: string;
  /** The schema of the options. */
  readonly options: Options;
  /** Creates the processor from checked options. Throws `config.invalid` if they do not fit together. */
  create(options: z.output<Options>): RewardProcessor;
}

/** Returns the definition unchanged. Infers the type of `create`'s options from their schema. */
export function defineRewardProcessor<Options extends z.ZodObject>(
  definition: RewardProcessorDefinition<Options>,
): RewardProcessorDefinition {
  return definition as unknown as RewardProcessorDefinition;
}
