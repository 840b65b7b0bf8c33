import { LyceumError } from "../../../src/contract/errors/index.ts";
import { isJsonObject, type Json } from "../../../src/contract/json.ts";

/** Creates the error for a server that cannot be reached or that has lost a model. */
export function unavailable(message: string, cause?: unknown, data?: Json): LyceumError {
  return new LyceumError({
    code: "backend.unavailable",
    message,
    hint: "Check the server and backend.url. If the run has a checkpoint, it is complete: start the server and continue with --resume. Otherwise start the run again.",
    ...(data === undefined ? {} : { data }),
    cause,
  });
}

const unknownReason = "unknown-outcome";

/** True for an error of {@link unknownOutcome}. */
export function isUnknownOutcome(error: unknown): boolean {
  return LyceumError.isInstance(error) && isJsonObject(error.data) && error.data.reason === unknownReason;
}

/** Creates the error for a request that may or may not have been applied and must not be sent again. */
export function unknownOutcome(route: string, why: string, cause?: unknown): LyceumError {
  return new LyceumError({
    code: "backend.unavailable",
    message: `It is unknown whether the server applied ${route}: ${why}. The server has no sequence ids, so a repeated request could apply it twice.`,
    hint: "The request was not repeated. Continue from the last checkpoint with --resume.",
    data: { route, reason: unknownReason },
    cause,
  });
}

/** Creates the error for a request that the server refuses. */
export function refused(options: {
  readonly route: string;
  readonly status: number;
  readonly detail: string;
}): LyceumError {
  const { route, status, detail } = options;
  if (status === 401 || status === 403) {
    return new LyceumError({
      code: "server.unauthorized",
      message: `The server refuses the API key (${status}): ${detail}`,
      hint: "Set the environment variable TINKER_API_KEY to a key of this server.",
      data: { route, status },
    });
  }
  // A server that was restarted has lost its models and sessions.
  if (status === 404 || /not (loaded|found)/i.test(detail)) {
    return unavailable(`The server does not know what ${route} needs (${status}): ${detail}.`, undefined, {
      route,
      status,
    });
  }
  return new LyceumError({
    code: "backend.failed",
    message: `The server refuses ${route} (${status}): ${detail}`,
    hint: "Check the server's log and its limits (rank, number of adapters, length of sequences).",
    data: { route, status, detail },
  });
}

/** True for an error of {@link refused}: the server has answered, and has not run the request. */
export function isRefusal(error: unknown): boolean {
  return statusOf(error) !== undefined;
}

/**
 * True if an error can mean that the server takes passes in protobuf only: a refused type (415), or no route for passes in
 * JSON (404, 405). A 404 can also mean that the server has lost the model.
 */
export function refusesJson(error: unknown): boolean {
  return [404, 405, 415].includes(statusOf(error) ?? 0);
}

function statusOf(error: unknown): number | undefined {
  if (!LyceumError.isInstance(error) || !isJsonObject(error.data)) return undefined;
  const { status } = error.data;
  return typeof status === "number" ? status : undefined;
}

/** Creates the error for an archive whose address is not one of HTTP. */
export function noArchive(address: URL): LyceumError {
  return unsupported(
    address.protocol === "file:"
      ? `The server offers no download of its weights. They are on its own machine, at ${address.pathname}.`
      : `The server's address of its weights begins with ${address.protocol}, which Lyceum cannot download.`,
    "Copy the weights from the server's machine, or set export.format to none and resume the run.",
  );
}

/** Creates the error for what the server or the protocol cannot do. */
export function unsupported(message: string, hint: string): LyceumError {
  return new LyceumError({ code: "backend.unsupported", message, hint });
}

/** Creates the error for a loss or gradient that is NaN or infinite. */
export function notFinite(what: string): LyceumError {
  return new LyceumError({
    code: "backend.not-finite",
    message: `${what} is not finite.`,
    hint: "Lower training.learningRate, and check the rewards and demonstrations for extreme values.",
  });
}
