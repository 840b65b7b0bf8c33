import type { Algorithm } from "../algorithms/index.ts";
import type { TrainingConfig } from "../config/training-config.ts";
import { needsReference } from "../losses/loss.ts";
import { exactly, type Interval, interval, product, sum } from "./interval.ts";

/** The lengths that a config does not set, because they depend on tasks and answers. */
export interface Lengths {
  /** Tokens of a prompt: of the first turn, and of each message of the environment after it. */
  readonly prompt: Interval;
  /** Tokens of a completion or of a demonstrated answer. */
  readonly completion: Interval;
  /** Tokens of a completion in evaluations. Default: those of `completion`. */
  readonly evaluated?: Interval;
  /** Turns of an episode. */
  readonly turns: number;
}

/** The work of one training step, in tokens. */
export interface Workload {
  /** True if the model samples. False if it learns from demonstrations. */
  readonly samples: boolean;
  /** The sets of weights that are trained: one, or one for each agent. */
  readonly learners: number;
  /** Sequences of all agents in a step. One for each agent of an episode. */
  readonly sequences: number;
  readonly groupSize: number;
  readonly turns: number;
  readonly prompt: Interval;
  readonly completion: Interval;
  /** Tokens of one sequence: all its turns. */
  readonly sequenceLength: Interval;
  /** Tokens that are sampled in a step. */
  readonly sampled: Interval;
  /** Tokens with a loss in a step, counted in each epoch. */
  readonly trained: Interval;
  /** Tokens of whole sequences in forward and backward passes, counted in each epoch. */
  readonly passed: Interval;
  /** Tokens of whole sequences in forward passes alone: a reference model, an importance correction, a critic. */
  readonly forwarded: Interval;
  /** Optimizer steps of one set of weights. */
  readonly optimizerSteps: number;
  /** Models that are trained besides the policies: separate critics. */
  readonly critics: number;
  /** True if a frozen copy of the first model is kept. */
  readonly reference: boolean;
  /** The sampling of one evaluation. Undefined if the run has none. */
  readonly evaluation: SampledWork | undefined;
}

/** What sampling depends on: that of a step or of an evaluation. */
export type SampledWork = Pick<
  Workload,
  "samples" | "learners" | "sequences" | "groupSize" | "turns" | "prompt" | "completion" | "sequenceLength"
>;

/**
 * Returns the work of one step of a config. Counts every episode, also those of groups without a signal, which an
 * algorithm skips. Counts one round of dynamic sampling.
 */
export function planWorkload(options: {
  readonly config: TrainingConfig;
  readonly algorithm: Algorithm;
  /** The number of agents that are trained. */
  readonly agents: number;
  readonly lengths: Lengths;
  /** The tasks of an evaluation. Default: 0, as in a run without evaluations. */
  readonly evaluatedTasks?: number;
}): Workload {
  const { config, algorithm, agents, lengths, evaluatedTasks = 0 } = options;
  const { rollout, updates, credit, loss } = algorithm;
  const samples = rollout.actor === "policy";
  const learners = config.agents.weights === "shared" ? 1 : agents;
  const { groupSize } = rollout;
  const sequences = config.training.batchSize * groupSize * agents;
  const { prompt, completion, turns } = lengths;
  const sequenceLength = product(sum(prompt, completion), turns);
  const all = product(sequenceLength, sequences);
  // Greedy episodes are the baseline of some algorithms: one for each task.
  const played = credit.needsGreedy === true ? sequences * (1 + 1 / groupSize) : sequences;
  const sampled = samples ? product(completion, turns * played) : exactly(0);
  const reference = needsReference(loss) || credit.needsReference === true;
  const corrected = updates.importanceCap !== undefined || config.rollout.maxStaleness > 0;
  const separate = credit.critic?.type === "separate";
  const extraPasses = (reference ? 1 : 0) + (corrected ? 1 : 0) + (loss.sequence === undefined ? 0 : updates.epochs);
  const critics = !separate ? 0 : credit.critic?.scope === "team" ? 1 : learners;
  const work = { samples, learners, sequences, groupSize, turns, prompt, completion, sequenceLength };
  return {
    ...work,
    sampled,
    trained: product(completion, turns * sequences * updates.epochs),
    passed: product(all, updates.epochs * (separate ? 2 : 1)),
    forwarded: product(all, extraPasses + (separate ? 1 : 0)),
    optimizerSteps: updates.epochs * updates.minibatches,
    critics,
    reference,
    evaluation: evaluatedTasks === 0 ? undefined : evaluationWork(work, options),
  };
}

function evaluationWork(
  work: SampledWork,
  { config, agents, lengths, evaluatedTasks = 0 }: Parameters<typeof planWorkload>[0],
): SampledWork {
  const { episodesPerTask } = config.evaluation;
  const completion = lengths.evaluated ?? work.completion;
  return {
    ...work,
    samples: true,
    groupSize: episodesPerTask,
    // Against an opponent, the model plays one agent in each of twice as many episodes.
    sequences: evaluatedTasks * episodesPerTask * agents,
    completion,
    sequenceLength: product(sum(work.prompt, completion), work.turns),
  };
}

/**
 * Returns the expected tokens of a completion if only its limit is known: an eighth of the limit to the limit, with
 * half of it as the middle. It is an assumption: an untrained model often reaches the limit, and a trained one ends
 * earlier.
 */
export function completionUpTo(limit: number): Interval {
  return interval(Math.ceil(limit / 8), Math.ceil(limit / 2), limit);
}
