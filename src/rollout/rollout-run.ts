import { deriveSeed } from "../random/random.ts";
import type { TaskEntry, Taskset } from "../taskset/taskset.ts";
import { abortedError, boundedWait } from "./bounded-wait.ts";
import type { Episode, EpisodeStatus } from "./episode.ts";
import { EpisodeRun, type RunPlace, type RunSettings } from "./episode-run.ts";
import type { EventQueue } from "./event-queue.ts";
import type { RolloutEvent } from "./rollout-event.ts";
import type { RolloutOptions } from "./rollout-options.ts";
import { scoreGroup } from "./score-group.ts";

/** A group some of whose episodes have not ended. */
interface OpenGroup {
  readonly episodes: Episode[];
  left: number;
}

/**
 * The state of one {@link rollout}: `concurrency` slots, each playing the next episode in task order when it is free.
 * A slot counts as busy for the flush barrier until there is no episode left for it.
 */
export class RolloutRun<Task> {
  readonly #options: Required<Pick<RolloutOptions<Task>, "groupSize" | "concurrency">> & RolloutOptions<Task>;
  readonly #settings: RunSettings<Task>;
  readonly #queue: EventQueue<RolloutEvent>;
  readonly #closePool: boolean;
  readonly #places: AsyncGenerator<RunPlace<Task>, void, undefined>;
  readonly #stopped = new AbortController();
  readonly #running = new Set<EpisodeRun<Task>>();
  readonly #open = new Map<number, OpenGroup>();
  readonly #scoring = new Set<Promise<void>>();
  readonly #counts: Record<EpisodeStatus, number> = { completed: 0, truncated: 0, failed: 0, aborted: 0 };
  #groups = 0;
  #turns = 0;
  #failure: unknown;

  constructor(
    options: RolloutOptions<Task> & {
      readonly groupSize: number;
      readonly concurrency: number;
      readonly settings: RunSettings<Task>;
      readonly queue: EventQueue<RolloutEvent>;
      /** True where the pool was made for this rollout. */
      readonly closePool: boolean;
    },
  ) {
    this.#options = options;
    this.#settings = options.settings;
    this.#queue = options.queue;
    this.#closePool = options.closePool;
    this.#places = places(options, this.#stopped.signal);
  }

  /** Plays everything and ends the queue. Never rejects: an error goes to the consumer of the queue. */
  async play(): Promise<void> {
    const started = performance.now();
    const { signal, concurrency } = this.#options;
    const onAbort = (): void => this.stop();
    if (signal?.aborted) this.stop();
    else signal?.addEventListener("abort", onAbort, { once: true });
    await Promise.all(Array.from({ length: concurrency }, () => this.#slot()));
    await Promise.all(this.#scoring);
    await this.#traceOpenGroups();
    signal?.removeEventListener("abort", onAbort);
    if (this.#closePool) await this.#settings.pool.close();
    if (this.#failure !== undefined) return this.#queue.end(this.#failure);
    if (this.#stopped.signal.aborted) return this.#queue.end(abortedError());
    this.#queue.push({
      type: "rollout-end",
      groups: this.#groups,
      episodes: this.#counts,
      turns: this.#turns,
      durationMs: performance.now() - started,
    });
    this.#queue.end();
  }

  /** Aborts the episodes that run and starts no more. */
  stop(): void {
    if (this.#stopped.signal.aborted) return;
    this.#stopped.abort();
    // Not awaited: a source of tasks that hangs must not hold up the end.
    void this.#places.return().catch(() => {});
    for (const run of this.#running) run.abort();
  }

  async #slot(): Promise<void> {
    const { barrier, slice } = this.#settings;
    barrier?.enter();
    try {
      for (;;) {
        await this.#queue.room();
        await slice.pause();
        if (this.#scoring.size >= this.#options.concurrency) await Promise.race(this.#scoring);
        const place = await this.#next();
        if (place === undefined || this.#stopped.signal.aborted) return;
        await this.#play(place);
      }
    } catch (error) {
      this.#fail(error);
    } finally {
      barrier?.leave();
    }
  }

  async #next(): Promise<RunPlace<Task> | undefined> {
    const { signal } = this.#stopped;
    if (signal.aborted) return undefined;
    try {
      const next = await boundedWait(this.#places.next(), { signal });
      return next.done ? undefined : next.value;
    } catch (error) {
      if (signal.aborted) return undefined;
      throw error;
    }
  }

  async #play(place: RunPlace<Task>): Promise<void> {
    const { group, member, entry } = place;
    this.#queue.push({
      type: "episode-start",
      group,
      member,
      task: { index: entry.index, id: entry.id, hash: entry.hash },
    });
    const run = new EpisodeRun(this.#settings, place);
    this.#running.add(run);
    const episode = await run.play();
    this.#running.delete(run);
    await this.#settings.slice.pause();
    this.#counts[episode.status] += 1;
    this.#turns += episode.turns;
    this.#queue.push({ type: "episode-end", group, episode });
    if (this.#settings.pool.factory.scoreGroup === undefined) await this.#options.trace?.write(episode);
    this.#join(group, episode);
  }

  /** Puts an episode into its group, and ends the group with its last one. */
  #join(index: number, episode: Episode): void {
    let group = this.#open.get(index);
    if (group === undefined) {
      group = { episodes: [], left: this.#options.groupSize };
      this.#open.set(index, group);
    }
    group.episodes[episode.member] = episode;
    group.left -= 1;
    if (group.left > 0) return;
    this.#open.delete(index);
    if (this.#settings.pool.factory.scoreGroup === undefined) {
      this.#endGroup(index, group.episodes);
      return;
    }
    const scoring = this.#score(index, group.episodes)
      .catch((error) => this.#fail(error))
      .finally(() => this.#scoring.delete(scoring));
    this.#scoring.add(scoring);
  }

  async #score(index: number, played: readonly Episode[]): Promise<void> {
    const episodes = await scoreGroup({
      factory: this.#settings.pool.factory,
      episodes: played,
      limitMs: this.#settings.limits.environmentMs,
      signal: this.#stopped.signal,
    });
    for (const episode of episodes) await this.#options.trace?.write(episode);
    if (!this.#stopped.signal.aborted) this.#endGroup(index, episodes);
  }

  /** What a stop kept from being scored still belongs into the trace: unscored. */
  async #traceOpenGroups(): Promise<void> {
    if (this.#settings.pool.factory.scoreGroup === undefined) return;
    for (const [index, { episodes }] of this.#open) {
      const played = episodes.filter((episode) => episode !== undefined);
      await this.#score(index, played).catch((error) => this.#fail(error));
    }
  }

  #endGroup(index: number, episodes: readonly Episode[]): void {
    if (episodes.some(({ status }) => status === "aborted")) return;
    this.#groups += 1;
    this.#queue.push({ type: "group-end", group: index, result: { task: episodes[0]!.task, episodes } });
  }

  #fail(error: unknown): void {
    this.#failure ??= error;
    this.stop();
  }
}

/** Every episode to play, in task order. A task that comes again gets a seed of its own, so that it plays anew. */
async function* places<Task>(
  options: RolloutOptions<Task> & { readonly groupSize: number },
  signal: AbortSignal,
): AsyncGenerator<RunPlace<Task>, void, undefined> {
  const seen = new Map<string, number>();
  let group = 0;
  for await (const entry of taskEntries(options.tasks, signal)) {
    const times = seen.get(entry.hash) ?? 0;
    seen.set(entry.hash, times + 1);
    const seed = times === 0 ? options.seed : deriveSeed(options.seed, "again", times);
    for (let member = 0; member < options.groupSize; member++) yield { entry, group, member, seed };
    group += 1;
  }
}

async function* taskEntries<Task>(
  tasks: RolloutOptions<Task>["tasks"],
  signal: AbortSignal,
): AsyncGenerator<TaskEntry<Task>, void, undefined> {
  if (!isTaskset(tasks)) return yield* tasks;
  const length = tasks.length === "unbounded" ? Infinity : tasks.length;
  for (let index = 0; index < length; index++) yield await tasks.get(index, { signal });
}

function isTaskset<Task>(tasks: RolloutOptions<Task>["tasks"]): tasks is Taskset<Task> {
  return "get" in tasks && "length" in tasks && !(Symbol.iterator in tasks);
}
