import type { Json } from "./json.ts";
import type { RunStartEvent, TrainingEvent } from "./training-event.ts";

/** The information that a tracker receives when it opens. */
export interface TrackedRun {
  readonly start: RunStartEvent;
  /** The run's output folder. It exists. */
  readonly folder: string;
  readonly config?: Json;
}

/** Sends the events of a run to a program: a file, TensorBoard, MLflow or your own. */
export interface Tracker {
  /** Its name in warnings, such as `MLflow at http://localhost:5000`. */
  readonly name: string;
  /** Starts to follow a run, or continues with a resumed one. If it rejects, the tracker is not used for this run. */
  open(run: TrackedRun, options: { readonly signal: AbortSignal }): Promise<TrackedSession>;
}

/** A tracker that follows one run. */
export interface TrackedSession {
  /**
   * Receives one event. Events come in order, the start of the run first. The run waits for it, so queue slow work such
   * as network requests and do it in the background. Reject if data is lost: no event follows then.
   */
  write(event: TrainingEvent, options: { readonly signal: AbortSignal }): Promise<void>;
  /**
   * Sends what is queued and closes. It is also called if the run ended without a `run-end`, or if `write` rejected.
   */
  close(options: { readonly signal: AbortSignal }): Promise<void>;
}
