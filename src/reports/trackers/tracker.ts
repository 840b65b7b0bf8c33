import type { Json } from "../../contract/json.ts";
import type { RunStartEvent, TrainingEvent } from "../../contract/training-event.ts";

/** What a tracker is told of a run before anything else. */
export interface TrackedRun {
  readonly start: RunStartEvent;
  /** The run's output folder; it exists. */
  readonly folder: string;
  readonly config?: Json;
}

/** Tells a program outside of a run what happens in it: a file, TensorBoard, MLflow, one of your own. */
export interface Tracker {
  /** What warnings call it, such as `MLflow at http://localhost:5000`. */
  readonly name: string;
  /** Begins to follow a run, or goes on with one that is resumed. Rejects where it cannot, and follows it no further. */
  open(run: TrackedRun, options: { readonly signal: AbortSignal }): Promise<TrackedSession>;
}

/** One run that a tracker follows. */
export interface TrackedSession {
  /**
   * Takes one event, in their order, the run's start first. The run waits for it: what takes its time, such as a
   * network, keeps the event and sends it in the background. Rejects where something is lost; no event follows then.
   */
  write(event: TrainingEvent, options: { readonly signal: AbortSignal }): Promise<void>;
  /** Sends what is kept and closes. The run may have ended without a `run-end`, and `write` may have rejected. */
  close(options: { readonly signal: AbortSignal }): Promise<void>;
}
