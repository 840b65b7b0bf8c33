import type { Observations } from "../../environment/environment.ts";
import { addRewards, isReward, type Reward } from "../../environment/reward.ts";
import { observationProblem } from "../../rollout/contract-problem.ts";
import type { Law } from "../law.ts";
import { inEpisode, type PlayedEpisode } from "../play-through.ts";

const slack = 1e-9;

/** What must hold in any episode, whatever the agents answer. */
export const episodeLaws: readonly Law[] = [
  {
    name: "ends-within-max-turns",
    check: (given) =>
      inEpisode(given, ({ ended }) => (ended ? undefined : `went on after ${given.environment.spec.maxTurns} turns`)),
  },
  {
    name: "rewards-are-finite",
    check: (given) =>
      inEpisode(given, (played) => {
        const odd = rewards(played).find(({ reward }) => !isReward(reward));
        return odd && `gave agent "${odd.agent}" the reward ${JSON.stringify(odd.reward)}`;
      }),
  },
  {
    name: "rewards-are-in-range",
    check: (given) => {
      const [low, high] = given.environment.spec.rewardRange;
      return inEpisode(given, (played) => {
        const totals = new Map<string, Reward>();
        for (const { agent, reward } of rewards(played)) {
          const before = totals.get(agent);
          totals.set(agent, before === undefined ? reward : addRewards(before, reward));
        }
        for (const [agent, total] of totals) {
          if (total.status === "scored" && (total.value < low - slack || total.value > high + slack)) {
            return `gave agent "${agent}" ${total.value}, beyond its rewardRange [${low}, ${high}]`;
          }
        }
        return undefined;
      });
    },
  },
  {
    name: "components-sum-to-the-reward",
    check: (given) =>
      inEpisode(given, (played) => {
        for (const { agent, reward } of rewards(played)) {
          if (!isReward(reward) || reward.status === "unscored") continue;
          const sum = Object.values(reward.components).reduce((total, part) => total + part, 0);
          if (Math.abs(sum - reward.value) > slack * Math.max(1, Math.abs(reward.value))) {
            return `gave agent "${agent}" ${reward.value} of components that sum to ${sum}`;
          }
        }
        return undefined;
      }),
  },
  {
    name: "rewards-of-known-agents",
    check: (given) =>
      inEpisode(given, ({ steps }) => {
        const named = steps.flatMap(({ result }) => Object.keys(result.agents));
        const unknown = named.find((agent) => !given.environment.spec.agents.includes(agent));
        return unknown === undefined ? undefined : `told of a step of the unknown agent "${unknown}"`;
      }),
  },
  {
    name: "steps-tell-of-all-who-acted",
    check: (given) =>
      inEpisode(given, ({ steps }) => {
        for (const { actions, result } of steps) {
          const forgotten = Object.keys(actions).find((agent) => typeof result.agents[agent]?.terminated !== "boolean");
          if (forgotten !== undefined) return `did not say what a step meant for agent "${forgotten}"`;
        }
        return undefined;
      }),
  },
  {
    name: "observes-known-agents",
    check: (given) =>
      inEpisode(given, (played) => {
        const observed = observations(played).flatMap(Object.keys);
        const unknown = observed.find((agent) => !given.environment.spec.agents.includes(agent));
        return unknown === undefined ? undefined : `observed the unknown agent "${unknown}"`;
      }),
  },
  {
    name: "observes-only-agents-that-go-on",
    check: (given) =>
      inEpisode(given, ({ steps }) => {
        const over = new Set<string>();
        for (const { result } of steps) {
          for (const [agent, step] of Object.entries(result.agents)) {
            if (step.terminated || step.truncated) over.add(agent);
          }
          const late = Object.keys(result.observations).find((agent) => over.has(agent));
          if (late !== undefined) return `observed agent "${late}" after its end`;
        }
        return undefined;
      }),
  },
  {
    name: "messages-are-valid",
    check: (given) =>
      inEpisode(given, (played) => {
        for (const seen of observations(played)) {
          for (const [agent, observation] of Object.entries(seen)) {
            const problem = observationProblem(agent, observation);
            if (problem !== undefined) return problem;
          }
        }
        return undefined;
      }),
  },
  {
    name: "speaks-not-as-assistant",
    check: (given) =>
      inEpisode(given, (played) => {
        const messages = observations(played).flatMap((seen) =>
          Object.values(seen).flatMap((one) => one.messages ?? []),
        );
        return messages.some((message) => message?.role === "assistant") ? "spoke in the assistant's role" : undefined;
      }),
  },
];

function observations({ first, steps }: PlayedEpisode): readonly Observations[] {
  return [first, ...steps.map(({ result }) => result.observations)];
}

function rewards({ steps }: PlayedEpisode): readonly { readonly agent: string; readonly reward: Reward }[] {
  return steps.flatMap(({ result }) =>
    Object.entries(result.agents).flatMap(([agent, { reward }]) => (reward === undefined ? [] : [{ agent, reward }])),
  );
}
