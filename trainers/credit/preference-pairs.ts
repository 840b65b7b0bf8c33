import type { AgentId } from "../../src/contract/action.ts";
import type { Group } from "../../src/contract/episode.ts";
import type { TrainingSample } from "../data/training-sample.ts";
import { mean } from "../statistics.ts";
import type { Credit, CreditContext } from "./credit.ts";
import { agentsOf, type Trajectory, trajectoriesOf } from "./trajectory.ts";

/** What {@link preferencePairs} is made with. */
export interface PreferencePairOptions {
  /** `best-worst`: one pair of each group; `all`: every two episodes of different reward. */
  readonly pairs: "best-worst" | "all";
  /** The least difference of rewards that makes a preference; 0 takes any difference. */
  readonly margin: number;
  /**
   * Rank joint actions by what the team earned rather than each agent's by what it earned. An agent's margin then
   * counts together with the other agents' (MADPO), which are taken as they were when they were sampled.
   */
  readonly joint?: { readonly referenceFree: boolean };
}

/** Ranks the episodes of a group by what they earned: the better of two is preferred to the other. */
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

function agentPairs(group: Group, agent: AgentId, options: PreferencePairOptions): TrainingSample[] {
  const played = trajectoriesOf(group, agent).filter(({ sequences }) => sequences.length > 0);
  return ranked(played, ({ reward }) => reward, options).map(([better, worse]) => ({
    agent,
    sequences: better.sequences,
    rejected: worse.sequences,
  }));
}

async function jointPairs(
  group: Group,
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

/** How much likelier its tokens were to the policy that sampled them than to the reference. */
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

/** The pairs to learn from, the better one first. */
function ranked<T>(
  played: readonly T[],
  rewardOf: (one: T) => number,
  { pairs, margin }: PreferencePairOptions,
): [better: T, worse: T][] {
  const order = [...played].sort((a, b) => rewardOf(b) - rewardOf(a));
  const all = order.flatMap((better, i) => order.slice(i + 1).map((worse): [T, T] => [better, worse]));
  const wanted = pairs === "all" || order.length < 2 ? all : [[order[0]!, order.at(-1)!] as [T, T]];
  return wanted.filter(([better, worse]) => {
    const difference = rewardOf(better) - rewardOf(worse);
    return difference > 0 && difference >= margin;
  });
}
