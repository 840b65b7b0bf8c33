import { isDeepStrictEqual } from "node:util";
import type { Observations } from "../../contract/environment.ts";
import type { Message } from "../../contract/message.ts";
import { messageProblem } from "../../contract/message-problem.ts";
import { addRewards, isReward, type Reward, rewardText } from "../../contract/reward.ts";
import { isBlankPrompt } from "../../core/environment/validate-prompt.ts";
import { agentStepProblem, observationProblem } from "../../core/rollout/contract-problem.ts";
import { asText, type PlayedEpisode } from "../play-episode.ts";
import type { PlayedCase, Rule } from "../rule.ts";

const slack = 1e-9;

/** The rules that every episode must follow, for any answers. They check a played episode. */
export const episodeRules: readonly Rule<PlayedCase>[] = [
  {
    name: "ends-within-max-turns",
    hint: "Send no observation after the last turn: end the episode, or raise maxTurns.",
    check: ({ environment, episode }) =>
      episode.ended ? undefined : `went on after ${environment.spec.maxTurns} turns, its maxTurns`,
  },
  {
    name: "ends-with-a-reward",
    hint: "Return a reward in the last step, even if it is 0. An episode without a reward counts as 0.",
    check: ({ environment, episode }) => {
      if (environment.scoreGroup !== undefined || !episode.ended || hasReward(episode)) return undefined;
      const last = Object.values(episode.steps.at(-1)?.result.agents ?? {});
      return last.some((step) => step?.terminated) ? "ended an episode without a reward" : undefined;
    },
  },
  {
    name: "rewards-are-finite",
    hint: "Return finite numbers, or unscored(reason) if judging failed.",
    check: ({ episode }) => {
      const odd = rewards(episode).find(({ reward }) => !isReward(reward));
      return odd && `gave agent "${odd.agent}" the reward ${rewardText(odd.reward)}`;
    },
  },
  {
    name: "rewards-are-in-range",
    hint: "Set rewardRange to the lowest and the highest total reward of an agent in an episode.",
    check: ({ environment, episode }) => {
      const [low, high] = environment.spec.rewardRange;
      const totals = new Map<string, Reward>();
      for (const { agent, reward } of rewards(episode)) {
        if (!isReward(reward)) continue;
        const before = totals.get(agent);
        totals.set(agent, before === undefined ? reward : addRewards(before, reward));
      }
      for (const [agent, total] of totals) {
        if (total.status === "scored" && (total.value < low - slack || total.value > high + slack)) {
          return `gave agent "${agent}" ${total.value}, beyond its rewardRange [${low}, ${high}]`;
        }
      }
      return undefined;
    },
  },
  {
    name: "components-sum-to-the-reward",
    hint: "List all parts of a reward as components. Penalties are negative.",
    check: ({ episode }) => {
      for (const { agent, reward } of rewards(episode)) {
        if (!isReward(reward) || reward.status === "unscored") continue;
        const sum = Object.values(reward.components).reduce((total, part) => total + part, 0);
        if (Math.abs(sum - reward.value) > slack * Math.max(1, Math.abs(reward.value))) {
          return `gave agent "${agent}" ${reward.value} of components that sum to ${sum}`;
        }
      }
      return undefined;
    },
  },
  {
    name: "states-whether-correct",
    hint: "With statesCorrect in the spec, return correct: true or false in the step that ends an episode. Otherwise never return it.",
    check: ({ environment, task, episode }) => {
      const stated = episode.steps.flatMap(({ result }) => result.correct ?? []);
      // In a mixture, each environment declares it for its own tasks.
      const { spec } = environment.environmentOf?.(task.id) ?? environment;
      if (spec.statesCorrect !== true) {
        return stated.length === 0 ? undefined : "returned correct, but its spec does not have statesCorrect";
      }
      const isKnown = rewards(episode).every(({ reward }) => isReward(reward) && reward.status === "scored");
      return stated.length > 0 || !episode.ended || !isKnown ? undefined : "did not return correct for an episode";
    },
  },
  {
    name: "rewards-known-agents",
    hint: "Use only names of agents from the spec as keys of a step's agents.",
    check: ({ environment, episode }) => {
      const named = episode.steps.flatMap(({ result }) => Object.keys(result.agents));
      const unknown = named.find((agent) => !environment.spec.agents.includes(agent));
      return unknown === undefined ? undefined : `returned a step of the unknown agent "${unknown}"`;
    },
  },
  {
    name: "steps-return-all-acting-agents",
    hint: "Return { terminated, truncated } for each agent that acted in a step.",
    check: ({ episode }) => {
      for (const { planned, result } of episode.steps) {
        for (const agent of Object.keys(planned)) {
          const problem = agentStepProblem(agent, result.agents[agent]!);
          if (problem !== undefined) return problem;
        }
      }
      return undefined;
    },
  },
  {
    name: "ends-for-all-agents",
    hint: "In a step without observations, mark each agent that acted as terminated or truncated.",
    check: ({ environment, episode }) => {
      if (!episode.ended || episode.steps.length === 0) return undefined;
      const over = new Set<string>();
      for (const { result } of episode.steps) {
        for (const [agent, step] of Object.entries(result.agents)) {
          if (step?.terminated || step?.truncated) over.add(agent);
        }
      }
      const acted = new Set(episode.steps.flatMap(({ planned }) => Object.keys(planned)));
      const open = environment.spec.agents.find((agent) => acted.has(agent) && !over.has(agent));
      return open === undefined ? undefined : `ended without a last step of agent "${open}"`;
    },
  },
  {
    name: "observes-known-agents",
    hint: "Send observations only to agents of the spec.",
    check: ({ environment, episode }) => {
      const observed = observations(episode).flatMap(Object.keys);
      const unknown = observed.find((agent) => !environment.spec.agents.includes(agent));
      return unknown === undefined ? undefined : `observed the unknown agent "${unknown}"`;
    },
  },
  {
    name: "observes-only-active-agents",
    hint: "Send no observation to an agent whose episode was terminated or truncated.",
    check: ({ episode }) => {
      const over = new Set<string>();
      for (const { result } of episode.steps) {
        for (const [agent, step] of Object.entries(result.agents)) {
          if (step?.terminated || step?.truncated) over.add(agent);
        }
        const late = Object.keys(result.observations).find((agent) => over.has(agent));
        if (late !== undefined) return `observed agent "${late}" after its end`;
      }
      return undefined;
    },
  },
  {
    name: "messages-are-valid",
    hint: "An observation is { messages, context }: one or more messages, each with a role and content parts.",
    check: ({ episode }) => {
      for (const seen of observations(episode)) {
        for (const [agent, observation] of Object.entries(seen)) {
          const problem = observationProblem(agent, observation);
          if (problem !== undefined) return problem;
        }
      }
      return undefined;
    },
  },
  {
    name: "first-prompts-are-not-empty",
    hint: "State the task in the first prompt.",
    check: ({ episode }) => {
      const blank = Object.entries(episode.first).find(([, { messages }]) => isBlank(messages));
      return blank && `gave agent "${blank[0]}" an empty prompt at the beginning`;
    },
  },
  {
    name: "sends-no-assistant-messages",
    hint: "Use the roles system, user and tool. Text in the assistant role is trained on as the model's own.",
    check: ({ episode }) => {
      const messages = observations(episode).flatMap((seen) =>
        Object.values(seen).flatMap((one) => one.messages ?? []),
      );
      return messages.some((message) => message?.role === "assistant")
        ? "sent a message in the assistant role"
        : undefined;
    },
  },
  {
    name: "results-are-data",
    hint: "Return plain JSON values as observations and info: they are written to traces.",
    check: ({ episode }) => {
      for (const value of [...observations(episode), ...episode.steps.map(({ result }) => result.info ?? null)]) {
        if (!isJson(value)) return `returned a value that is not JSON: ${asText(value).slice(0, 200)}`;
      }
      return undefined;
    },
  },
  {
    name: "results-are-not-mutated",
    hint: "Return new arrays and objects in each step. Do not change them later.",
    check: ({ episode }) =>
      asText(episode.first) === episode.recorded &&
      episode.steps.every(({ result, recorded }) => asText(result) === recorded)
        ? undefined
        : "changed a result that it had returned before",
  },
  {
    name: "actions-are-not-mutated",
    hint: "Copy an action before you change it, because others read it later.",
    check: ({ episode }) =>
      episode.steps.every(({ planned, handed }) => isDeepStrictEqual(planned, handed))
        ? undefined
        : "changed an action",
  },
  {
    name: "tasks-are-not-mutated",
    hint: "Copy a task before you change it, because the other episodes of its group play it too. Keep changing values in the state.",
    check: ({ task, episode }) => (isDeepStrictEqual(task.task, episode.task) ? undefined : "changed its task"),
  },
];

function observations({ first, steps }: PlayedEpisode): readonly Observations[] {
  return [first, ...steps.map(({ result }) => result.observations)];
}

function rewards({ steps }: PlayedEpisode): readonly { readonly agent: string; readonly reward: Reward }[] {
  return steps.flatMap(({ result }) =>
    Object.entries(result.agents).flatMap(([agent, step]) =>
      step?.reward === undefined ? [] : [{ agent, reward: step.reward }],
    ),
  );
}

/** Returns true for an episode in which any agent received a reward. */
export function hasReward(episode: PlayedEpisode): boolean {
  return rewards(episode).length > 0;
}

function isBlank(messages: readonly Message[]): boolean {
  return (
    messages.length > 0 && messages.every((message) => messageProblem(message) === undefined) && isBlankPrompt(messages)
  );
}

function isJson(value: unknown): boolean {
  try {
    return isDeepStrictEqual(JSON.parse(JSON.stringify(value)), value);
  } catch {
    return false;
  }
}
