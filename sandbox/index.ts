export { type CreateSandboxOptions, createSandbox, type SandboxChoice } from "./create-sandbox.ts";
export type {
  CallCase,
  CapturedOutput,
  CaseObservation,
  CodeError,
  ExecuteRequest,
  ExecuteResult,
  ExecuteStatus,
  ExecuteTask,
  Language,
  Usage,
} from "./execution.ts";
export { defaultLimits, type Limits } from "./limits.ts";
export type { PlainValue } from "./plain-value.ts";
export type { Sandbox, SandboxInfo, SandboxStats } from "./sandbox.ts";
