export { createTinkerBackend, type TinkerBackendOptions } from "./backend.ts";
export type { GradientRule } from "./gradient-rule.ts";
export type { ConnectionTimes } from "./tinker-connection.ts";
export type { Encoding } from "./tinker-session.ts";
