import type { AgentId } from "../../src/contract/action.ts";
import type { TokenSequence } from "../../src/contract/episode.ts";
import type { Reward } from "../../src/contract/reward.ts";
import type { JointAction, JointNode } from "../../src/core/rollout/joint-action.ts";

/** Where a reward is in a tree of joint actions. */
export interface JointPlace {
  readonly agent: AgentId;
  /** The indices of the joint actions from the root. A node's `handoffAction` has the index -1. */
  readonly path: readonly number[];
}

/**
 * Changes every reward of a tree's nodes. `change` gets a reward, the sequences of the completion that its agent
 * played, and its place. The sequences are empty if the agent did not act.
 */
export function withRewards(
  node: JointNode,
  change: (reward: Reward, sequences: readonly TokenSequence[], place: JointPlace) => Reward,
  above: readonly number[] = [],
): JointNode {
  const sequencesOf = ({ choice }: JointAction, agent: AgentId): readonly TokenSequence[] => {
    const index = choice[agent];
    return index === undefined ? [] : (node.agents[agent]?.[index]?.sequences ?? []);
  };
  const changed = (joint: JointAction, index: number): JointAction => {
    const path = [...above, index];
    return {
      ...joint,
      rewards: Object.fromEntries(
        Object.entries(joint.rewards).map(([agent, reward]) => [
          agent,
          change(reward, sequencesOf(joint, agent), { agent, path }),
        ]),
      ),
      child: joint.child && withRewards(joint.child, change, path),
    };
  };
  const { jointActions, handoffAction } = node;
  return {
    ...node,
    jointActions: jointActions.map(changed),
    handoffAction: handoffAction && changed(handoffAction, -1),
  };
}
