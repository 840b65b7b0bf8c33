export {
  type CheckOptions,
  checkEnvironment,
  type EnvironmentProblem,
  type EnvironmentReport,
} from "./check-environment.ts";
