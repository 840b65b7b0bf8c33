import type { Episode } from "../../src/contract/episode.ts";
import type { TrainingSample } from "../data/training-sample.ts";
import { mean } from "../statistics.ts";
import type { Credit, Critic, CriticInput, CriticSample, CriticShape } from "./credit.ts";
import { teamState } from "./team-state.ts";
import { agentsOf, type Trajectory, trajectoriesOf } from "./trajectory.ts";
import { whitened } from "./whitened.ts";

/** What {@link turnCritic} is made with. */
export interface TurnCriticOptions {
  /** Discount per turn. */
  readonly discount: number;
  /** What the critic reads: `v`, the prompt of a turn; `q`, the prompt and the answer. */
  readonly input: "v" | "q";
  /** What reads the agent's own prompt, or, as the team's, every agent's. */
  readonly critic: CriticShape;
  readonly whiten: boolean;
}

/** What a critic reads of a trajectory at once, and the turns that it judges there. */
interface Reading extends CriticInput {
  readonly steps: readonly Step[];
  /** It lost the beginnings of its parts, to fit. */
  readonly truncated?: boolean;
}

/** A turn, what was earned by it, and after which id of what is read the state stands that is judged. */
interface Step {
  readonly turn: number;
  readonly reward: number;
  readonly after: number;
}

/**
 * One-step temporal differences per turn, as in CoMLRL's IAC and MAAC: A_t = r_t + gamma V_{t+1} - V_t for every token
 * of turn t, and r_t + gamma V_{t+1} is what the critic is to predict. After the last turn there is nothing to come,
 * but where a limit cut the episode off: then the critic's value of the last state stands in.
 *
 * A critic that reads the agent's own conversation judges states in which the policy sampled (`v`) or that ended a turn
 * (`q`): where it is a head on the policy, the sampler has told their values. What a team's critic reads is a text of
 * its own, which no policy has read before; one that is too long for it is cut, and counted as `critic/truncated`.
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
        const judge = context.critic(agent);
        const read = (trajectory: Trajectory): Reading[] =>
          critic.scope === "team"
            ? teamReadings(trajectory, { whole, input, critic: judge })
            : ownReadings(trajectory, input);
        const trajectories = groups
          .flatMap((group) => trajectoriesOf(group, agent))
          .map((trajectory) => ({ trajectory, readings: read(trajectory) }))
          .filter(({ readings }) => readings.length > 0);
        for (const { readings } of trajectories) truncated += readings.filter((reading) => reading.truncated).length;
        const values = await judge.values(trajectories.flatMap(({ readings }) => readings));
        let taken = 0;
        for (const { trajectory, readings } of trajectories) {
          const judged = readings.map(({ steps }) => {
            const after = values[taken++]!;
            return steps.map((step) => ({ ...step, value: after[step.after]! }));
          });
          const steps = judged.flat();
          const left = trajectory.truncated ? steps.at(-1)!.value : 0;
          const targets = new Map(
            steps.map(({ turn, reward }, i) => [turn, reward + discount * (steps[i + 1]?.value ?? left)]),
          );
          const advantages = new Map(steps.map(({ turn, value }) => [turn, targets.get(turn)! - value]));
          const states = readings.map(({ ids }, i) => ({
            ids,
            targets: judged[i]!.map(({ turn, after, value: old }) => ({ after, value: targets.get(turn)!, old })),
          }));
          const { sequences } = trajectory;
          samples.push({
            agent,
            sequences,
            advantage: sequences.map(({ turns }) => turns.map((turn) => advantages.get(turn) ?? 0)),
            ...(critic.type === "shared" ? { states } : {}),
          });
          if (critic.type === "separate") critics.push(...states.map((state) => ({ critic: judge.name, ...state })));
        }
      }
      return {
        samples: whiten ? whitened(samples, context.learnerOf) : samples,
        critics,
        ...(critic.scope === "team" ? { metrics: { "critic/truncated": truncated } } : {}),
      };
    },
  };
}

/** The agent's own conversation: one reading per sequence, whatever number of turns it has. */
function ownReadings({ sequences, turns }: Trajectory, input: "v" | "q"): Reading[] {
  return sequences.map(({ ids, mask, turns: turnOf, ...told }) => {
    const steps = turns.flatMap(({ turn, reward }): Step[] => {
      const sampled = [...ids.keys()].filter((id) => mask[id] === 1 && turnOf[id] === turn);
      if (sampled.length === 0) return [];
      return [{ turn, reward, after: input === "v" ? sampled[0]! - 1 : sampled.at(-1)! }];
    });
    // What comes after the last state says nothing of any.
    return { ...told, ids: ids.slice(0, steps.at(-1)!.after + 1), steps };
  });
}

/** What the whole team read in each turn, by itself: `whole` has the episodes with their frozen agents, by id. */
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

/** The mean over the trained agents that acted in a turn of what they earned by it. */
function teamReward({ episode }: Trajectory, turn: number): number {
  return mean(
    Object.values(episode.agents).flatMap(({ turns }) =>
      turns.flatMap((own) => (own.turn === turn ? [own.reward?.status === "scored" ? own.reward.value : 0] : [])),
    ),
  );
}
