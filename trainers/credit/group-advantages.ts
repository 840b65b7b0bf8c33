import type { Group } from "../../src/contract/episode.ts";
import type { AdvantageEstimator } from "../advantages/advantage-estimators.ts";
import type { TrainingGroup } from "../data/training-group.ts";
import type { TrainingSample } from "../data/training-sample.ts";
import type { Credit } from "./credit.ts";
import { normalizeAdvantages } from "./normalize-advantages.ts";
import { agentsOf, rewardsOf, type Trajectory, trajectoriesOf } from "./trajectory.ts";
import { treeHasSignal, treeSamples } from "./tree-advantages.ts";

/** The options of {@link groupAdvantages}. */
export interface GroupAdvantageOptions {
  readonly estimator: AdvantageEstimator;
  /**
   * `episode`: the advantage of the whole reward applies to every token of the episode. `turn`: each turn has the
   * advantage of the rewards from it on, compared with the same turn of the other episodes. `episode` by default.
   */
  readonly level?: "episode" | "turn";
  /** Discount per turn; 1 by default. */
  readonly discount?: number;
  /** Multiplies the loss of turn t. 1 if absent. */
  readonly turnWeights?: readonly number[];
  /** With cross joint actions: how the returns of a completion are combined. `mean` by default. */
  readonly crossReturn?: "mean" | "sum";
  /** Multiplies the loss of a turn that ended its branch early. 1 by default. */
  readonly terminationWeight?: number;
  /**
   * If true, the mean of a batch's advantages is subtracted, and they are divided by their standard deviation. False by
   * default.
   */
  readonly whiten?: boolean;
}

/** Compares each alternative with the others that the same agent tried at the same task. */
export function groupAdvantages(options: GroupAdvantageOptions): Credit {
  const { estimator, whiten = false } = options;
  return {
    needsGreedy: estimator.needsGreedy === true,
    comparison: estimator.id === "none" ? "batch" : "group",
    hasSignal: ({ group, tree, greedy }) => {
      if (tree !== undefined) return treeHasSignal(tree, options);
      return groupSamples(group, options, greedy).some(({ advantage = 0 }) =>
        typeof advantage === "number"
          ? advantage !== 0
          : advantage.some((values) => values.some((value) => value !== 0)),
      );
    },
    assign: ({ groups, trees, greedy }, { learnerOf }) => {
      const samples =
        trees === undefined
          ? groups.flatMap((group, i) => groupSamples(group, options, greedy?.[i]))
          : trees.flatMap((tree) => treeSamples(tree, options));
      return { samples: whiten ? normalizeAdvantages(samples, learnerOf) : samples };
    },
  };
}

/** Returns the samples of independent episodes of one task: one per episode and agent that sampled a token. */
export function groupSamples(group: TrainingGroup, options: GroupAdvantageOptions, greedy?: Group): TrainingSample[] {
  return agentsOf(group).flatMap((agent) => {
    const baseline = greedy && rewardsOf(greedy, agent)[0];
    if (options.estimator.needsGreedy && baseline === undefined) return [];
    const trajectories = trajectoriesOf(group, agent);
    const { level = "episode" } = options;
    return level === "episode" ? byEpisode(trajectories, options, baseline) : byTurn(trajectories, options, baseline);
  });
}

function byEpisode(
  trajectories: readonly Trajectory[],
  { estimator, discount = 1, turnWeights }: GroupAdvantageOptions,
  greedy?: number,
): TrainingSample[] {
  const returns = trajectories.map((trajectory) =>
    discount === 1 ? trajectory.reward : returnFrom(trajectory, 0, discount),
  );
  const advantages = estimator.estimate(returns, greedy);
  return trajectories.flatMap(({ agent, sequences }, i): TrainingSample[] => {
    if (sequences.length === 0) return [];
    const advantage = advantages[i]!;
    if (turnWeights === undefined) return [{ agent, sequences, advantage }];
    const perToken = sequences.map(({ turns }) => turns.map((turn) => advantage * (turnWeights[turn] ?? 1)));
    return [{ agent, sequences, advantage: perToken }];
  });
}

function byTurn(
  trajectories: readonly Trajectory[],
  { estimator, discount = 1, turnWeights = [] }: GroupAdvantageOptions,
  greedy?: number,
): TrainingSample[] {
  const advantages = trajectories.map(() => new Map<number, number>());
  const turns = new Set(trajectories.flatMap((trajectory) => trajectory.turns.map(({ turn }) => turn)));
  for (const turn of turns) {
    const indices = [...trajectories.keys()].filter((i) => trajectories[i]!.turns.some((own) => own.turn === turn));
    const returns = indices.map((i) => returnFrom(trajectories[i]!, turn, discount));
    for (const [place, value] of estimator.estimate(returns, greedy).entries()) {
      advantages[indices[place]!]!.set(turn, value * (turnWeights[turn] ?? 1));
    }
  }
  return trajectories.flatMap(({ agent, sequences }, i): TrainingSample[] => {
    if (sequences.length === 0) return [];
    return [
      { agent, sequences, advantage: sequences.map((own) => own.turns.map((turn) => advantages[i]!.get(turn) ?? 0)) },
    ];
  });
}

/** Returns R_t = r_t + gamma r_{t+1} + ..., over the environment's turns. */
function returnFrom({ turns }: Trajectory, from: number, discount: number): number {
  return turns
    .filter(({ turn }) => turn >= from)
    .reduce((sum, { turn, reward }) => sum + discount ** (turn - from) * reward, 0);
}
