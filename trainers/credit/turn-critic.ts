import type { AgentId } from "../../src/environment/environment.ts";
import type { Group } from "../../src/rollout/episode.ts";
import type { TrainingSample } from "../data/training-sample.ts";
import { mean } from "../statistics.ts";
import type { Credit, CreditContext, CriticSample, CriticShape } from "./credit.ts";
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

/** A state that a critic is asked about, and what was earned in the turn that began there. */
interface Step {
  readonly trajectory: Trajectory;
  readonly turn: number;
  readonly reward: number;
  readonly ids: readonly number[];
  /** The state is the one after this id. */
  readonly after: number;
}

/**
 * One-step temporal differences per turn, as in CoMLRL's IAC and MAAC: A_t = r_t + gamma V_{t+1} - V_t for every token
 * of turn t, and r_t + gamma V_{t+1} is what the critic is to predict. After the last turn there is nothing to come,
 * but where a limit cut the episode off: then the critic's value of the last state stands in.
 */
export function turnCritic({ discount, input, critic, whiten }: TurnCriticOptions): Credit {
  return {
    critic,
    assign: async ({ groups }, context) => {
      const samples: TrainingSample[] = [];
      const critics: CriticSample[] = [];
      for (const agent of new Set(groups.flatMap(agentsOf))) {
        const judge = context.critic(agent);
        const perTrajectory = groups.flatMap((group) => stepsOf({ group, agent, input, scope: critic.scope, context }));
        const values = await judge.values(perTrajectory.flat().map(({ ids }) => ids));
        let taken = 0;
        for (const steps of perTrajectory) {
          const own = steps.map((step, i) => values[taken + i]![step.after]!);
          taken += steps.length;
          const targets = steps.map((step, i) => {
            const left = steps[0]!.trajectory.truncated ? own[i]! : 0;
            return step.reward + discount * (own[i + 1] ?? left);
          });
          const advantages = new Map(steps.map(({ turn }, i) => [turn, targets[i]! - own[i]!]));
          const { sequences } = steps[0]!.trajectory;
          const states = steps.map(({ ids, after }, i) => ({
            ids,
            targets: [{ after, value: targets[i]!, old: own[i]! }],
          }));
          samples.push({
            agent,
            sequences,
            advantage: sequences.map(({ turns }) => turns.map((turn) => advantages.get(turn) ?? 0)),
            ...(critic.type === "shared" ? { states } : {}),
          });
          if (critic.type === "separate") critics.push(...states.map((state) => ({ critic: judge.name, ...state })));
        }
      }
      return { samples: whiten ? whitened(samples, context.learnerOf) : samples, critics };
    },
  };
}

/** The steps of each of an agent's trajectories that sampled anything. */
function stepsOf(options: {
  readonly group: Group;
  readonly agent: AgentId;
  readonly input: "v" | "q";
  readonly scope: CriticShape["scope"];
  readonly context: CreditContext;
}): Step[][] {
  const { group, agent, input, scope, context } = options;
  return trajectoriesOf(group, agent)
    .map((trajectory) =>
      trajectory.turns.flatMap(({ turn, reward }): Step[] => {
        if (scope === "team") {
          const ids = context
            .critic(agent)
            .renderer.start({ messages: [teamState(trajectory.episode, { turn, input })] });
          return [{ trajectory, turn, reward: teamReward(trajectory, turn), ids, after: ids.length - 1 }];
        }
        const place = placeOf(trajectory, turn);
        if (place === undefined) return [];
        const after = input === "v" ? place.first - 1 : place.last;
        // What comes after the state says nothing of it.
        return [{ trajectory, turn, reward, ids: place.ids.slice(0, after + 1), after }];
      }),
    )
    .filter((steps) => steps.length > 0);
}

/** Where a turn was sampled: its sequence, and the first and last of its sampled ids. */
function placeOf(
  { sequences }: Trajectory,
  turn: number,
): { readonly ids: readonly number[]; readonly first: number; readonly last: number } | undefined {
  for (const { ids, mask, turns } of sequences) {
    const sampled = [...ids.keys()].filter((id) => mask[id] === 1 && turns[id] === turn);
    if (sampled.length > 0) return { ids, first: sampled[0]!, last: sampled.at(-1)! };
  }
  return undefined;
}

/** The mean over the agents that acted in a turn of what they earned by it. */
function teamReward({ episode }: Trajectory, turn: number): number {
  return mean(
    Object.values(episode.agents).flatMap(({ turns }) =>
      turns.flatMap((own) => (own.turn === turn ? [own.reward?.status === "scored" ? own.reward.value : 0] : [])),
    ),
  );
}
