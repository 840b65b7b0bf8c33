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
  /** The last mean rewards and losses, one per step that had one. */
  readonly rewards: readonly number[];
  readonly losses: readonly number[];
}

/** The state before the first event. */
export const initialTrainingState: TrainingState = { warnings: 0, rewards: [], losses: [] };

const trendLength = 240;

/** The state after one more event. */
export function updateTrainingState(state: TrainingState, event: TrainingEvent): TrainingState {
  switch (event.type) {
    case "run-start":
      return { ...initialTrainingState, start: event };
    case "step":
      return {
        ...state,
        step: event,
        rewards: extend(state.rewards, event.metrics["reward/mean"]),
        losses: extend(state.losses, event.metrics["loss/total"]),
      };
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

function extend(values: readonly number[], next: number | undefined): readonly number[] {
  return next === undefined ? values : [...values, next].slice(-trendLength);
}
