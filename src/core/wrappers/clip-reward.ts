import type { AgentId } from "../../contract/action.ts";
import type { EnvironmentDefinition } from "../../contract/environment.ts";
import { LyceumError } from "../../contract/errors/index.ts";
import { type Reward, scored } from "../../contract/reward.ts";
import { mapGroupRewards, mapStepRewards } from "./map-rewards.ts";
import { type WrappedEpisode, wrapEnvironment } from "./wrap-environment.ts";

/**
 * Keeps each agent's total over an episode from `minimum` to `maximum`: a reward that would carry the running total
 * beyond is cut to what is left, and the cut stands in the component `clipped`. With one reward an episode that is
 * the plain clipping of it. A group's rewards are cut likewise; the range of the spec follows. Throws
 * `config.invalid` unless minimum <= 0 <= maximum: what earned nothing has a total of 0.
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
      hint: "Give a minimum of at most 0 and a maximum of at least 0: what earned nothing has a total of 0.",
    });
  }
  const clip = (value: number): number => Math.min(maximum, Math.max(minimum, value));
  const episode = (totals: Map<AgentId, number>): WrappedEpisode => ({
    begin: (observations) => observations,
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
  const [low, high] = environment.spec.rewardRange;
  return wrapEnvironment(environment, {
    spec: { rewardRange: [clip(low), clip(high)] },
    start: () => episode(new Map()),
    ...(environment.scoreGroup === undefined
      ? {}
      : {
          scoreGroup: async (group, options) => {
            const totals = new Map(group.map(({ id, agents }) => [id, agents]));
            return mapGroupRewards(await environment.scoreGroup!(group, options), (reward, place) => {
              const earned = totals.get(place.episode)?.[place.agent]?.reward;
              if (reward.status === "unscored" || earned?.status !== "scored") return reward;
              return cut(reward, clip(earned.value + reward.value) - earned.value);
            });
          },
        }),
  });
}

/** The reward with another value; the difference stands among its components. */
function cut(reward: Reward, value: number): Reward {
  if (reward.status === "unscored" || reward.value === value) return reward;
  return scored(value, { ...reward.components, clipped: (reward.components.clipped ?? 0) + value - reward.value });
}
