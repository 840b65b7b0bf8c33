import { LyceumError } from "../../contract/errors/index.ts";
import { gigabytes, heapMemory } from "../machine-memory.ts";

/** The least memory that an episode takes until the batch that it belongs to has ended: a short one of one turn. */
const episodeBytes = 2_000;

/**
 * Refuses to play more episodes at a time than this process has memory for: `config.invalid`. `keys` are what sets their
 * number.
 */
export function checkEpisodeCount(options: {
  /** What they are played for, such as "a training step". */
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
    message: `${what} would play ${number(tasks)} tasks with ${number(episodesPerTask)} episodes each, which take ${gigabytes(bytes)} or more; this process has ${gigabytes(most)} for objects.`,
    hint: `Lower ${keys.join(" or ")}. Node gives a process more by NODE_OPTIONS=--max-old-space-size=MEGABYTES.`,
    data: { tasks, episodesPerTask, bytes, most },
  });
}
