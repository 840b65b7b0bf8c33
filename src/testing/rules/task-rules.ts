import { isDeepStrictEqual } from "node:util";
import type { Episode } from "../../contract/episode.ts";
import { fromErrorData } from "../../contract/errors/index.ts";
import { textOf } from "../../contract/message.ts";
import { taskGroup } from "../../core/environment/task-group.ts";
import { demonstrationPolicy } from "../../core/policy/demonstration-policy.ts";
import { toolErrorsIn } from "../../core/rollout/episode-warnings.ts";
import { rolloutEpisode } from "../../core/rollout/rollout-episode.ts";
import type { Rule, TaskCase } from "../rule.ts";

/** The rule for a task before it is played. */
export const tasksAreData: Rule<TaskCase> = {
  name: "tasks-are-data",
  hint: "Use only JSON values in tasks, because traces and hashes store them as JSON. Do not use functions or dates.",
  check: ({ task: { task } }) => {
    try {
      return isDeepStrictEqual(JSON.parse(JSON.stringify(task)), task)
        ? undefined
        : "has a task that changes when it is converted to JSON";
    } catch (error) {
      return `has a task that is not JSON: ${(error as Error).message}`;
    }
  },
};

const slack = 1e-9;

/** The rules for the group and the demonstration of a task, if it has them. */
export const taskRules: readonly Rule<TaskCase>[] = [
  {
    name: "groups-without-error",
    hint: "Return a short text from groupOf, or undefined. It gets the task as tasks returned it.",
    check: ({ environment, task: { task } }) => {
      taskGroup(environment, task);
      return undefined;
    },
  },
  {
    name: "demonstrations-reach-the-end",
    hint: "Demonstrate one answer for each agent that acts, in each turn until the end, and no more.",
    check: async (given) => {
      const demonstration = given.environment.demonstrate?.(given.task.task);
      if (demonstration === undefined) return undefined;
      const { maxTurns } = given.environment.spec;
      if (demonstration.length > maxTurns) return `demonstrates ${demonstration.length} of ${maxTurns} turns`;
      const { error, turns } = await demonstrated(given);
      // An invalid result of the environment is not the fault of the demonstration.
      if (error?.code === "environment.contract") throw fromErrorData(error);
      if (error !== undefined) return `failed with its demonstration: ${error.message}`;
      return turns === demonstration.length
        ? undefined
        : `demonstrates ${demonstration.length} turns of an episode that ends after ${turns}`;
    },
  },
  {
    name: "demonstrations-reach-the-top",
    hint:
      "Demonstrate the best answer, or set rewardRange to what answers can reach. Skip this rule if the highest reward needs " +
      "luck. Games of several agents with a range of [-x, x] are exempt, because experts cancel each other out.",
    check: async (given) => {
      const { agents, rewardRange } = given.environment.spec;
      const [low, high] = rewardRange;
      if (given.environment.demonstrate?.(given.task.task) === undefined) return undefined;
      if (agents.length > 1 && low === -high) return undefined;
      const episode = await demonstrated(given);
      if (episode.error !== undefined) return undefined;
      for (const [agent, { reward }] of Object.entries(episode.agents)) {
        // The judge may not be asked again in this check.
        if (reward.status === "unscored" && reward.error?.code === "policy.limit") return undefined;
        if (reward.status === "unscored") return `left its demonstration unscored: ${reward.reason}`;
        if (reward.value < high - slack) {
          const why = failedCall(episode);
          return `gave its demonstration ${reward.value} (agent "${agent}"), below the top of its rewardRange, ${high}${why}`;
        }
      }
      return undefined;
    },
  },
];

/** Returns the first call of a demonstration that failed, and its place. Returns an empty text if none failed. */
function failedCall({ agents, info = [] }: Episode): string {
  const [thrown] = info.flatMap(toolErrorsIn);
  if (thrown !== undefined) {
    const place = thrown.at === undefined ? "" : ` (${thrown.at})`;
    return `: its call of the tool "${thrown.tool}" threw ${thrown.message}${place}`;
  }
  const results = Object.values(agents)
    .flatMap(({ nodes }) => nodes)
    .flatMap(({ message }) => (message.role === "tool" ? [textOf(message)] : []));
  const failed = results.find((result) => result.startsWith("Error: "));
  return failed === undefined ? "" : `: a call in it was answered by "${failed.replace(/\s+/g, " ")}"`;
}

function demonstrated({ environment, task, seed, callMs, signal }: TaskCase): Promise<Episode> {
  const policies = demonstrationPolicy({ environment });
  const limits = { environmentMs: callMs };
  return rolloutEpisode({ environment, task, policies, seed, limits, signal });
}
