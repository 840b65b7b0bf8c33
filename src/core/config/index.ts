export type { ConfigProblem } from "./config-problem.ts";
export { type ConfigKey, configReference } from "./config-reference.ts";
export { type LoadConfigOptions, loadConfig } from "./load-config.ts";
