import { LyceumError } from "../../contract/errors/index.ts";
import { withoutUrlSecrets } from "../text/secrets.ts";
import type { HubRepository } from "./hub-options.ts";

/**
 * Converts a failed hub request to an error: `data.not-found` for 404, 401 and 403, and `data.unavailable` for failures
 * that a retry or a working network may solve. The caller's own abort passes through.
 */
export function hubError(
  error: unknown,
  target: HubRepository & { readonly path?: string },
  signal?: AbortSignal,
): unknown {
  if (signal?.aborted === true) return signal.reason;
  if (LyceumError.isInstance(error)) return error;
  const what = describeHubTarget(target);
  const { statusCode } = (error ?? {}) as { readonly statusCode?: number };
  if (statusCode === 404) {
    return new LyceumError({
      code: "data.not-found",
      message: `The hub has no ${what}.`,
      hint: "Check the spelling of the repository, the revision and the path.",
      cause: error,
    });
  }
  if (statusCode === 401 || statusCode === 403) {
    return new LyceumError({
      code: "data.not-found",
      message: `The hub denies access to ${what} (${statusCode}).`,
      hint: "It does not exist, is private, or requires that you accept its terms: check its name, accept the terms, and set HF_TOKEN.",
      cause: error,
    });
  }
  const { syscall, code } = (error ?? {}) as { readonly syscall?: string; readonly code?: string };
  if (syscall !== undefined && code !== undefined && localFaults.includes(code)) {
    return new LyceumError({
      code: "data.unavailable",
      message: `Cannot store ${what} in the cache: ${reasonOf(error)}.`,
      hint: "Free some disk space, or set HF_HOME to a writable folder.",
      cause: error,
    });
  }
  return unavailable(target, reasonOf(error), error);
}

const localFaults: readonly string[] = ["ENOSPC", "EDQUOT", "EACCES", "EPERM", "EROFS", "ENOTDIR", "EEXIST"];

/** Creates a `data.unavailable` error: the file is not in the cache and the hub did not answer. */
export function unavailable(
  target: HubRepository & { readonly path?: string },
  reason: string,
  cause?: unknown,
): LyceumError {
  return new LyceumError({
    code: "data.unavailable",
    message: `Cannot download ${describeHubTarget(target)}: ${reason}.`,
    hint: "Check the network (HF_ENDPOINT sets a mirror), or use the path of a local copy instead of the hub id.",
    cause,
  });
}

function describeHubTarget({ type, repository, revision, path }: HubRepository & { readonly path?: string }): string {
  return `${path === undefined ? "" : `file ${path} of `}${type} ${repository}${revision === undefined ? "" : ` at ${revision}`}`;
}

/** Returns the innermost message, because `fetch failed` alone has no information. */
function reasonOf(error: unknown): string {
  let innermost = error;
  while (innermost instanceof Error && innermost.cause instanceof Error) innermost = innermost.cause;
  if (!(innermost instanceof Error)) return String(innermost);
  const { code } = innermost as { readonly code?: string };
  return withoutUrlSecrets(innermost.message || code || innermost.name);
}
