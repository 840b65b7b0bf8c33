export type { AgentProgram } from "../src/contract/agent-program.ts";
export type { AgentCall } from "./capture/agent-call.ts";
export { type AgentFunction, type AgentProgramOptions, agentProgram } from "./capture/agent-program.ts";
export {
  type CaptureDialect,
  type CapturedCall,
  type CaptureServer,
  type CaptureServerOptions,
  type CaptureSession,
  type CaptureSessionOptions,
  captureServer,
} from "./capture/index.ts";
export { remoteEnvironment } from "./client/remote-environment.ts";
export type { RemoteTask } from "./client/remote-instance.ts";
export type { RemoteOptions } from "./client/remote-options.ts";
export { type GrpcServices, grpcHandler } from "./grpc/grpc-handler.ts";
export { type GrpcServer, type GrpcServerOptions, serveGrpc } from "./grpc/serve-grpc.ts";
export {
  type EnvironmentServer,
  type EnvironmentServerOptions,
  serveEnvironments,
} from "./http/serve-environments.ts";
export type { EnvironmentModule, OpenedEnvironments } from "./session/environment-module.ts";
export type {
  EnvironmentRunner,
  ServedEnvironment,
  ServedSplit,
  ServedTask,
} from "./session/environment-runner.ts";
export { localRunner, type NamedDefinition } from "./session/local-runner.ts";
export type { AnswersToScore } from "./session/score-answers.ts";
export type {
  EnvironmentSession,
  SessionEpisode,
  SessionReset,
  SessionState,
  SessionStep,
  SessionStepResult,
} from "./session/session.ts";
export {
  createSessionHost,
  type HostedSession,
  type SessionHost,
  type SessionLimits,
} from "./session/session-host.ts";
export { type WorkerRunnerOptions, workerRunner } from "./session/worker-runner.ts";
