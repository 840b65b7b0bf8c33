export { defaultHealthSettings, type HealthCheck, type HealthSettings, watchHealth } from "../health/index.ts";
export {
  type MetricsFile,
  readMetrics,
  recordRun,
  showTraining,
  type TrainingEvent,
  writeReport,
} from "../report/index.ts";
export {
  eventMetrics,
  type MlflowTrackerOptions,
  mlflowTracker,
  type TrackedRun,
  type TrackedSession,
  type Tracker,
  tensorboardTracker,
} from "../trackers/index.ts";
