import type { Episode } from "../../contract/episode.ts";
import type { TaskEntry } from "../../contract/taskset.ts";
import { EpisodeRun } from "./episode-run.ts";
import { type PlayOptions, poolOf, runSettings } from "./rollout-options.ts";
import { scoreGroup } from "./score-group.ts";

/**
 * Plays one task once. `member` (0 by default) picks which episode of its group this is: the same seed, task and
 * member give the episode that {@link rollout} would. Rejects only for options that cannot work and for a trace that
 * cannot be written; whatever else goes wrong, an abort too, is in the episode.
 */
export async function rolloutEpisode<Task>(
  options: PlayOptions<Task> & { readonly task: TaskEntry<Task>; readonly member?: number },
): Promise<Episode> {
  const { task, seed, signal, trace, member = 0 } = options;
  const { pool, owned } = poolOf(options.environment);
  const settings = runSettings(options, pool);
  const run = new EpisodeRun(settings, { entry: task, group: 0, member, seed });
  const onAbort = (): void => run.abort();
  if (signal?.aborted) onAbort();
  else signal?.addEventListener("abort", onAbort, { once: true });
  settings.barrier?.enter();
  const played = await run.play();
  signal?.removeEventListener("abort", onAbort);
  const [episode] = await scoreGroup({
    factory: pool.factory,
    episodes: [played],
    limitMs: settings.limits.environmentMs,
    ...(signal === undefined ? {} : { signal }),
  });
  if (owned) await pool.close();
  await trace?.write(episode!);
  return episode!;
}
