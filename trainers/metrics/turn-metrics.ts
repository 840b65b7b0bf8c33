import type { Episode } from "../../src/contract/episode.ts";
import { isJsonObject, type Json } from "../../src/contract/json.ts";
import { mean } from "../../src/core/statistics.ts";

/** The number of turns with their own metrics. Games of a hundred turns would hide all other metrics. */
const countedTurns = 10;

/**
 * Returns the metrics of each turn over the episodes that played it. The first turn is `rollout/turn-1/...`:
 *
 * - `reward`: the mean reward of the turn. Absent if no reward was given for the turn.
 * - `episodes`: the share of all episodes that played the turn.
 * - The environment's own metrics: the numbers in the `metrics` of a step's info, averaged by name. Booleans count as 1
 *   and
 *   0. A `reward` among them replaces the mean reward above. An info belongs to the turn (from 0) in its `turn`.
 *      Without `turn`, it belongs to the turn at its index, if every step gave an info.
 *
 * A turn that no episode played has no metrics. If no episode had a second turn, `reward` and `episodes` of the first
 * are left out, because they equal those of the whole rollout.
 */
export function turnMetrics(episodes: readonly Episode[]): Record<string, number> {
  const metrics: Record<string, number> = {};
  const turns = Math.min(countedTurns, Math.max(0, ...episodes.map((episode) => episode.turns)));
  const several = turns > 1;
  for (let turn = 0; turn < turns; turn++) {
    const played = episodes.filter((episode) => episode.turns > turn);
    const values = new Map<string, number[]>();
    const add = (name: string, value: number): void => {
      const list = values.get(name);
      if (list === undefined) values.set(name, [value]);
      else list.push(value);
    };
    if (several) for (const reward of played.flatMap((episode) => turnRewards(episode, turn))) add("reward", reward);
    const reported = played.flatMap((episode) => Object.entries(reportedMetrics(episode, turn)));
    if (reported.some(([name]) => name === "reward")) values.delete("reward");
    for (const [name, value] of reported) add(name, value);
    if (several) add("episodes", played.length / episodes.length);
    for (const [name, list] of values) metrics[`rollout/turn-${turn + 1}/${name}`] = mean(list);
  }
  return metrics;
}

/** Returns the scored rewards of all agents for a turn. */
function turnRewards(episode: Episode, turn: number): number[] {
  return Object.values(episode.agents).flatMap((agent) =>
    agent.turns.flatMap((played) =>
      played.turn === turn && played.reward?.status === "scored" ? [played.reward.value] : [],
    ),
  );
}

/** Returns the metrics that the environment reported for a turn. */
function reportedMetrics(episode: Episode, turn: number): Record<string, number> {
  const infos = episode.info ?? [];
  const complete = infos.length === episode.turns;
  const info = infos.find((item, index) => (fieldOf(item, "turn") ?? (complete ? index : undefined)) === turn);
  const reported = info === undefined ? undefined : fieldOf(info, "metrics");
  if (!isJsonObject(reported)) return {};
  const numbers = Object.entries(reported).map(([name, value]) => [name, typeof value === "boolean" ? +value : value]);
  return Object.fromEntries(numbers.filter(([, value]) => Number.isFinite(value))) as Record<string, number>;
}

function fieldOf(value: Json, name: string): Json | undefined {
  return isJsonObject(value) ? value[name] : undefined;
}
