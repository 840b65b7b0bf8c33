import type {
  CheckpointEvent,
  EvaluationEvent,
  RunEndEvent,
  RunStartEvent,
  SampleEvent,
  StepEvent,
  TrainingEvent,
  WarningEvent,
} from "./training-event.ts";

/** What a view of a running training needs to remember of the events so far. */
export interface TrainingState {
  readonly start?: RunStartEvent;
  readonly step?: StepEvent;
  readonly sample?: SampleEvent;
  readonly evaluation?: EvaluationEvent;
  readonly checkpoint?: CheckpointEvent;
  readonly warning?: WarningEvent;
  readonly warnings: number;
  readonly end?: RunEndEvent;
  /** The last values of the metric to watch: mean reward where there is one, else the loss. */
  readonly trend: readonly number[];
}

/** The state before the first event. */
export const initialTrainingState: TrainingState = { warnings: 0, trend: [] };

const trendLength = 240;

/** The state after one more event. */
export function updateTrainingState(state: TrainingState, event: TrainingEvent): TrainingState {
  switch (event.type) {
    case "run-start":
      return { ...initialTrainingState, start: event };
    case "step": {
      const watched = event.metrics["reward/mean"] ?? event.metrics["loss/total"];
      const trend = watched === undefined ? state.trend : [...state.trend, watched].slice(-trendLength);
      return { ...state, step: event, trend };
    }
    case "sample":
      return { ...state, sample: event };
    case "evaluation":
      return { ...state, evaluation: event };
    case "checkpoint":
      return { ...state, checkpoint: event };
    case "warning":
      return { ...state, warning: event, warnings: state.warnings + 1 };
    case "run-end":
      return { ...state, end: event };
  }
}
