import type { AgentId } from "../../src/contract/action.ts";
import { generalizedAdvantages } from "../advantages/generalized-advantages.ts";
import type { PerToken, TrainingSample } from "../data/training-sample.ts";
import type { Credit, CriticSample, CriticShape } from "./credit.ts";
import { normalizeAdvantages } from "./normalize-advantages.ts";
import { agentsOf, type Trajectory, trajectoriesOf } from "./trajectory.ts";

/** The options of {@link actorCritic}. */
export interface ActorCriticOptions {
  /** Discount per token. */
  readonly gamma: number;
  /** Lambda of generalized advantage estimation. */
  readonly lambda: number;
  readonly critic: CriticShape;
  /** If true, the mean of a batch's advantages is subtracted, and they are divided by their standard deviation. */
  readonly whiten: boolean;
}

/**
 * The credit of PPO. Each sampled token is a step. A turn's reward is paid at its last token. Advantages come from
 * generalized advantage estimation with a critic. If a limit truncated the episode, the critic's value of its last
 * state stands in for the rewards that would have followed.
 */
export function actorCritic({ critic, whiten, ...discounts }: ActorCriticOptions): Credit {
  return {
    critic,
    comparison: "batch",
    assign: async ({ groups }, context) => {
      const trajectories = groups
        .flatMap((group) => agentsOf(group).flatMap((agent) => trajectoriesOf(group, agent)))
        .filter(({ sequences }) => sequences.length > 0);
      const samples: TrainingSample[] = [];
      const critics: CriticSample[] = [];
      for (const [agent, own] of byAgent(trajectories)) {
        const agentCritic = context.critic(agent);
        const values = await agentCritic.values(own.flatMap(({ sequences }) => sequences));
        let taken = 0;
        for (const trajectory of own) {
          const after = values.slice(taken, taken + trajectory.sequences.length);
          taken += trajectory.sequences.length;
          const sample = estimatedSample(trajectory, after, discounts);
          samples.push(sample);
          if (critic.type === "separate") critics.push(...criticSamples(sample, agentCritic.name));
        }
      }
      return { samples: whiten ? normalizeAdvantages(samples, context.learnerOf) : samples, critics };
    },
  };
}

function byAgent(trajectories: readonly Trajectory[]): Map<AgentId, Trajectory[]> {
  const byName = new Map<AgentId, Trajectory[]>();
  for (const trajectory of trajectories) {
    const list = byName.get(trajectory.agent) ?? [];
    list.push(trajectory);
    byName.set(trajectory.agent, list);
  }
  return byName;
}

/**
 * Returns the sample of a trajectory. `after` has, for each sequence, the value of the state after each id. The values
 * before sampled ids and after the last id are read.
 */
function estimatedSample(
  trajectory: Trajectory,
  after: readonly ArrayLike<number>[],
  { gamma, lambda }: { readonly gamma: number; readonly lambda: number },
): TrainingSample {
  const { agent, sequences, turns, truncated } = trajectory;
  const steps = sequences.flatMap(({ mask, turns: turnOf }, sequence) =>
    mask.flatMap((sampled, id) => (sampled === 1 ? [{ sequence, id, turn: turnOf[id]! }] : [])),
  );
  const rewardOf = new Map(turns.map(({ turn, reward }) => [turn, reward]));
  const rewards = steps.map(({ turn }, i) => (steps[i + 1]?.turn === turn ? 0 : (rewardOf.get(turn) ?? 0)));
  const values = steps.map(({ sequence, id }) => after[sequence]![id - 1] ?? 0);
  const last = steps.at(-1)!;
  const bootstrap = truncated ? after[last.sequence]![last.id]! : 0;
  const { advantages, returns } = generalizedAdvantages({ rewards, values, bootstrap, gamma, lambda });
  const spread = (list: readonly number[]): PerToken => {
    const spreadOut = sequences.map(({ ids }) => ids.map(() => 0));
    for (const [i, { sequence, id }] of steps.entries()) spreadOut[sequence]![id] = list[i]!;
    return spreadOut;
  };
  return { agent, sequences, advantage: spread(advantages), values: { returns: spread(returns), old: spread(values) } };
}

/** Returns what a separate critic learns from a sample: the value before each sampled id. */
function criticSamples({ sequences, values }: TrainingSample, critic: string): CriticSample[] {
  return sequences.map(({ ids, mask }, i) => ({
    critic,
    ids,
    targets: mask.flatMap((sampled, id) =>
      sampled === 1 && id > 0 ? [{ after: id - 1, value: values!.returns[i]![id]!, old: values!.old[i]![id]! }] : [],
    ),
  }));
}
