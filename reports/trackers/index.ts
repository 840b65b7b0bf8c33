export type { TrackedRun, TrackedSession, Tracker } from "../../src/contract/tracker.ts";
export { eventMetrics } from "./event-metrics.ts";
export { followRun, type RunFollower } from "./follow-run.ts";
export { type MlflowTrackerOptions, mlflowTracker } from "./mlflow/mlflow-tracker.ts";
export { tensorboardTracker } from "./tensorboard/tensorboard-tracker.ts";
export {
  createTrackers,
  defineTracker,
  type TrackerConfig,
  type TrackerDefinition,
  trackerConfigsSchema,
  trackers,
} from "./tracker-config.ts";
