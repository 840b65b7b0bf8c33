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

/** What must hold in any episode, whatever the agents answer. They look at an episode that was played. */
export const episodeRules: readonly Rule<PlayedCase>[] = [
  {
    name: "ends-within-max-turns",
    hint: "Show nothing after the last turn: end the episode yourself, or let maxTurns be what it takes.",
    check: ({ environment, episode }) =>
      episode.ended ? undefined : `went on after ${environment.spec.maxTurns} turns, its maxTurns`,
  },
  {
    name: "ends-with-a-reward",
    hint: "Give a reward with the last step, be it 0: an episode without one counts as 0.",
    check: ({ environment, episode }) => {
      if (environment.scoreGroup !== undefined || !episode.ended || earnsSomething(episode)) return undefined;
      const last = Object.values(episode.steps.at(-1)?.result.agents ?? {});
      return last.some((step) => step?.terminated) ? "ended an episode and gave no reward in it" : undefined;
    },
  },
  {
    name: "rewards-are-finite",
    hint: "Give finite numbers, or unscored(reason) where judging failed.",
    check: ({ episode }) => {
      const odd = rewards(episode).find(({ reward }) => !isReward(reward));
      return odd && `gave agent "${odd.agent}" the reward ${rewardText(odd.reward)}`;
    },
  },
  {
    name: "rewards-are-in-range",
    hint: "Set rewardRange to the lowest and the highest total that an agent can earn in an episode.",
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
    hint: "Name all parts of a reward among its components; those that subtract are negative.",
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
    hint: "With statesCorrect in the spec, say correct: true or false in the step that ends an episode; else in none.",
    check: ({ environment, task, episode }) => {
      const stated = episode.steps.flatMap(({ result }) => result.correct ?? []);
      // In a mixture, each environment says it of its own tasks.
      const { spec } = environment.partOf?.(task.id) ?? environment;
      if (spec.statesCorrect !== true) {
        return stated.length === 0 ? undefined : "said whether it is correct, and its spec does not have statesCorrect";
      }
      const isKnown = rewards(episode).every(({ reward }) => isReward(reward) && reward.status === "scored");
      return stated.length > 0 || !episode.ended || !isKnown ? undefined : "did not say whether an episode is correct";
    },
  },
  {
    name: "rewards-known-agents",
    hint: "Tell of steps by the names of agents that stand in the spec.",
    check: ({ environment, episode }) => {
      const named = episode.steps.flatMap(({ result }) => Object.keys(result.agents));
      const unknown = named.find((agent) => !environment.spec.agents.includes(agent));
      return unknown === undefined ? undefined : `told of a step of the unknown agent "${unknown}"`;
    },
  },
  {
    name: "steps-tell-of-all-who-acted",
    hint: "Give { terminated, truncated } for each agent that acted in a step.",
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
    name: "ends-for-all-at-the-end",
    hint: "In a step that shows nobody anything, say of each agent that acted that it terminated or was truncated.",
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
    hint: "Show observations to agents that stand in the spec.",
    check: ({ environment, episode }) => {
      const observed = observations(episode).flatMap(Object.keys);
      const unknown = observed.find((agent) => !environment.spec.agents.includes(agent));
      return unknown === undefined ? undefined : `observed the unknown agent "${unknown}"`;
    },
  },
  {
    name: "observes-only-agents-that-go-on",
    hint: "Show nothing to an agent whose episode was terminated or truncated.",
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
    hint: "An observation is { messages, context }: a message or more, each with a role and parts of content.",
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
    name: "first-prompts-say-something",
    hint: "State the task in the first prompt.",
    check: ({ episode }) => {
      const blank = Object.entries(episode.first).find(([, { messages }]) => isBlank(messages));
      return blank && `gave agent "${blank[0]}" an empty prompt at the beginning`;
    },
  },
  {
    name: "speaks-not-as-assistant",
    hint: "Speak as system, user or tool: what stands in the assistant's role is learned as the model's own.",
    check: ({ episode }) => {
      const messages = observations(episode).flatMap((seen) =>
        Object.values(seen).flatMap((one) => one.messages ?? []),
      );
      return messages.some((message) => message?.role === "assistant") ? "spoke in the assistant's role" : undefined;
    },
  },
  {
    name: "results-are-data",
    hint: "Return plain JSON values as observations and info: they are written to traces.",
    check: ({ episode }) => {
      for (const value of [...observations(episode), ...episode.steps.map(({ result }) => result.info ?? null)]) {
        if (!isJson(value)) return `told what JSON does not have: ${asText(value).slice(0, 200)}`;
      }
      return undefined;
    },
  },
  {
    name: "results-stay-as-they-are",
    hint: "Give new arrays and objects in each step, not those that you go on changing.",
    check: ({ episode }) =>
      asText(episode.first) === episode.told && episode.steps.every(({ result, told }) => asText(result) === told)
        ? undefined
        : "changed what it had told before",
  },
  {
    name: "actions-stay-as-they-are",
    hint: "Copy an action before you change it: others read it after you.",
    check: ({ episode }) =>
      episode.steps.every(({ planned, handed }) => isDeepStrictEqual(planned, handed))
        ? undefined
        : "changed an action",
  },
  {
    name: "tasks-stay-as-they-are",
    hint: "Copy a task before you change it: the other episodes of its group play it too. Keep what changes in state.",
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

/** True for an episode in which any agent was given a reward. */
export function earnsSomething(episode: PlayedEpisode): boolean {
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
