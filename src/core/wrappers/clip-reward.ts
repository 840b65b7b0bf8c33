import type { AgentId } from "../../contract/action.ts";
import type { EnvironmentDefinition } from "../../contract/environment.ts";
import { LyceumError } from "../../contract/errors/index.ts";
import { type Reward, scored } from "../../contract/reward.ts";
import { mapGroupRewards, mapStepRewards } from "./map-rewards.ts";
import { type WrappedEpisode, wrapEnvironment } from "./wrap-environment.ts";

/**
 * Clips each agent's total reward of an episode to `minimum` ... `maximum`. A reward that would move the running total
 * outside this range is cut, and the component `clipped` records the difference. For environments with one reward per
 * episode, this clips that reward. The rewards of `scoreGroup` are clipped in the same way. The reward range of the
 * spec is adapted. Throws `config.invalid` unless minimum <= 0 <= maximum, because the total is 0 before the first
 * reward.
 */
export function clipReward<Task>(
  environment: EnvironmentDefinition<Task>,
  limits: { readonly minimum?: number; readonly maximum?: number },
): EnvironmentDefinition<Task> {
  const { minimum = -Infinity, maximum = Infinity } = limits;
  if (!(minimum <= 0 && maximum >= 0)) {
    throw new LyceumError({
      code: "config.invalid",
      message: `Rewards cannot be clipped to [${minimum}, ${maximum}].`,
      hint: "Use a minimum of at most 0 and a maximum of at least 0, because the total is 0 before the first reward.",
    });
  }
  const clip = (value: number): number => Math.min(maximum, Math.max(minimum, value));
  const episode = (totals: Map<AgentId, number>): WrappedEpisode => ({
    step: async (actions, inner) => {
      const result = await inner(actions);
      const agents = mapStepRewards(result.agents, (reward, agent) => {
        if (reward.status === "unscored") return reward;
        const before = totals.get(agent) ?? 0;
        const total = before + reward.value;
        totals.set(agent, total);
        return cut(reward, clip(total) - clip(before));
      });
      return { ...result, agents };
    },
    copy: () => episode(new Map(totals)),
  });
  return wrapEnvironment(environment, {
    spec: ({ rewardRange: [low, high] }) => ({ rewardRange: [clip(low), clip(high)] }),
    start: () => episode(new Map()),
    scoreGroup:
      environment.scoreGroup &&
      (async (group, options) => {
        const totals = new Map(group.map(({ id, agents }) => [id, agents]));
        return mapGroupRewards(await environment.scoreGroup!(group, options), (reward, place) => {
          const earned = totals.get(place.episode)?.[place.agent]?.reward;
          if (reward.status === "unscored" || earned?.status !== "scored") return reward;
          return cut(reward, clip(earned.value + reward.value) - earned.value);
        });
      }),
  });
}

/** Returns the reward with another value. The component `clipped` records the difference. */
function cut(reward: Reward, value: number): Reward {
  if (reward.status === "unscored" || reward.value === value) return reward;
  return scored(value, { ...reward.components, clipped: (reward.components.clipped ?? 0) + value - reward.value });
}
