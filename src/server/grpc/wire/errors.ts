import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  type ErrorCode,
  type ErrorData,
  fromErrorData,
  LyceumError,
  toErrorData,
} from "../../../contract/errors/index.ts";
import { isJsonObject } from "../../../contract/json.ts";
import { withoutUndefined } from "../../../core/without-undefined.ts";
import type * as wire from "../generated/lyceum/v1/messages_pb.ts";
import { ErrorSchema } from "../generated/lyceum/v1/messages_pb.ts";
import { jsonField, valueField } from "./json-value.ts";

/** The gRPC codes of Lyceum's errors. All others are `INTERNAL`. */
const codes: Partial<Record<ErrorCode, Code>> = {
  "config.unknown-name": Code.NotFound,
  "config.invalid": Code.InvalidArgument,
  "data.out-of-range": Code.OutOfRange,
  "data.unavailable": Code.Unavailable,
  "environment.unavailable": Code.Unavailable,
  "policy.unsupported-input": Code.InvalidArgument,
  "policy.prompt-too-long": Code.InvalidArgument,
  "policy.rejected": Code.FailedPrecondition,
  "policy.unauthorized": Code.FailedPrecondition,
  "policy.unavailable": Code.Unavailable,
  "backend.unsupported": Code.InvalidArgument,
  "sandbox.unavailable": Code.Unavailable,
  "server.capacity": Code.ResourceExhausted,
  "server.closed": Code.Unavailable,
  "server.unauthorized": Code.Unauthenticated,
  "server.invalid-request": Code.InvalidArgument,
  "server.unknown-session": Code.NotFound,
  aborted: Code.Canceled,
  timeout: Code.DeadlineExceeded,
};

/** Returns an error in its wire form, without the stack of the server's code. */
export function toWireError({ name, code, message, hint, data }: ErrorData): MessageInitShape<typeof ErrorSchema> {
  const { stack: _, ...rest } = isJsonObject(data) ? data : {};
  return { name, code, message, hint, ...valueField("data", isJsonObject(data) ? rest : data) };
}

/** Returns the error of a wire form. */
export function fromWireError({ name, code, message, hint, data }: wire.Error): ErrorData {
  return { name, code: code as ErrorCode, message, ...withoutUndefined({ hint }), ...jsonField("data", data) };
}

/**
 * Returns the status of a failed call: the gRPC code, the message, and the whole error in the details. A
 * {@link ConnectError} stays as it is.
 */
export function toConnectError(error: unknown): ConnectError {
  if (error instanceof ConnectError) return error;
  const data = toErrorData(error);
  const status = codes[data.code] ?? Code.Internal;
  return new ConnectError(data.message, status, undefined, [{ desc: ErrorSchema, value: toWireError(data) }], error);
}

/** Returns the Lyceum error in the details of a status. Undefined if another program sent the status. */
export function lyceumErrorIn(error: ConnectError): LyceumError | undefined {
  const [found] = error.findDetails(ErrorSchema);
  if (found === undefined) return undefined;
  return LyceumError.isInstance(error.cause) ? error.cause : fromErrorData(fromWireError(found));
}
