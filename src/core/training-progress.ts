import { formatCount, formatDuration, formatNumber } from "./text/format.ts";

/** What a run is doing between two events. */
export type TrainingActivity = "probing" | "playing" | "learning" | "evaluating";

/** The progress of a run's current activity. */
export interface ActivityProgress {
  readonly activity: TrainingActivity;
  /** The step that it is for. */
  readonly step: number;
  /** What `done` and `total` count. */
  readonly unit: "episodes" | "tasks" | "sequences";
  readonly done: number;
  readonly total: number;
  /** Tokens that the models sampled or learned in it so far. */
  readonly tokens: number;
  readonly elapsedMs: number;
}

/** One activity while it goes on. Disposing of it ends it. */
export interface ActivityMeter extends Disposable {
  /** Adds to what there is to do. */
  expect(count: number): void;
  /** Adds to what is done. */
  add(count: number): void;
  addTokens(count: number): void;
}

/**
 * How far a training is within its current step. Give the same object to `train`, which fills it, and to
 * `showTraining`, which shows it; or read `now()` at any time.
 */
export class TrainingProgress {
  readonly #now: () => number;
  readonly #activities: (Omit<ActivityProgress, "elapsedMs"> & { readonly startedAt: number })[] = [];

  /** `now` is a clock in milliseconds that never goes back. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** The activity that began last and still goes on; undefined between activities. */
  now(): ActivityProgress | undefined {
    const current = this.#activities.at(-1);
    if (current === undefined) return undefined;
    const { startedAt, ...progress } = current;
    return { ...progress, elapsedMs: this.#now() - startedAt };
  }

  /** Begins an activity. Several may go on at once, such as play ahead while a step learns. */
  begin(what: Pick<ActivityProgress, "activity" | "step" | "unit"> & { readonly total?: number }): ActivityMeter {
    const current = { total: 0, ...what, done: 0, tokens: 0, startedAt: this.#now() };
    this.#activities.push(current);
    return {
      expect: (count) => {
        current.total += count;
      },
      add: (count) => {
        current.done += count;
      },
      addTokens: (count) => {
        current.tokens += count;
      },
      [Symbol.dispose]: () => {
        const place = this.#activities.indexOf(current);
        if (place >= 0) this.#activities.splice(place, 1);
      },
    };
  }
}

/** Such as `playing: 37 of 128 episodes, 12.3K tokens, 410 tokens/s, 30.0 s`. */
export function progressText({ activity, unit, done, total, tokens, elapsedMs }: ActivityProgress): string {
  const parts = [
    ...(total === 0 ? [] : [`${formatNumber(done)} of ${formatNumber(total)} ${unit}`]),
    ...(tokens === 0 || elapsedMs <= 0
      ? []
      : [`${formatCount(tokens)} tokens`, `${formatCount((tokens * 1000) / elapsedMs)} tokens/s`]),
    formatDuration(elapsedMs),
  ];
  return `${activity}: ${parts.join(", ")}`;
}
