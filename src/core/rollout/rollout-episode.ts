import type { Episode } from "../../contract/episode.ts";
import type { TaskEntry } from "../../contract/taskset.ts";
import { EpisodeRun } from "./episode-run.ts";
import { type PlayOptions, poolOf, runSettings } from "./rollout-options.ts";
import { scoreGroup } from "./score-group.ts";

/**
 * Plays one episode of a task. `sampleIndex` (0 by default) is the index of the episode in its group. The same seed,
 * task and sample index give the same episode as {@link rollout}. Rejects only if options are invalid or the trace
 * cannot be written. All other errors, including an abort, are recorded in the episode.
 *
 * @example
 * import { demonstrationPolicy, rolloutEpisode } from "lyceum";
 * import { numberGuessingEnvironment } from "lyceum/environments";
 * const environment = numberGuessingEnvironment();
 * const task = await (await environment.tasks("test")).get(0);
 * const episode = await rolloutEpisode({ environment, policies: demonstrationPolicy({ environment }), task, seed: 1 });
 * episode.agents.agent?.terminated; // => true
 */
export async function rolloutEpisode<Task>(
  options: PlayOptions<Task> & { readonly task: TaskEntry<Task>; readonly sampleIndex?: number },
): Promise<Episode> {
  const { task, seed, signal, trace, sampleIndex = 0 } = options;
  const { pool, owned } = poolOf(options.environment);
  const settings = runSettings(options, pool);
  const run = new EpisodeRun(settings, { entry: task, group: 0, sampleIndex, seed });
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
    signal,
  });
  if (owned) await pool.close();
  await trace?.write(episode!);
  return episode!;
}
