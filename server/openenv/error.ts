import { type ErrorCode, toErrorData } from "../../src/contract/errors/index.ts";
import { isJsonObject } from "../../src/contract/json.ts";
import { clientErrorData } from "../http/client-error-data.ts";

/** The `data` of OpenEnv's error message. `error` is Lyceum's own error, for Lyceum's clients. */
export interface OpenEnvError {
  readonly message: string;
  readonly code: OpenEnvErrorCode;
  readonly [field: string]: unknown;
}

/** The error codes of OpenEnv 0.10. */
export type OpenEnvErrorCode =
  | "INVALID_JSON"
  | "UNKNOWN_TYPE"
  | "VALIDATION_ERROR"
  | "EXECUTION_ERROR"
  | "CAPACITY_REACHED"
  | "FACTORY_ERROR"
  | "SESSION_ERROR";

const codes: Partial<Record<ErrorCode, OpenEnvErrorCode>> = {
  "server.capacity": "CAPACITY_REACHED",
  "server.closed": "SESSION_ERROR",
  "server.unknown-session": "SESSION_ERROR",
  "server.invalid-request": "VALIDATION_ERROR",
  "data.out-of-range": "VALIDATION_ERROR",
  "config.unknown-name": "VALIDATION_ERROR",
  "config.invalid": "VALIDATION_ERROR",
};

const statuses: Partial<Record<ErrorCode, number>> = {
  "server.capacity": 503,
  "server.closed": 503,
  "server.unknown-session": 404,
  "server.invalid-request": 422,
  "server.unauthorized": 401,
  "data.out-of-range": 400,
  "config.unknown-name": 404,
  "config.invalid": 422,
  timeout: 504,
};

/** Returns the error of a failed request. */
export function openEnvError(thrown: unknown): OpenEnvError {
  const error = clientErrorData(thrown);
  const { data } = error;
  const capacity =
    error.code === "server.capacity" && isJsonObject(data)
      ? { active_sessions: data.activeSessions, max_sessions: data.maxSessions }
      : {};
  const message = error.hint === undefined ? error.message : `${error.message} ${error.hint}`;
  return { message, code: codes[error.code] ?? "EXECUTION_ERROR", ...capacity, error };
}

/** Returns the HTTP status of a failed request. */
export function errorStatus(thrown: unknown): number {
  const { code, data } = toErrorData(thrown);
  if (isJsonObject(data) && data.tooLarge === true) return 413;
  return statuses[code] ?? 500;
}
