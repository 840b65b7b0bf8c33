import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { type ErrorCode, type ErrorData, fromErrorData, LyceumError } from "../../../src/contract/errors/index.ts";
import { withoutUndefined } from "../../../src/core/without-undefined.ts";
import { clientErrorData } from "../../http/client-error-data.ts";
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

/** Returns an error in its wire form. */
export function toWireError(error: unknown): MessageInitShape<typeof ErrorSchema> {
  const { data, ...rest } = clientErrorData(error);
  return { ...rest, ...valueField("data", data) };
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
  const { code, message } = clientErrorData(error);
  const details = [{ desc: ErrorSchema, value: toWireError(error) }];
  return new ConnectError(message, codes[code] ?? Code.Internal, undefined, details, error);
}

/** Returns the Lyceum error in the details of a status. Undefined if another program sent the status. */
export function lyceumErrorIn(error: ConnectError): LyceumError | undefined {
  const [found] = error.findDetails(ErrorSchema);
  if (found === undefined) return undefined;
  return LyceumError.isInstance(error.cause) ? error.cause : fromErrorData(fromWireError(found));
}
