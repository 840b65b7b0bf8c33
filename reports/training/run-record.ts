import type { Json } from "../../src/contract/json.ts";
import type {
  CheckpointEvent,
  PreflightEvent,
  ProbeEvent,
  RunEndEvent,
  RunStartEvent,
  SampleEvent,
  StepEvent,
  TrainingEvaluationEvent,
  TrainingWarningEvent,
} from "../../src/contract/training-event.ts";
import type { MetricsFile } from "./metrics-file.ts";

/** A whole run including resumptions, by kind of event. The report is created from it. */
export interface RunRecord {
  readonly startedAt?: string;
  readonly config?: Json;
  /** The last start event. */
  readonly start?: RunStartEvent;
  /** The last preflight. */
  readonly preflight?: PreflightEvent;
  /** The probe before the first step. */
  readonly probe?: ProbeEvent;
  /** The steps in ascending order, one per step number. For repeated steps, the last one. */
  readonly steps: readonly StepEvent[];
  /** The evaluations in ascending order, one per step and split, without an accuracy that nothing defines. */
  readonly evaluations: readonly TrainingEvaluationEvent[];
  readonly samples: readonly SampleEvent[];
  readonly warnings: readonly TrainingWarningEvent[];
  readonly checkpoints: readonly CheckpointEvent[];
  readonly end?: RunEndEvent;
  /** The total duration of all sessions in milliseconds. */
  readonly elapsedMs: number;
  /** The number of resumptions. */
  readonly resumptions: number;
}

/** Sorts the events of a metrics file by kind. */
export function runRecord(file: Pick<MetricsFile, "events"> & { readonly header?: MetricsFile["header"] }): RunRecord {
  let start: RunStartEvent | undefined;
  let end: RunEndEvent | undefined;
  let preflight: PreflightEvent | undefined;
  let probe: ProbeEvent | undefined;
  let finishedMs = 0;
  let sessionMs = 0;
  let resumptions = 0;
  const steps = new Map<number, StepEvent>();
  const evaluations = new Map<string, TrainingEvaluationEvent>();
  const samples: SampleEvent[] = [];
  const warnings: TrainingWarningEvent[] = [];
  const checkpoints: CheckpointEvent[] = [];
  for (const event of file.events) {
    switch (event.type) {
      case "run-start":
        if (event.resumedFrom > 0) resumptions++;
        finishedMs += sessionMs;
        sessionMs = 0;
        start = event;
        end = undefined;
        break;
      case "preflight":
        preflight = event;
        break;
      case "probe":
        probe = event;
        break;
      case "step":
        steps.set(event.step, event);
        sessionMs = Math.max(sessionMs, event.elapsedMs);
        break;
      case "evaluation":
        evaluations.set(JSON.stringify([event.step, event.split]), event);
        break;
      case "sample":
        samples.push(event);
        break;
      case "warning":
        warnings.push(event);
        break;
      case "checkpoint":
        checkpoints.push(event);
        break;
      case "run-end":
        end = event;
        sessionMs = Math.max(sessionMs, event.elapsedMs);
        break;
    }
  }
  return {
    startedAt: file.header?.startedAt,
    ...(file.header?.config === undefined ? {} : { config: file.header.config }),
    start,
    end,
    preflight,
    probe,
    steps: byStep(steps.values()),
    evaluations: byStep(evaluations.values()).map((event) => withStatedAccuracy(event, start)),
    samples: byStep(samples),
    warnings,
    checkpoints,
    elapsedMs: finishedMs + sessionMs,
    resumptions,
  };
}

/** Returns an evaluation without its accuracies if the environment does not state which episodes are correct. */
export function withStatedAccuracy(
  event: TrainingEvaluationEvent,
  start: Pick<RunStartEvent, "definesCorrect"> | undefined,
): TrainingEvaluationEvent {
  if (start?.definesCorrect !== false) return event;
  const metrics = Object.entries(event.metrics).filter(([name]) => !/^accuracy(\/|$)/.test(name));
  return { ...event, metrics: Object.fromEntries(metrics) };
}

function byStep<T extends { readonly step: number }>(events: Iterable<T>): T[] {
  return [...events].sort((a, b) => a.step - b.step);
}
