import type { Episode } from "../../src/contract/episode.ts";
import { mean } from "../../src/core/statistics.ts";
import type { TrainingSample } from "../data/training-sample.ts";
import type { Credit, Critic, CriticInput, CriticSample, CriticShape } from "./credit.ts";
import { normalizeAdvantages } from "./normalize-advantages.ts";
import { teamState } from "./team-state.ts";
import { agentsOf, type Trajectory, trajectoriesOf } from "./trajectory.ts";

/** The options of {@link turnCritic}. */
export interface TurnCriticOptions {
  /** Discount per turn. */
  readonly discount: number;
  /** What the critic reads. `v`: the prompt of a turn. `q`: the prompt and the completion. */
  readonly input: "v" | "q";
  /** The critic. With scope `learner` it reads the agent's own prompt, with scope `team` every agent's prompt. */
  readonly critic: CriticShape;
  readonly whiten: boolean;
}

/** One input of the critic for a trajectory, with the turns that it values. */
interface Reading extends CriticInput {
  readonly steps: readonly Step[];
  /** True if the beginning of each agent's part was cut so that the input fits. */
  readonly truncated?: boolean;
}

/** A turn, its reward, and the index of the id after which the state to value begins. */
interface Step {
  readonly turn: number;
  readonly reward: number;
  readonly after: number;
}

/**
 * One-step temporal differences per turn, as in CoMLRL's IAC and MAAC. Every token of turn t has the advantage A_t =
 * r_t + gamma V_{t+1} - V_t. The critic's target is r_t + gamma V_{t+1}. After the last turn V is 0. If a limit
 * truncated the episode, V is the critic's value of the last state instead.
 *
 * A critic that reads the agent's own conversation values the states in which the policy sampled (`v`) or which ended a
 * turn (`q`). If the critic is a value head on the policy, the sampler has recorded these values. The input of a team's
 * critic is a text that no policy has read. If it is too long, it is cut and counted in `critic/truncated`.
 */
export function turnCritic({ discount, input, critic, whiten }: TurnCriticOptions): Credit {
  return {
    critic,
    comparison: "batch",
    assign: async ({ groups, withPartners = groups }, context) => {
      const whole = new Map(withPartners.flatMap(({ episodes }) => episodes.map((episode) => [episode.id, episode])));
      const samples: TrainingSample[] = [];
      const critics: CriticSample[] = [];
      let truncated = 0;
      for (const agent of new Set(groups.flatMap(agentsOf))) {
        const agentCritic = context.critic(agent);
        const read = (trajectory: Trajectory): Reading[] =>
          critic.scope === "team"
            ? teamReadings(trajectory, { whole, input, critic: agentCritic })
            : ownReadings(trajectory, input);
        const trajectories = groups
          .flatMap((group) => trajectoriesOf(group, agent))
          .map((trajectory) => ({ trajectory, readings: read(trajectory) }))
          .filter(({ readings }) => readings.length > 0);
        for (const { readings } of trajectories) truncated += readings.filter((reading) => reading.truncated).length;
        const values = await agentCritic.values(trajectories.flatMap(({ readings }) => readings));
        let taken = 0;
        for (const { trajectory, readings } of trajectories) {
          const valued = readings.map(({ steps }) => {
            const after = values[taken++]!;
            return steps.map((step) => ({ ...step, value: after[step.after]! }));
          });
          const steps = oneOfEachTurn(valued.flat(), input);
          const left = trajectory.truncated ? steps.at(-1)!.value : 0;
          const targets = new Map(
            steps.map(({ turn, reward }, i) => [turn, reward + discount * (steps[i + 1]?.value ?? left)]),
          );
          const advantages = new Map(steps.map(({ turn, value }) => [turn, targets.get(turn)! - value]));
          const states = readings.map(({ ids }, i) => ({
            ids,
            targets: valued[i]!.map(({ turn, after, value: old }) => ({ after, value: targets.get(turn)!, old })),
          }));
          const { sequences } = trajectory;
          samples.push({
            agent,
            sequences,
            advantage: sequences.map(({ turns }) => turns.map((turn) => advantages.get(turn) ?? 0)),
            ...(critic.type === "shared" ? { states } : {}),
          });
          if (critic.type === "separate")
            critics.push(...states.map((state) => ({ critic: agentCritic.name, ...state })));
        }
      }
      return {
        samples: whiten ? normalizeAdvantages(samples, context.learnerOf) : samples,
        critics,
        ...(critic.scope === "team" ? { metrics: { "critic/truncated": truncated } } : {}),
      };
    },
  };
}

/**
 * Returns one step of each turn. The model calls of a turn can be in several sequences: the state before the first
 * (`v`) or after the last (`q`) is that of the turn.
 */
function oneOfEachTurn<Valued extends Step>(steps: readonly Valued[], input: "v" | "q"): Valued[] {
  return [...Map.groupBy(steps, ({ turn }) => turn).values()].map((own) => own.at(input === "v" ? 0 : -1)!);
}

/** Returns the agent's own conversation: one reading per sequence, with any number of turns. */
function ownReadings({ sequences, turns }: Trajectory, input: "v" | "q"): Reading[] {
  return sequences.map(({ ids, mask, turns: turnOf, ...recorded }) => {
    const steps = turns.flatMap(({ turn, reward }): Step[] => {
      const sampled = [...ids.keys()].filter((id) => mask[id] === 1 && turnOf[id] === turn);
      if (sampled.length === 0) return [];
      return [{ turn, reward, after: input === "v" ? sampled[0]! - 1 : sampled.at(-1)! }];
    });
    // Ids after the last state do not change any value.
    return { ...recorded, ids: ids.slice(0, steps.at(-1)!.after + 1), steps };
  });
}

/** Returns one reading of the whole team per turn. `whole` has the episodes with their frozen agents, by id. */
function teamReadings(
  trajectory: Trajectory,
  options: {
    readonly whole: ReadonlyMap<string, Episode>;
    readonly input: "v" | "q";
    readonly critic: Pick<Critic, "renderer" | "maxLength">;
  },
): Reading[] {
  const { whole, input, critic } = options;
  const { renderer, maxLength } = critic;
  return trajectory.turns.map(({ turn }) => {
    const episode = whole.get(trajectory.episode.id)!;
    const { ids, truncated } = teamState(episode, { turn, input, renderer, maxLength });
    return { ids, truncated, steps: [{ turn, reward: teamReward(trajectory, turn), after: ids.length - 1 }] };
  });
}

/** Returns the mean reward of a turn over the trained agents that acted in it. */
function teamReward({ episode }: Trajectory, turn: number): number {
  return mean(
    Object.values(episode.agents).flatMap(({ turns }) =>
      turns.flatMap((own) => (own.turn === turn ? [own.reward?.status === "scored" ? own.reward.value : 0] : [])),
    ),
  );
}
