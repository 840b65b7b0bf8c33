import type { AgentId } from "../../contract/action.ts";
import type { Episode } from "../../contract/episode.ts";
import { addRewards, type Reward } from "../../contract/reward.ts";
import type { JointAction, JointNode, JointTree } from "./joint-action.ts";
import type { GrowingJointAction, GrowingNode, JointPath } from "./joint-path.ts";
import type { JointSettings } from "./joint-run.ts";
import type { EpisodePosition } from "./run-settings.ts";
import { addAgentRewards, type GroupReward, groupRewards } from "./score-group.ts";

/** Creates the finished tree of a task, with the rewards of `scoreGroup` over all its paths. */
export async function jointTree<Task>(options: {
  readonly root: JointPath<Task>;
  readonly settings: JointSettings<Task>;
  readonly position: EpisodePosition<Task>;
  readonly signal: AbortSignal;
}): Promise<JointTree> {
  const { root, settings, position, signal } = options;
  const { entry, seed } = position;
  const leaves = leavesOf(root);
  const played = leaves.map(({ trajectory, end }, sampleIndex) =>
    trajectory.episode({ entry, sampleIndex, seed, outcome: end!.outcome, durationMs: end!.durationMs }),
  );
  const rewardOf = await groupRewards({
    factory: settings.pool.factory,
    episodes: played,
    limitMs: settings.limits.environmentMs,
    signal,
  });
  const episodes =
    rewardOf === undefined
      ? played
      : played.map((episode) => addAgentRewards(episode, (agent) => rewardOf(episode, agent)));
  const episodeOf = new Map(leaves.map((path, sampleIndex) => [path, episodes[sampleIndex]!]));
  return {
    task: { index: entry.index, id: entry.id, hash: entry.hash },
    seed,
    ...(root.node === undefined ? {} : { root: finishedNode(root.node, { episodeOf, rewardOf }) }),
    episodes,
  };
}

/** The leaves below a path, depth first. */
function leavesOf<Task>(path: JointPath<Task>): readonly JointPath<Task>[] {
  if (path.node === undefined) return [path];
  const { jointActions, handoffAction } = path.node;
  return [...jointActions, ...(handoffAction === undefined ? [] : [handoffAction])].flatMap((one) =>
    leavesOf(one.path),
  );
}

interface Leaves<Task> {
  readonly episodeOf: ReadonlyMap<JointPath<Task>, Episode>;
  readonly rewardOf: GroupReward | undefined;
}

function finishedNode<Task>(node: GrowingNode<Task>, leaves: Leaves<Task>): JointNode {
  const { path, agents, jointActions, handoffAction, endedEarly } = node;
  return {
    turn: path.trajectory.turns,
    agents: Object.fromEntries([...agents].map(([agent, all]) => [agent, all.map(({ shown }) => shown)])),
    jointActions: jointActions.map((one) => finishedJointAction(one, leaves)),
    ...(handoffAction === undefined ? {} : { handoffAction: finishedJointAction(handoffAction, leaves) }),
    endedEarly,
  };
}

function finishedJointAction<Task>(
  { choice, rewards, path }: GrowingJointAction<Task>,
  leaves: Leaves<Task>,
): JointAction {
  if (path.node !== undefined) return { choice, rewards, child: finishedNode(path.node, leaves) };
  const episode = leaves.episodeOf.get(path)!;
  return { choice, rewards: withGroupReward(rewards, (agent) => leaves.rewardOf?.(episode, agent)), episode };
}

function withGroupReward(
  rewards: JointAction["rewards"],
  groupReward: (agent: AgentId) => Reward | undefined,
): JointAction["rewards"] {
  return Object.fromEntries(
    Object.entries(rewards).map(([agent, reward]) => {
      const more = groupReward(agent);
      return [agent, more === undefined ? reward : addRewards(reward, more)];
    }),
  );
}
