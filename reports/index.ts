export { defaultHealthSettings, type HealthCheck, type HealthSettings, watchHealth } from "./health/index.ts";
export {
  defineTracker,
  eventMetrics,
  type MlflowTrackerOptions,
  mlflowTracker,
  type TrackedRun,
  type TrackedSession,
  type Tracker,
  type TrackerDefinition,
  tensorboardTracker,
  trackers,
} from "./trackers/index.ts";
export {
  type MetricsFile,
  readMetrics,
  recordRun,
  showTraining,
  type TrainingEvent,
  writeReport,
} from "./training/index.ts";
