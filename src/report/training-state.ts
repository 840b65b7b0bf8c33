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
  /** The last but for those of the run's health. */
  readonly warning?: WarningEvent;
  readonly warnings: number;
  /** What the checks of the run's health found: the last of each of the last three checks that found anything and is not over. */
  readonly troubles: readonly WarningEvent[];
  readonly end?: RunEndEvent;
  /** The last mean rewards and losses, one per step that had one. */
  readonly rewards: readonly number[];
  readonly losses: readonly number[];
}

/** The state before the first event. */
export const initialTrainingState: TrainingState = { warnings: 0, troubles: [], rewards: [], losses: [] };

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
    case "probe":
      return state;
    case "sample":
      return { ...state, sample: event };
    case "evaluation":
      return { ...state, evaluation: event };
    case "checkpoint":
      return { ...state, checkpoint: event };
    case "warning": {
      if (event.check === undefined) return { ...state, warning: event, warnings: state.warnings + 1 };
      const others = state.troubles.filter(
        ({ check, subject }) => check !== event.check || (event.over === true && subject !== event.subject),
      );
      return { ...state, troubles: event.over === true ? others : [...others, event].slice(-3) };
    }
    case "run-end":
      return { ...state, end: event };
  }
}

function extend(values: readonly number[], next: number | undefined): readonly number[] {
  return next === undefined ? values : [...values, next].slice(-trendLength);
}
