export {
  defaultHealthSettings,
  type HealthCheck,
  type HealthSettings,
  healthSettingsSchema,
} from "./health-settings.ts";
export { type HealthState, initialHealthState } from "./health-state.ts";
export { updateHealth } from "./health-warnings.ts";
export { watchHealth, watchRun } from "./watch-health.ts";
