import type { AgentId } from "../../src/contract/action.ts";
import type { Episode, Group } from "../../src/contract/episode.ts";
import type { JointAction, JointNode, JointTree } from "../../src/core/rollout/joint-action.ts";
import type { PlayedGroup } from "./credit.ts";

/**
 * Removes the records and completions of frozen agents, so that they give no samples, no baseline and no signal. The
 * actions of frozen agents stay in the observations of the others.
 */
export function ofTrainedAgents(played: PlayedGroup, frozen: ReadonlySet<AgentId>): PlayedGroup {
  if (frozen.size === 0) return played;
  const { group, tree, greedy } = played;
  return {
    ...played,
    group: trainedGroup(group, frozen),
    tree: tree && trainedTree(tree, frozen),
    greedy: greedy && trainedGroup(greedy, frozen),
  };
}

/**
 * Returns a group whose episodes have only the records of trained agents. The frozen agents may depend on the episode's
 * index in the group.
 */
export function trainedGroup<Played extends Episode>(
  group: Group<Played>,
  frozen: ReadonlySet<AgentId> | ((sampleIndex: number) => ReadonlySet<AgentId>),
): Group<Played> {
  const frozenIn = typeof frozen === "function" ? frozen : () => frozen;
  return {
    ...group,
    episodes: group.episodes.map((episode) => trainedEpisode(episode, frozenIn(episode.sampleIndex))),
  };
}

function trainedEpisode<Played extends Episode>(episode: Played, frozen: ReadonlySet<AgentId>): Played {
  if (frozen.size === 0) return episode;
  return { ...episode, agents: without(episode.agents, frozen) };
}

function trainedTree(tree: JointTree, frozen: ReadonlySet<AgentId>): JointTree {
  return {
    ...tree,
    episodes: tree.episodes.map((episode) => trainedEpisode(episode, frozen)),
    root: tree.root && trainedNode(tree.root, frozen),
  };
}

function trainedNode(node: JointNode, frozen: ReadonlySet<AgentId>): JointNode {
  return {
    ...node,
    agents: without(node.agents, frozen),
    jointActions: node.jointActions.map((joint) => trainedJointAction(joint, frozen)),
    handoffAction: node.handoffAction && trainedJointAction(node.handoffAction, frozen),
  };
}

function trainedJointAction(joint: JointAction, frozen: ReadonlySet<AgentId>): JointAction {
  return {
    choice: without(joint.choice, frozen),
    rewards: without(joint.rewards, frozen),
    child: joint.child && trainedNode(joint.child, frozen),
    episode: joint.episode && trainedEpisode(joint.episode, frozen),
  };
}

function without<Value>(
  byAgent: Readonly<Record<AgentId, Value>>,
  frozen: ReadonlySet<AgentId>,
): Record<AgentId, Value> {
  return Object.fromEntries(Object.entries(byAgent).filter(([agent]) => !frozen.has(agent)));
}
