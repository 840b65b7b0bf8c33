export type {
  CheckpointEvent,
  PreflightCheck,
  PreflightEvent,
  ProbeEvent,
  RunEndEvent,
  RunStartEvent,
  SampleEvent,
  StepEvent,
  TrainingEvaluationEvent,
  TrainingEvent,
  TrainingWarningEvent,
} from "../../src/contract/training-event.ts";
export { type ActivityProgress, TrainingProgress } from "../../src/core/training-progress.ts";
export {
  type MetricsFile,
  type MetricsHeader,
  type MetricsWriter,
  readMetrics,
} from "./metrics-file.ts";
export { recordedEvents, recordRun, reportFileName, writeReport } from "./record-run.ts";
export { type RunRecord, runRecord } from "./run-record.ts";
export { showTraining, type TerminalViewOptions } from "./terminal-view.ts";
