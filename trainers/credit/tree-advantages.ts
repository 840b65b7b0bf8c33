import type { AgentId } from "../../src/contract/action.ts";
import type { JointAction, JointNode, JointTree } from "../../src/core/rollout/joint-action.ts";
import { mean, sum } from "../../src/core/statistics.ts";
import type { AdvantageEstimator } from "../advantages/advantage-estimators.ts";
import type { TrainingSample } from "../data/training-sample.ts";
import { differ } from "./trajectory.ts";

/** The options of {@link treeSamples}; see `GroupAdvantageOptions`. */
export interface TreeAdvantageOptions {
  readonly estimator: AdvantageEstimator;
  readonly discount?: number;
  readonly turnWeights?: readonly number[];
  readonly crossReturn?: "mean" | "sum";
  readonly terminationWeight?: number;
}

/**
 * Returns the samples of a tree of joint actions: one per completion, compared with the agent's other completions in
 * the same node. The return of a joint action is R_j = r_j + gamma x the mean return of the joint actions that follow
 * it. The return of a completion is the mean (`crossReturn: "sum"`: the sum) over the joint actions that contain it.
 * Unscored joint actions are left out. A completion that is in no scored joint action is left out too.
 */
export function treeSamples({ root }: JointTree, options: TreeAdvantageOptions): TrainingSample[] {
  return root === undefined ? [] : nodesOf(root).flatMap((node) => nodeSamples(node, options));
}

/** Returns true if two completions of an agent in the same node have different returns. */
export function treeHasSignal({ root }: JointTree, options: Omit<TreeAdvantageOptions, "estimator">): boolean {
  return (
    root !== undefined &&
    nodesOf(root).some((node) =>
      Object.keys(node.agents).some((agent) => differ([...scoredReturns(node, agent, options).values()])),
    )
  );
}

/** Returns a node and all nodes below it, parents first. */
export function nodesOf(node: JointNode): JointNode[] {
  const actions = node.handoffAction === undefined ? node.jointActions : [...node.jointActions, node.handoffAction];
  return [node, ...actions.flatMap(({ child }) => (child === undefined ? [] : nodesOf(child)))];
}

function nodeSamples(node: JointNode, options: TreeAdvantageOptions): TrainingSample[] {
  const { estimator, turnWeights, terminationWeight = 1 } = options;
  const weight = (turnWeights?.[node.turn] ?? 1) * (node.endedEarly ? terminationWeight : 1);
  return Object.entries(node.agents).flatMap(([agent, candidates]) => {
    const returns = scoredReturns(node, agent, options);
    const advantages = estimator.estimate([...returns.values()]);
    return [...returns.keys()].flatMap((index, place): TrainingSample[] => {
      const { sequences } = candidates[index]!;
      return sequences.length === 0 ? [] : [{ agent, sequences, advantage: advantages[place]! * weight }];
    });
  });
}

/** Returns the return of each completion of an agent that has one, by the completion's index. */
function scoredReturns(
  node: JointNode,
  agent: AgentId,
  options: Omit<TreeAdvantageOptions, "estimator">,
): Map<number, number> {
  const returns = new Map<number, number>();
  for (const index of node.agents[agent]!.keys()) {
    const own = node.jointActions
      .filter(({ choice }) => choice[agent] === index)
      .flatMap((joint) => jointReturn(joint, agent, options.discount ?? 1) ?? []);
    if (own.length === 0) continue;
    returns.set(index, options.crossReturn === "sum" ? sum(own) : mean(own));
  }
  return returns;
}

/** Returns undefined if the joint action, or everything that follows it, is unscored. */
function jointReturn({ rewards, child }: JointAction, agent: AgentId, discount: number): number | undefined {
  const reward = rewards[agent];
  if (reward?.status === "unscored") return undefined;
  const now = reward?.value ?? 0;
  if (child === undefined || discount === 0) return now;
  const next = child.jointActions.flatMap((joint) => jointReturn(joint, agent, discount) ?? []);
  return next.length === 0 ? undefined : now + discount * mean(next);
}
