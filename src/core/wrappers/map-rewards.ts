import type { AgentId } from "../../contract/action.ts";
import type { AgentStep } from "../../contract/environment.ts";
import type { Reward } from "../../contract/reward.ts";

/** Maps the rewards of steps. A step without a reward is unchanged. */
export function mapStepRewards(
  agents: Readonly<Record<AgentId, AgentStep>>,
  change: (reward: Reward, agent: AgentId) => Reward,
): Record<AgentId, AgentStep> {
  return Object.fromEntries(
    Object.entries(agents).map(([agent, step]) => [
      agent,
      step.reward === undefined ? step : { ...step, reward: change(step.reward, agent) },
    ]),
  );
}

/** Maps the rewards of a group, one by one. */
export function mapGroupRewards(
  group: Readonly<Record<string, Readonly<Record<AgentId, Reward>>>>,
  change: (reward: Reward, place: { readonly episode: string; readonly agent: AgentId }) => Reward,
): Record<string, Record<AgentId, Reward>> {
  return Object.fromEntries(
    Object.entries(group).map(([episode, rewards]) => [
      episode,
      Object.fromEntries(
        Object.entries(rewards).map(([agent, reward]) => [agent, change(reward, { episode, agent })] as const),
      ),
    ]),
  );
}
