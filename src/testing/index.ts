export { type BrokenLaw, checkEnvironment, type EnvironmentReport } from "./check-environment.ts";
export { checkEnvironmentLaws } from "./environment-laws.ts";
