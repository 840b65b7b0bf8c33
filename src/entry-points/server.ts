export type { AgentProgram } from "../contract/agent-program.ts";
export type { AgentCall } from "../server/capture/agent-call.ts";
export { type AgentFunction, type AgentProgramOptions, agentProgram } from "../server/capture/agent-program.ts";
export {
  type CaptureDialect,
  type CapturedCall,
  type CaptureServer,
  type CaptureServerOptions,
  type CaptureSession,
  type CaptureSessionOptions,
  captureServer,
} from "../server/capture/index.ts";
export { remoteEnvironment } from "../server/client/remote-environment.ts";
export type { RemoteTask } from "../server/client/remote-instance.ts";
export type { RemoteOptions } from "../server/client/remote-options.ts";
export { type GrpcServices, grpcHandler } from "../server/grpc/grpc-handler.ts";
export { type GrpcServer, type GrpcServerOptions, serveGrpc } from "../server/grpc/serve-grpc.ts";
export {
  type EnvironmentServer,
  type EnvironmentServerOptions,
  serveEnvironments,
} from "../server/http/serve-environments.ts";
export type { EnvironmentModule, OpenedEnvironments } from "../server/session/environment-module.ts";
export type {
  EnvironmentRunner,
  ServedEnvironment,
  ServedSplit,
  ServedTask,
} from "../server/session/environment-runner.ts";
export { localRunner, type NamedDefinition } from "../server/session/local-runner.ts";
export type { AnswersToScore } from "../server/session/score-answers.ts";
export type {
  EnvironmentSession,
  SessionEpisode,
  SessionReset,
  SessionState,
  SessionStep,
  SessionStepResult,
} from "../server/session/session.ts";
export {
  createSessionHost,
  type HostedSession,
  type SessionHost,
  type SessionLimits,
} from "../server/session/session-host.ts";
export { type WorkerRunnerOptions, workerRunner } from "../server/session/worker-runner.ts";
