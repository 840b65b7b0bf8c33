import { match } from "ts-pattern";
import type {
  CheckpointEvent,
  RunEndEvent,
  RunStartEvent,
  SampleEvent,
  StepEvent,
  TrainingEvaluationEvent,
  TrainingEvent,
  TrainingWarningEvent,
} from "../../src/contract/training-event.ts";

/** The state of a view of a running training. */
export interface TrainingViewState {
  readonly start?: RunStartEvent;
  readonly step?: StepEvent;
  readonly sample?: SampleEvent;
  readonly evaluation?: TrainingEvaluationEvent;
  readonly checkpoint?: CheckpointEvent;
  /** The last warning that is not from a health check. */
  readonly warning?: TrainingWarningEvent;
  readonly warnings: number;
  /** The warnings of health checks: the last one of each of the last three checks whose trouble is not over. */
  readonly troubles: readonly TrainingWarningEvent[];
  readonly end?: RunEndEvent;
  /** The last mean rewards and losses, one per step that has one. */
  readonly rewards: readonly number[];
  readonly losses: readonly number[];
}

/** The state before the first event. */
export const initialTrainingState: TrainingViewState = { warnings: 0, troubles: [], rewards: [], losses: [] };

const trendLength = 240;

/** Returns the state after one more event. */
export function updateTrainingState(state: TrainingViewState, event: TrainingEvent): TrainingViewState {
  return match(event)
    .returnType<TrainingViewState>()
    .with({ type: "run-start" }, (start) => ({ ...initialTrainingState, start }))
    .with({ type: "step" }, (step) => ({
      ...state,
      step,
      rewards: extend(state.rewards, step.metrics["reward/mean"]),
      losses: extend(state.losses, step.metrics["loss/total"]),
    }))
    .with({ type: "preflight" }, { type: "probe" }, () => state)
    .with({ type: "sample" }, (sample) => ({ ...state, sample }))
    .with({ type: "evaluation" }, (evaluation) => ({ ...state, evaluation }))
    .with({ type: "checkpoint" }, (checkpoint) => ({ ...state, checkpoint }))
    .with({ type: "warning" }, (warning) => {
      if (warning.check === undefined) return { ...state, warning, warnings: state.warnings + 1 };
      const others = state.troubles.filter(
        ({ check, subject }) => check !== warning.check || (warning.over === true && subject !== warning.subject),
      );
      return { ...state, troubles: warning.over === true ? others : [...others, warning].slice(-3) };
    })
    .with({ type: "run-end" }, (end) => ({ ...state, end }))
    .exhaustive();
}

function extend(values: readonly number[], next: number | undefined): readonly number[] {
  return next === undefined ? values : [...values, next].slice(-trendLength);
}
