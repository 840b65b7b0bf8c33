import type { AgentId } from "../../src/contract/action.ts";
import { difference, mean } from "../../src/core/statistics.ts";
import type { TrainingGroup } from "../data/training-group.ts";
import type { TrainingSample } from "../data/training-sample.ts";
import type { Credit, CreditContext } from "./credit.ts";
import { agentsOf, type Trajectory, trajectoriesOf } from "./trajectory.ts";

/** The options of {@link preferencePairs}. */
export interface PreferencePairOptions {
  /** `best-worst`: one pair per group. `all`: each pair of episodes with different rewards. */
  readonly pairs: "best-worst" | "all";
  /** The smallest difference of rewards that makes a preference. With 0, any difference does. */
  readonly margin: number;
  /**
   * If set, ranks joint actions by the team's reward instead of ranking each agent's episodes by its own. An agent's
   * margin is then added to the other agents' margins (MADPO), which are taken from the time of sampling.
   */
  readonly joint?: { readonly referenceFree: boolean };
}

/** Ranks the episodes of a group by their rewards. Of a pair, the episode with the higher reward is preferred. */
export function preferencePairs(options: PreferencePairOptions): Credit {
  const { joint } = options;
  return {
    needsReference: joint?.referenceFree === false,
    assign: async ({ groups }, context) => {
      const samples: TrainingSample[] = [];
      for (const group of groups) {
        if (joint === undefined) {
          for (const agent of agentsOf(group)) samples.push(...agentPairs(group, agent, options));
        } else {
          samples.push(...(await jointPairs(group, options, context)));
        }
      }
      return { samples };
    },
  };
}

function agentPairs(group: TrainingGroup, agent: AgentId, options: PreferencePairOptions): TrainingSample[] {
  const played = trajectoriesOf(group, agent).filter(({ sequences }) => sequences.length > 0);
  return ranked(played, ({ reward }) => reward, options).map(([better, worse]) => ({
    agent,
    sequences: better.sequences,
    rejected: worse.sequences,
  }));
}

async function jointPairs(
  group: TrainingGroup,
  options: PreferencePairOptions,
  context: CreditContext,
): Promise<TrainingSample[]> {
  const agents = agentsOf(group);
  const byAgent = agents.map((agent) => trajectoriesOf(group, agent));
  const teams = group.episodes
    .map((episode) => byAgent.flatMap((own) => own.filter((trajectory) => trajectory.episode === episode)))
    .filter((team) => team.length === agents.length && team.every(({ sequences }) => sequences.length > 0));
  const samples: TrainingSample[] = [];
  for (const [better, worse] of ranked(teams, (team) => mean(team.map(({ reward }) => reward)), options)) {
    const margins: number[] = [];
    for (const [i, trajectory] of better.entries()) {
      margins.push((await gain(trajectory, options, context)) - (await gain(worse[i]!, options, context)));
    }
    const total = margins.reduce((sum, margin) => sum + margin, 0);
    for (const [i, { agent, sequences }] of better.entries()) {
      samples.push({ agent, sequences, rejected: worse[i]!.sequences, marginOffset: total - margins[i]! });
    }
  }
  return samples;
}

/** Returns the sum over the sampled tokens of the policy's logprob minus the reference's. */
async function gain(
  { agent, sequences }: Trajectory,
  { joint }: PreferencePairOptions,
  context: CreditContext,
): Promise<number> {
  const reference = joint?.referenceFree === false ? await context.referenceLogprobs(agent, sequences) : undefined;
  let sum = 0;
  for (const [i, { mask, logprobs }] of sequences.entries()) {
    for (const [id, sampled] of mask.entries()) {
      if (sampled === 1) sum += logprobs[id]! - (reference?.[i]?.[id] ?? 0);
    }
  }
  return sum;
}

/** Returns the pairs to train on, the better one first. */
function ranked<T>(
  played: readonly T[],
  rewardOf: (one: T) => number,
  { pairs, margin }: PreferencePairOptions,
): [better: T, worse: T][] {
  const order = [...played].sort((a, b) => rewardOf(b) - rewardOf(a));
  const all = order.flatMap((better, i) => order.slice(i + 1).map((worse): [T, T] => [better, worse]));
  const wanted = pairs === "all" || order.length < 2 ? all : [[order[0]!, order.at(-1)!] as [T, T]];
  return wanted.filter(([better, worse]) => {
    const apart = difference(rewardOf(better), rewardOf(worse));
    return apart > 0 && apart >= margin;
  });
}
