import { LyceumError } from "../src/contract/errors/index.ts";

/**
 * Returns how many complete groups of `size` episodes are within a maximum number of episodes. Throws `config.invalid`
 * if not even one is. `options` names the two options in the error.
 */
export function completeGroups(
  episodes: number,
  { size, options: [most, each] }: { readonly size: number; readonly options: readonly [most: string, each: string] },
): number {
  if (episodes >= size) return Math.floor(episodes / size);
  throw new LyceumError({
    code: "config.invalid",
    message: `${most} ${episodes} is fewer than the ${size} episodes of one task (${each}), and only complete tasks are played.`,
    hint: `Raise ${most} to ${size} or more, or lower ${each}.`,
  });
}
