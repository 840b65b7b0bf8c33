import type { AgentEpisode, Episode, Group, TokenSequence } from "../../src/contract/episode.ts";
import { addRewards, type Reward, scored } from "../../src/contract/reward.ts";
import type { JointTree } from "../../src/core/rollout/joint-action.ts";
import { sampledTokens } from "../../src/core/rollout/turn-completions.ts";
import type { PlayedGroup } from "../credit/credit.ts";
import { withRewards } from "../credit/joint-rewards.ts";
import type { RewardProcessor } from "./reward-processor.ts";

/** Applies the processors to every scored reward, turn by turn. Unscored rewards stay unchanged. */
export function processRewards(played: PlayedGroup, processors: readonly RewardProcessor[]): PlayedGroup {
  if (processors.length === 0) return played;
  const process: Process = (value, length) =>
    processors.reduce<number | undefined>((reward, processor) => {
      if (reward !== undefined) return processor(reward, { length });
      // A turn without a reward gets one only if a processor of every turn changes 0.
      return (processor.everyTurn === true && processor(0, { length })) || undefined;
    }, value);
  const { group, tree, greedy } = played;
  return {
    group: processedGroup(group, process),
    tree: tree && processedTree(tree, process),
    greedy: greedy && processedGroup(greedy, process),
  };
}

/** Processes the reward of one turn. Undefined means that the turn has no reward. */
type Process = (value: number | undefined, length: number) => number | undefined;

function processedGroup<Played extends Episode>(group: Group<Played>, process: Process): Group<Played> {
  const episodes = group.episodes.map((episode) => ({
    ...episode,
    agents: Object.fromEntries(
      Object.entries(episode.agents).map(([agent, record]) => [agent, processedRecord(record, process)]),
    ),
  }));
  return { ...group, episodes };
}

function processedRecord(record: AgentEpisode, process: Process): AgentEpisode {
  if (record.reward.status === "unscored") return record;
  const turns = record.turns.map((turn) => {
    const length = sampledTokens(record, turn) ?? 0;
    const reward = processedReward(turn.reward, length, process);
    return reward === undefined ? turn : { ...turn, reward };
  });
  const rewards = turns.flatMap(({ reward }) => (reward === undefined ? [] : [reward]));
  return { ...record, turns, reward: rewards.length === 0 ? record.reward : rewards.reduce(addRewards) };
}

function processedReward(reward: Reward | undefined, length: number, process: Process): Reward | undefined {
  if (reward?.status === "unscored") return reward;
  const value = process(reward?.value, length);
  return value === undefined ? undefined : scored(value, reward?.components);
}

function processedTree(tree: JointTree, process: Process): JointTree {
  const root =
    tree.root &&
    withRewards(tree.root, (reward, sequences) => processedReward(reward, sampledCount(sequences), process)!);
  return { ...tree, root };
}

function sampledCount(sequences: readonly TokenSequence[]): number {
  return sequences.flatMap(({ mask }) => mask).filter((sampled) => sampled === 1).length;
}
