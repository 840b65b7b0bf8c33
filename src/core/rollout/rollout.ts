import type { Episode, EpisodeStatus } from "../../contract/episode.ts";
import { type ErrorData, LyceumError } from "../../contract/errors/index.ts";
import { EpisodeRun } from "./episode-run.ts";
import { EventQueue } from "./event-queue.ts";
import { isLostEpisode, lostEpisodeRetries } from "./lost-episode.ts";
import { type PlannedEpisode, plannedEpisodes } from "./planned-episodes.ts";
import type { RolloutEvent } from "./rollout-event.ts";
import {
  checkCount,
  defaultConcurrency,
  maxConcurrency,
  poolOf,
  type RolloutOptions,
  runSettings,
} from "./rollout-options.ts";
import { RolloutSlots } from "./rollout-slots.ts";
import type { RunSettings } from "./run-settings.ts";
import { scoreGroup } from "./score-group.ts";

/**
 * Plays tasks in groups with many concurrent episodes, and yields events. Starts when the first event is requested. If
 * the consumer leaves the iteration, all episodes stop. A slow consumer slows the rollout down.
 *
 * Errors in an episode are recorded in the episode. The iteration throws `aborted` after the signal aborted, after it
 * has yielded the interrupted episodes with status `aborted`. It passes on the errors of the taskset and the trace.
 * Invalid options throw immediately.
 *
 * @example
 * import { rollout, scriptedPolicy } from "lyceum";
 * import { mathEnvironment } from "lyceum/environments";
 * const environment = mathEnvironment({ tasks: "arithmetic" });
 * const tasks = await environment.tasks("test[:3]");
 * const ended: string[] = [];
 * for await (const event of rollout({ environment, tasks, policies: scriptedPolicy(["12"]), seed: 1 })) {
 *   if (event.type === "episode-end") ended.push(event.episode.status);
 * }
 * ended; // => ["completed", "completed", "completed"]
 */
export function rollout<Task>(options: RolloutOptions<Task>): AsyncGenerator<RolloutEvent, void, undefined> {
  const concurrency = checkCount("concurrency", options.concurrency ?? defaultConcurrency, maxConcurrency);
  const groupSize = checkCount("groupSize", options.groupSize ?? 1, maxConcurrency);
  const queue = new EventQueue<RolloutEvent>(4 * concurrency);
  const { pool, owned } = poolOf(options.environment, {
    onCloseError: (error) => queue.push({ type: "warning", error }),
  });
  const { terminationThreshold, partners = [] } = options;
  if (Number.isNaN(terminationThreshold)) throw noThreshold();
  const settings = {
    ...runSettings(options, pool),
    ...(terminationThreshold === undefined ? {} : { terminationThreshold, partners }),
  };
  return events({ ...options, concurrency, groupSize, settings, queue, closePool: owned });
}

function noThreshold(): LyceumError {
  return new LyceumError({
    code: "config.invalid",
    message: "The rollout's terminationThreshold is not a number.",
    hint: "Pass a number on the scale of the environment's rewards, or omit it.",
  });
}

async function* events<Task>(
  options: ConstructorParameters<typeof RolloutRun<Task>>[0],
): AsyncGenerator<RolloutEvent, void, undefined> {
  const run = new RolloutRun(options);
  const ended = run.play();
  try {
    yield* options.queue;
  } finally {
    run.stop();
    options.queue.abandon();
    await ended;
  }
}

/** A group with episodes that have not ended. */
interface OpenGroup {
  readonly episodes: Episode[];
  left: number;
}

/** The state of one {@link rollout}: `concurrency` slots that play episodes, and the groups of these episodes. */
class RolloutRun<Task> {
  readonly #options: Required<Pick<RolloutOptions<Task>, "groupSize" | "concurrency">> & RolloutOptions<Task>;
  readonly #settings: RunSettings<Task>;
  readonly #queue: EventQueue<RolloutEvent>;
  readonly #slots: RolloutSlots<Task, PlannedEpisode<Task>, RolloutEvent>;
  readonly #open = new Map<number, OpenGroup>();
  readonly #scoring = new Set<Promise<void>>();
  readonly #counts: Record<EpisodeStatus, number> = { completed: 0, truncated: 0, failed: 0, aborted: 0 };
  #groups = 0;
  #turns = 0;

  constructor(
    options: RolloutOptions<Task> & {
      readonly groupSize: number;
      readonly concurrency: number;
      readonly settings: RunSettings<Task>;
      readonly queue: EventQueue<RolloutEvent>;
      /** True if the pool was created for this rollout. */
      readonly closePool: boolean;
    },
  ) {
    const { settings, queue, concurrency, closePool, signal } = options;
    this.#options = options;
    this.#settings = settings;
    this.#queue = queue;
    this.#slots = new RolloutSlots({
      settings,
      queue,
      closePool,
      signal,
      count: concurrency,
      positions: (stopped) => plannedEpisodes(options, stopped),
      play: (position) => this.#play(position),
    });
  }

  /** Plays all episodes and ends the queue. Never rejects: the consumer of the queue receives errors. */
  async play(): Promise<void> {
    const started = performance.now();
    await this.#slots.play();
    await Promise.all(this.#scoring);
    await this.#traceOpenGroups();
    await this.#slots.end(() => ({
      type: "rollout-end",
      groups: this.#groups,
      episodes: this.#counts,
      turns: this.#turns,
      durationMs: performance.now() - started,
    }));
  }

  /** Aborts the running episodes and starts no more. */
  stop(): void {
    this.#slots.stop();
  }

  async #play(position: PlannedEpisode<Task>): Promise<void> {
    const { group, groupSize, sampleIndex, entry } = position;
    this.#queue.push({
      type: "episode-start",
      group,
      sampleIndex,
      task: { index: entry.index, id: entry.id, hash: entry.hash },
    });
    const episode = await this.#playUntilKept(position);
    await this.#settings.slice.pause();
    this.#counts[episode.status] += 1;
    this.#turns += episode.turns;
    this.#queue.push({ type: "episode-end", group, episode });
    if (this.#settings.pool.factory.scoreGroup === undefined) await this.#options.trace?.write(episode);
    this.#join(group, { episode, groupSize });
    if (this.#scoring.size >= this.#options.concurrency) await Promise.race(this.#scoring);
  }

  /** Plays an episode, and again if the server of its environment lost it. The errors before are part of the episode. */
  async #playUntilKept(position: PlannedEpisode<Task>): Promise<Episode> {
    const lost: ErrorData[] = [];
    for (;;) {
      const run = new EpisodeRun(this.#settings, position);
      this.#slots.running.add(run);
      const played = await run.play();
      this.#slots.running.delete(run);
      const episode = lost.length === 0 ? played : { ...played, lost: [...lost] };
      if (!isLostEpisode(played.error) || lost.length === lostEpisodeRetries || this.#slots.stopped.aborted)
        return episode;
      lost.push(played.error);
    }
  }

  /** Adds an episode to its group. Ends the group after its last episode. */
  #join(index: number, { episode, groupSize }: { readonly episode: Episode; readonly groupSize: number }): void {
    let group = this.#open.get(index);
    if (group === undefined) {
      group = { episodes: [], left: groupSize };
      this.#open.set(index, group);
    }
    group.episodes[episode.sampleIndex] = episode;
    group.left -= 1;
    if (group.left > 0) return;
    this.#open.delete(index);
    // Samples that are not played leave holes in the array.
    const episodes = group.episodes.filter((played) => played !== undefined);
    if (this.#settings.pool.factory.scoreGroup === undefined) {
      this.#endGroup(index, episodes);
      return;
    }
    const scoring = this.#score(index, episodes)
      .catch((error) => this.#slots.fail(error))
      .finally(() => this.#scoring.delete(scoring));
    this.#scoring.add(scoring);
  }

  async #score(index: number, played: readonly Episode[]): Promise<void> {
    const signal = this.#slots.stopped;
    const episodes = await scoreGroup({
      factory: this.#settings.pool.factory,
      episodes: played,
      limitMs: this.#settings.limits.environmentMs,
      signal,
    });
    for (const episode of episodes) await this.#options.trace?.write(episode);
    if (!signal.aborted) this.#endGroup(index, episodes);
  }

  /** Writes the episodes of incomplete groups to the trace, as unscored. */
  async #traceOpenGroups(): Promise<void> {
    if (this.#settings.pool.factory.scoreGroup === undefined) return;
    for (const [index, { episodes }] of this.#open) {
      const played = episodes.filter((episode) => episode !== undefined);
      await this.#score(index, played).catch((error) => this.#slots.fail(error));
    }
  }

  #endGroup(index: number, episodes: readonly Episode[]): void {
    if (episodes.some(({ status }) => status === "aborted")) return;
    this.#groups += 1;
    this.#queue.push({ type: "group-end", group: index, result: { task: episodes[0]!.task, episodes } });
  }
}
