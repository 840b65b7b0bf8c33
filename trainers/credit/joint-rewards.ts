import type { AgentId } from "../../src/contract/action.ts";
import type { TokenSequence } from "../../src/contract/episode.ts";
import type { Reward } from "../../src/contract/reward.ts";
import type { JointAction, JointNode } from "../../src/core/rollout/joint-action.ts";

/**
 * Changes every reward of a tree's nodes. `change` gets a reward, and the sequences of the completion that its agent
 * played. They are empty if the agent did not act.
 */
export function withRewards(
  node: JointNode,
  change: (reward: Reward, sequences: readonly TokenSequence[]) => Reward,
): JointNode {
  const sequencesOf = ({ choice }: JointAction, agent: AgentId): readonly TokenSequence[] => {
    const index = choice[agent];
    return index === undefined ? [] : (node.agents[agent]?.[index]?.sequences ?? []);
  };
  const changed = (joint: JointAction): JointAction => ({
    ...joint,
    rewards: Object.fromEntries(
      Object.entries(joint.rewards).map(([agent, reward]) => [agent, change(reward, sequencesOf(joint, agent))]),
    ),
    child: joint.child && withRewards(joint.child, change),
  });
  const { jointActions, handoffAction } = node;
  return { ...node, jointActions: jointActions.map(changed), handoffAction: handoffAction && changed(handoffAction) };
}
