import type { Episode } from "../src/contract/episode.ts";
import { isJsonObject, type Json } from "../src/contract/json.ts";
import { mean } from "./statistics.ts";

/** Later turns have no metrics of their own: games of a hundred moves would bury the rest. */
const countedTurns = 10;

/**
 * Metrics of each turn by itself, `rollout/turn-1/...` being the first, over the episodes that played it:
 *
 * - `reward`: mean of what was paid for it; where a turn is paid later or not at all, it is absent;
 * - `episodes`: share of all episodes that played it;
 * - whatever else the environment says of its steps: the numbers (and truths, as 1 and 0) in the `metrics` of a step's
 *   info, averaged by name, of which a `reward` stands in for what was paid. An info belongs to the turn (from 0) that
 *   its `turn` says; without it, to the turn of its place, where every step gave one.
 *
 * A turn that no episode played has no metrics, and where no episode had a second turn, `reward` and `episodes` of the
 * first would say what the whole rollout's say: they are left out.
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
    if (several) for (const reward of played.flatMap((episode) => paidRewards(episode, turn))) add("reward", reward);
    const told = played.flatMap((episode) => Object.entries(toldMetrics(episode, turn)));
    if (told.some(([name]) => name === "reward")) values.delete("reward");
    for (const [name, value] of told) add(name, value);
    if (several) add("episodes", played.length / episodes.length);
    for (const [name, list] of values) metrics[`rollout/turn-${turn + 1}/${name}`] = mean(list);
  }
  return metrics;
}

/** What each agent was paid for a turn. */
function paidRewards(episode: Episode, turn: number): number[] {
  return Object.values(episode.agents).flatMap((agent) =>
    agent.turns.flatMap((played) =>
      played.turn === turn && played.reward?.status === "scored" ? [played.reward.value] : [],
    ),
  );
}

/** The numbers that the environment gave of a turn. */
function toldMetrics(episode: Episode, turn: number): Record<string, number> {
  const infos = episode.info ?? [];
  const complete = infos.length === episode.turns;
  const info = infos.find((item, index) => (fieldOf(item, "turn") ?? (complete ? index : undefined)) === turn);
  const told = info === undefined ? undefined : fieldOf(info, "metrics");
  if (!isJsonObject(told)) return {};
  const numbers = Object.entries(told).map(([name, value]) => [name, typeof value === "boolean" ? +value : value]);
  return Object.fromEntries(numbers.filter(([, value]) => Number.isFinite(value))) as Record<string, number>;
}

function fieldOf(value: Json, name: string): Json | undefined {
  return isJsonObject(value) ? value[name] : undefined;
}
