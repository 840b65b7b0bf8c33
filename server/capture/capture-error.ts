import { type ErrorCode, LyceumError } from "../../src/contract/errors/index.ts";
import { isJsonObject } from "../../src/contract/json.ts";
import { clientErrorData } from "../http/client-error-data.ts";
import type { DialectError } from "./dialects/dialect.ts";

const statuses: Partial<Record<ErrorCode, number>> = {
  "server.invalid-request": 400,
  "config.invalid": 400,
  "data.malformed": 400,
  "policy.unsupported-input": 400,
  "policy.prompt-too-long": 400,
  "policy.rejected": 400,
  "model.template": 400,
  "server.unauthorized": 401,
  "server.unknown-session": 404,
  "server.capacity": 429,
  "server.closed": 503,
  "policy.unavailable": 503,
  timeout: 504,
};

/** The statuses of errors whose data has a flag. */
const flagged = [
  ["tooLarge", 413],
  ["notFound", 404],
  ["foreign", 403],
] as const;

/** Converts an error for a client. The messages of errors that are not Lyceum's own stay inside. */
export function clientError(error: unknown): DialectError {
  if (!LyceumError.isInstance(error)) {
    return { status: 500, code: "internal", message: "The policy failed. The server's program has the error." };
  }
  const { code, message, hint, data } = clientErrorData(error);
  const found = isJsonObject(data) ? flagged.find(([flag]) => data[flag] === true)?.[1] : undefined;
  const status = found ?? statuses[code] ?? 500;
  return { status, code, message: hint === undefined ? message : `${message} ${hint}` };
}

/** The error for a key that belongs to no session. The message does not repeat the key. */
export function unauthorized(): LyceumError {
  return new LyceumError({
    code: "server.unauthorized",
    message: "The API key belongs to no open session.",
    hint: "The API key of a client is the id of a session.",
  });
}
