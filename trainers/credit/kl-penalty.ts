import type { AgentEpisode, AgentTurn, TokenSequence } from "../../src/contract/episode.ts";
import { addRewards, scored } from "../../src/contract/reward.ts";
import type { JointAction, JointNode, JointTree } from "../../src/core/rollout/joint-action.ts";
import type { TrainingEpisode, TrainingGroup } from "../data/training-group.ts";
import type { Credit, CreditContext } from "./credit.ts";
import { nodesOf } from "./tree-advantages.ts";

/**
 * Wraps a credit so that the divergence from the reference is subtracted from the rewards first. The reward of each
 * turn is lowered by weight x the sum over its tokens of k3 = e^d - d - 1 with d = p - q (Schulman 2020,
 * http://joschu.net/blog/kl-approx.html). If joint actions branch, the reward of a joint action is lowered for each
 * agent by the tokens of the agent's own completion, before returns are computed. The episodes of a tree repeat the
 * same turns and stay unchanged.
 */
export function withKlPenalty(credit: Credit, weight: number): Credit {
  if (weight === 0) return credit;
  return {
    ...credit,
    needsReference: true,
    assign: async (experience, context) => {
      const groups: TrainingGroup[] = [];
      const trees: JointTree[] = [];
      for (const tree of experience.trees ?? []) trees.push(await penalisedTree(tree, weight, context));
      if (experience.trees !== undefined) return credit.assign({ ...experience, trees }, context);
      for (const group of experience.groups) groups.push(await penalised(group, weight, context));
      return credit.assign({ ...experience, groups }, context);
    },
  };
}

async function penalised(group: TrainingGroup, weight: number, context: CreditContext): Promise<TrainingGroup> {
  const episodes: TrainingEpisode[] = [];
  for (const episode of group.episodes) {
    const agents: Record<string, AgentEpisode> = {};
    for (const [agent, record] of Object.entries(episode.agents)) {
      agents[agent] = lowered(record, await divergences(episode.sequencesOf(agent), agent, context), weight);
    }
    episodes.push({ ...episode, agents });
  }
  return { ...group, episodes };
}

/** Returns the divergence of each turn. */
async function divergences(
  sequences: readonly TokenSequence[],
  agent: string,
  context: CreditContext,
): Promise<Map<number, number>> {
  const reference = await context.referenceLogprobs(agent, sequences);
  const sums = new Map<number, number>();
  for (const [i, sequence] of sequences.entries()) {
    for (const [id, sampled] of sequence.mask.entries()) {
      if (sampled === 0) continue;
      const turn = sequence.turns[id]!;
      sums.set(turn, (sums.get(turn) ?? 0) + k3(reference[i]![id]!, sequence.logprobs[id]!));
    }
  }
  return sums;
}

/** Returns e^d - d - 1 with d = p - q. */
function k3(p: number, q: number): number {
  return Math.expm1(p - q) - (p - q);
}

function lowered(record: AgentEpisode, divergence: ReadonlyMap<number, number>, weight: number): AgentEpisode {
  let total = record.reward;
  const turns = record.turns.map((turn): AgentTurn => {
    const penalty = scored(-weight * (divergence.get(turn.turn) ?? 0));
    total = addRewards(total, penalty);
    return { ...turn, reward: turn.reward === undefined ? penalty : addRewards(turn.reward, penalty) };
  });
  return { ...record, turns, reward: total };
}

async function penalisedTree(tree: JointTree, weight: number, context: CreditContext): Promise<JointTree> {
  if (tree.root === undefined) return tree;
  const sequences = nodesOf(tree.root).flatMap(({ agents }) =>
    Object.values(agents).flatMap((candidates) => candidates.flatMap(({ sequence }) => sequence ?? [])),
  );
  const divergence = new Map<TokenSequence, number>();
  for (const agent of new Set(sequences.map((sequence) => sequence.agent))) {
    const own = sequences.filter((sequence) => sequence.agent === agent);
    const reference = await context.referenceLogprobs(agent, own);
    for (const [i, sequence] of own.entries()) divergence.set(sequence, divergenceOf(sequence, reference[i]!));
  }
  return { ...tree, root: loweredNode(tree.root, (sequence) => weight * divergence.get(sequence)!) };
}

/** Returns the divergence of one completion. The mask is 1 on the completion only. */
function divergenceOf({ mask, logprobs }: TokenSequence, reference: Float32Array): number {
  let sum = 0;
  for (const [id, sampled] of mask.entries()) if (sampled === 1) sum += k3(reference[id]!, logprobs[id]!);
  return sum;
}

function loweredNode(node: JointNode, penaltyOf: (sequence: TokenSequence) => number): JointNode {
  const penalised = (joint: JointAction): JointAction => ({
    ...joint,
    rewards: Object.fromEntries(
      Object.entries(joint.rewards).map(([agent, reward]) => {
        const index = joint.choice[agent];
        const sequence = index === undefined ? undefined : node.agents[agent]?.[index]?.sequence;
        return [agent, sequence === undefined ? reward : addRewards(reward, scored(-penaltyOf(sequence)))];
      }),
    ),
    ...(joint.child === undefined ? {} : { child: loweredNode(joint.child, penaltyOf) }),
  });
  return {
    ...node,
    jointActions: node.jointActions.map(penalised),
    ...(node.handoffAction === undefined ? {} : { handoffAction: penalised(node.handoffAction) }),
  };
}
