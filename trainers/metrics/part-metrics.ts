import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import type { Episode, Group } from "../../src/contract/episode.ts";
import { mean } from "./statistics.ts";

/**
 * Returns the mean reward of each environment of a mixture over its agents' scored episodes, as `reward/<environment>`.
 * Returns nothing if the environment is not a mixture.
 */
export function partRewards(
  groups: readonly Group[],
  { partOf }: Pick<EnvironmentDefinition, "partOf">,
): Record<string, number> {
  if (partOf === undefined) return {};
  const rewards = byPart(groups, partOf, ({ agents }) =>
    Object.values(agents).flatMap(({ reward }) => (reward.status === "scored" ? [reward.value] : [])),
  );
  return named("reward", rewards);
}

/** Returns the share of correct episodes of each environment of a mixture, as `accuracy/<environment>`. */
export function partAccuracies(
  groups: readonly Group[],
  { partOf, isCorrect }: Pick<EnvironmentDefinition, "partOf"> & { readonly isCorrect: (episode: Episode) => boolean },
): Record<string, number> {
  if (partOf === undefined) return {};
  return named(
    "accuracy",
    byPart(groups, partOf, (episode) => [Number(isCorrect(episode))]),
  );
}

function byPart(
  groups: readonly Group[],
  partOf: NonNullable<EnvironmentDefinition["partOf"]>,
  valuesOf: (episode: Episode) => readonly number[],
): Map<string, number[]> {
  const values = new Map<string, number[]>();
  for (const { task, episodes } of groups) {
    const name = partOf(task.id)?.name;
    if (name !== undefined) values.set(name, [...(values.get(name) ?? []), ...episodes.flatMap(valuesOf)]);
  }
  return values;
}

function named(metric: string, values: ReadonlyMap<string, readonly number[]>): Record<string, number> {
  return Object.fromEntries(
    [...values].filter(([, list]) => list.length > 0).map(([name, list]) => [`${metric}/${name}`, mean(list)]),
  );
}
