import { LyceumError } from "../../contract/errors/index.ts";
import { heapMemory } from "../machine-memory.ts";
import { formatBytes } from "../text/format-numbers.ts";

/** The minimum memory of an episode until its batch ends, in bytes: a short episode of one turn. */
const episodeBytes = 2_000;

/**
 * Throws `config.invalid` if the concurrent episodes need more memory than this process has. `keys` are the config keys
 * that set the number of episodes.
 */
export function checkEpisodeCount(options: {
  /** The purpose of the episodes, such as "a training step". */
  readonly what: string;
  readonly tasks: number;
  readonly episodesPerTask: number;
  readonly keys: readonly string[];
}): void {
  const { what, tasks, episodesPerTask, keys } = options;
  const bytes = tasks * episodesPerTask * episodeBytes;
  const most = heapMemory();
  if (bytes <= most) return;
  const number = (value: number): string => value.toLocaleString("en");
  throw new LyceumError({
    code: "config.invalid",
    message: `${what} would play ${number(tasks)} tasks with ${number(episodesPerTask)} episodes each, which take ${formatBytes(bytes)} or more. This process has ${formatBytes(most)} for objects.`,
    hint: `Lower ${keys.join(" or ")}, or raise the memory limit by NODE_OPTIONS=--max-old-space-size=MEGABYTES.`,
    data: { tasks, episodesPerTask, bytes, most },
  });
}
