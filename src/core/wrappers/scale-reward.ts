import type { EnvironmentDefinition } from "../../contract/environment.ts";
import { LyceumError } from "../../contract/errors/index.ts";
import { type Reward, scored } from "../../contract/reward.ts";
import { mapGroupRewards, mapStepRewards } from "./map-rewards.ts";
import { type WrappedEpisode, wrapEnvironment } from "./wrap-environment.ts";

/**
 * Multiplies every reward and each of its components by `factor`, including the rewards of `scoreGroup`. The reward
 * range of the spec is adapted. A negative factor makes the best answer the worst, so demonstrations are removed.
 * Throws `config.invalid` if the factor is 0 or not finite.
 */
export function scaleReward<Task>(
  environment: EnvironmentDefinition<Task>,
  factor: number,
): EnvironmentDefinition<Task> {
  if (!Number.isFinite(factor) || factor === 0) {
    throw new LyceumError({
      code: "config.invalid",
      message: `The factor of rewards must be a finite number other than 0, got ${factor}.`,
    });
  }
  const scale = (reward: Reward): Reward =>
    reward.status === "unscored"
      ? reward
      : scored(
          times(reward.value, factor),
          Object.fromEntries(Object.entries(reward.components).map(([name, part]) => [name, times(part, factor)])),
        );
  const episode: WrappedEpisode = {
    step: async (actions, inner) => {
      const result = await inner(actions);
      return { ...result, agents: mapStepRewards(result.agents, scale) };
    },
    copy: () => episode,
  };
  return wrapEnvironment(environment, {
    spec: ({ rewardRange }) => {
      const [first, second] = rewardRange.map((bound) => times(bound, factor));
      return { rewardRange: [Math.min(first!, second!), Math.max(first!, second!)] };
    },
    start: () => episode,
    ...(factor < 0 ? { demonstrate: () => undefined } : {}),
    scoreGroup:
      environment.scoreGroup &&
      (async (group, options) => mapGroupRewards(await environment.scoreGroup!(group, options), scale)),
  });
}

/** Returns a product that is never -0, because JSON would write -0 as 0. */
function times(value: number, factor: number): number {
  return value * factor + 0;
}
