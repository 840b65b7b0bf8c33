import type { AgentEpisode, AgentTurn, TokenSequence } from "../../src/contract/episode.ts";
import { addRewards, type Reward, scored } from "../../src/contract/reward.ts";
import type { JointTree } from "../../src/core/rollout/joint-action.ts";
import type { TrainingEpisode, TrainingGroup } from "../data/training-group.ts";
import type { Credit, CreditContext } from "./credit.ts";
import { withRewards } from "./joint-rewards.ts";
import { nodesOf } from "./tree-advantages.ts";

/**
 * Wraps a credit so that the divergence from the reference is subtracted from the rewards first. The reward of each
 * turn is lowered by weight x the sum over its tokens of k3 = e^d - d - 1 with d = p - q (Schulman 2020,
 * http://joschu.net/blog/kl-approx.html). If joint actions branch, the reward of a joint action is lowered for each
 * agent by the tokens of the agent's own completion, before returns are computed. The episodes of a tree repeat the
 * same turns and stay unchanged. The mean of k3 over all tokens is the metric `kl/reference`.
 */
export function withKlPenalty(credit: Credit, weight: number): Credit {
  if (weight === 0) return credit;
  return {
    ...credit,
    needsReference: true,
    assign: async (experience, context) => {
      const divergence = new Divergence();
      const penalty = { weight, context, divergence };
      const groups: TrainingGroup[] = [];
      const trees: JointTree[] = [];
      for (const tree of experience.trees ?? []) trees.push(await penalizedTree(tree, penalty));
      if (experience.trees === undefined) {
        for (const group of experience.groups) groups.push(await penalized(group, penalty));
      }
      const lowered = experience.trees === undefined ? { groups } : { trees };
      const credited = await credit.assign({ ...experience, ...lowered }, context);
      return { ...credited, metrics: { ...credited.metrics, ...divergence.metrics() } };
    },
  };
}

interface Penalty {
  readonly weight: number;
  readonly context: CreditContext;
  readonly divergence: Divergence;
}

/** Computes the divergence of tokens and its mean over them. */
class Divergence {
  #sum = 0;
  #tokens = 0;

  /** Returns k3 = e^d - d - 1 with d = p - q. */
  of(p: number, q: number): number {
    const k3 = Math.expm1(p - q) - (p - q);
    this.#sum += k3;
    this.#tokens += 1;
    return k3;
  }

  metrics(): Record<string, number> {
    return this.#tokens === 0 ? {} : { "kl/reference": this.#sum / this.#tokens };
  }
}

async function penalized(group: TrainingGroup, penalty: Penalty): Promise<TrainingGroup> {
  const episodes: TrainingEpisode[] = [];
  for (const episode of group.episodes) {
    const agents: Record<string, AgentEpisode> = {};
    for (const [agent, record] of Object.entries(episode.agents)) {
      agents[agent] = lowered(record, await divergences(episode.sequencesOf(agent), agent, penalty), penalty.weight);
    }
    episodes.push({ ...episode, agents });
  }
  return { ...group, episodes };
}

/** Returns the divergence of each turn. */
async function divergences(
  sequences: readonly TokenSequence[],
  agent: string,
  { context, divergence }: Penalty,
): Promise<Map<number, number>> {
  const reference = await context.referenceLogprobs(agent, sequences);
  const sums = new Map<number, number>();
  for (const [i, sequence] of sequences.entries()) {
    for (const [id, sampled] of sequence.mask.entries()) {
      if (sampled === 0) continue;
      const turn = sequence.turns[id]!;
      sums.set(turn, (sums.get(turn) ?? 0) + divergence.of(reference[i]![id]!, sequence.logprobs[id]!));
    }
  }
  return sums;
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

async function penalizedTree(tree: JointTree, { weight, context, divergence }: Penalty): Promise<JointTree> {
  if (tree.root === undefined) return tree;
  const sequences = nodesOf(tree.root).flatMap(({ agents }) =>
    Object.values(agents).flatMap((candidates) => candidates.flatMap((candidate) => candidate.sequences)),
  );
  const sums = new Map<TokenSequence, number>();
  for (const agent of new Set(sequences.map((sequence) => sequence.agent))) {
    const own = sequences.filter((sequence) => sequence.agent === agent);
    const reference = await context.referenceLogprobs(agent, own);
    for (const [i, sequence] of own.entries()) sums.set(sequence, sumOf(divergence, sequence, reference[i]!));
  }
  const penalized = (reward: Reward, sampled: readonly TokenSequence[]): Reward =>
    sampled.reduce((sum, sequence) => addRewards(sum, scored(-weight * sums.get(sequence)!)), reward);
  return { ...tree, root: withRewards(tree.root, penalized) };
}

/** Returns the divergence of one completion. The mask is 1 on the completion only. */
function sumOf(divergence: Divergence, { mask, logprobs }: TokenSequence, reference: Float32Array): number {
  let sum = 0;
  for (const [id, sampled] of mask.entries()) if (sampled === 1) sum += divergence.of(reference[id]!, logprobs[id]!);
  return sum;
}
