import { formatCount, formatDuration, formatNumber } from "./text/format-numbers.ts";

/** The activity of a run between two events. */
export type TrainingActivity = "preflight" | "probing" | "playing" | "learning" | "evaluating";

/** The progress of a run's current activity. */
export interface ActivityProgress {
  readonly activity: TrainingActivity;
  /** The step that the activity belongs to. */
  readonly step: number;
  /** The unit of `done` and `total`. */
  readonly unit: "episodes" | "tasks" | "sequences";
  readonly done: number;
  readonly total: number;
  /** The number of tokens that the models sampled or trained on in this activity so far. */
  readonly tokens: number;
  readonly elapsedMs: number;
}

/** Counts the progress of one activity. Disposal ends the activity. */
export interface ActivityMeter extends Disposable {
  /** Adds to the total. */
  expect(count: number): void;
  /** Adds to the number that is done. */
  add(count: number): void;
  addTokens(count: number): void;
}

/**
 * The progress of a training within its current step. Pass the same object to `train`, which updates it, and to
 * `showTraining`, which shows it, or call `now()` at any time.
 */
export class TrainingProgress {
  readonly #now: () => number;
  readonly #activities: (Omit<ActivityProgress, "elapsedMs"> & { readonly startedAt: number })[] = [];

  /** `now` is a monotonic clock in milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Returns the activity that began last and is still running. Returns undefined between activities. */
  now(): ActivityProgress | undefined {
    const current = this.#activities.at(-1);
    if (current === undefined) return undefined;
    const { startedAt, ...progress } = current;
    return { ...progress, elapsedMs: this.#now() - startedAt };
  }

  /** Begins an activity. Several can run at once, for example rollouts of the next step during an update. */
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

/** Returns a text such as `playing: 37 of 128 episodes, 12.3K tokens, 410 tokens/s, 30.0 s`. */
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
