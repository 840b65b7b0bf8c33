import { LyceumError } from "../../src/contract/errors/index.ts";
import { isJsonObject } from "../../src/contract/json.ts";

/** The error for a connection that was refused or lost. */
export function connectionError(shown: string, cause: unknown): LyceumError {
  return new LyceumError({
    code: "environment.unavailable",
    message: `The environment server ${shown} cannot be reached: ${textOf(cause)}`,
    hint: "Check that the server runs and that the address is right.",
    data: { reason: "connection", address: shown },
    cause,
  });
}

/** The error for an answer that does not follow the protocol. */
export function answerError(shown: string, problem: string, cause?: unknown): LyceumError {
  return new LyceumError({
    code: "environment.unavailable",
    message: `The environment server ${shown} sent an answer that cannot be read: ${problem}`,
    hint: "Check that the address is that of an environment server, and that a proxy does not change its answers.",
    data: { reason: "answer", address: shown },
    cause,
  });
}

/** The error for a server of a protocol that Lyceum serves but does not play. */
export function otherProtocolError(shown: string, protocol: string): LyceumError {
  return new LyceumError({
    code: "config.invalid",
    message: `The server ${shown} speaks ${protocol}, and remoteEnvironment does not.`,
    hint: "Use a server of OpenEnv's protocol or of Lyceum's gRPC services. lyceum serve offers both.",
    data: { address: shown, protocol },
  });
}

/** The error for a call without an answer in time. The session is closed, so that a late answer reaches no one. */
export function callTimeoutError(
  shown: string,
  { call, ms }: { readonly call: string; readonly ms: number },
): LyceumError {
  return new LyceumError({
    code: "timeout",
    message: `The environment server ${shown} did not answer ${call} within ${ms} ms.`,
    hint: "Raise callMs if the environment needs more time.",
    data: { address: shown, call, ms },
  });
}

/** True if connecting again may help: the connection or session was lost, or the server had no free session. */
export function isRecoverable(error: unknown): error is LyceumError {
  if (!LyceumError.isInstance(error)) return false;
  if (isLostConnection(error)) return true;
  return ["server.unknown-session", "server.closed", "server.capacity"].includes(error.code);
}

/** True if the connection was refused or lost. */
export function isLostConnection(error: LyceumError): boolean {
  return error.code === "environment.unavailable" && isJsonObject(error.data) && error.data.reason === "connection";
}

function textOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  const inner = cause.cause instanceof Error ? cause.cause : cause;
  const { code } = inner as NodeJS.ErrnoException;
  return inner.message || code || inner.name;
}
