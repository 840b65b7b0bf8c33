import type { AgentId } from "../../src/contract/action.ts";
import type { AgentEpisode, Episode, Group, TokenSequence } from "../../src/contract/episode.ts";
import { addRewards, type Reward, scored } from "../../src/contract/reward.ts";
import { deriveSeed } from "../../src/core/random/random.ts";
import type { JointTree } from "../../src/core/rollout/joint-action.ts";
import { sampledTokens } from "../../src/core/rollout/turn-completions.ts";
import type { PlayedGroup } from "../credit/credit.ts";
import { withRewards } from "../credit/joint-rewards.ts";
import type { RewardContext, RewardProcessor } from "./reward-processor.ts";

/** Applies the processors to every scored reward, turn by turn. Unscored rewards stay unchanged. */
export function processRewards(played: PlayedGroup, processors: readonly RewardProcessor[]): PlayedGroup {
  if (processors.length === 0) return played;
  const process: Process = (value, context) =>
    processors.reduce<number | undefined>((reward, processor) => {
      if (reward !== undefined) return processor(reward, context);
      // A turn without a reward gets one only if a processor of every turn changes 0.
      return (processor.everyTurn === true && processor(0, context)) || undefined;
    }, value);
  const { group, tree, greedy } = played;
  return {
    group: processedGroup(group, "group", process),
    tree: tree && processedTree(tree, process),
    greedy: greedy && processedGroup(greedy, "greedy", process),
  };
}

/** Processes the reward of one turn. Undefined means that the turn has no reward. */
type Process = (value: number | undefined, context: RewardContext) => number | undefined;

function processedGroup<Played extends Episode>(
  group: Group<Played>,
  purpose: "group" | "greedy",
  process: Process,
): Group<Played> {
  const episodes = group.episodes.map((episode) => {
    const { seed, task, sampleIndex } = episode;
    const seedOf = (agent: AgentId, turn: number): number =>
      deriveSeed(seed, "reward", purpose, task.hash, sampleIndex, agent, turn);
    return {
      ...episode,
      agents: Object.fromEntries(
        Object.entries(episode.agents).map(([agent, record]) => [
          agent,
          processedRecord(record, (turn) => seedOf(agent, turn), process),
        ]),
      ),
    };
  });
  return { ...group, episodes };
}

function processedRecord(record: AgentEpisode, seedOf: (turn: number) => number, process: Process): AgentEpisode {
  if (record.reward.status === "unscored") return record;
  const turns = record.turns.map((turn) => {
    const context = { length: sampledTokens(record, turn) ?? 0, seed: seedOf(turn.turn) };
    const reward = processedReward(turn.reward, context, process);
    return reward === undefined ? turn : { ...turn, reward };
  });
  const rewards = turns.flatMap(({ reward }) => (reward === undefined ? [] : [reward]));
  return { ...record, turns, reward: rewards.length === 0 ? record.reward : rewards.reduce(addRewards) };
}

function processedReward(reward: Reward | undefined, context: RewardContext, process: Process): Reward | undefined {
  if (reward?.status === "unscored") return reward;
  const value = process(reward?.value, context);
  return value === undefined ? undefined : scored(value, reward?.components);
}

function processedTree(tree: JointTree, process: Process): JointTree {
  const { root, seed, task } = tree;
  const processed =
    root &&
    withRewards(root, (reward, sequences, { agent, path }) => {
      const key = deriveSeed(seed, "reward", "tree", task.hash, agent, ...path);
      return processedReward(reward, { length: sampledCount(sequences), seed: key }, process)!;
    });
  return { ...tree, root: processed };
}

function sampledCount(sequences: readonly TokenSequence[]): number {
  return sequences.flatMap(({ mask }) => mask).filter((sampled) => sampled === 1).length;
}
