import { LyceumError } from "../../contract/errors/index.ts";
import { withoutUrlSecrets } from "../text/url-secrets.ts";
import type { HubRepository } from "./hub-options.ts";

/**
 * What a failed request to the hub means: `data.not-found` for a refusal (404, 401, 403), `data.unavailable` for
 * everything that another try or a working network may cure. The caller's own abort passes through.
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
      message: `The hub does not let us read ${what} (${statusCode}).`,
      hint: "It does not exist, is private, or asks you to accept its terms: check its name, accept them, and set HF_TOKEN.",
      cause: error,
    });
  }
  const { syscall, code } = (error ?? {}) as { readonly syscall?: string; readonly code?: string };
  if (syscall !== undefined && code !== undefined && localFaults.includes(code)) {
    return new LyceumError({
      code: "data.unavailable",
      message: `Cannot store ${what} in the cache: ${reasonOf(error)}.`,
      hint: "Free some space, or set HF_HOME to a folder that can be written.",
      cause: error,
    });
  }
  return unavailable(target, reasonOf(error), error);
}

const localFaults: readonly string[] = ["ENOSPC", "EDQUOT", "EACCES", "EPERM", "EROFS", "ENOTDIR", "EEXIST"];

/** A `data.unavailable` error: nothing in the cache, and no answer from the hub. */
export function unavailable(
  target: HubRepository & { readonly path?: string },
  reason: string,
  cause?: unknown,
): LyceumError {
  return new LyceumError({
    code: "data.unavailable",
    message: `Cannot download ${describeHubTarget(target)}: ${reason}.`,
    hint: "Check the network (HF_ENDPOINT names a mirror), or give the path of a local copy instead of the hub's id.",
    ...(cause === undefined ? {} : { cause }),
  });
}

function describeHubTarget({ type, repository, revision, path }: HubRepository & { readonly path?: string }): string {
  return `${path === undefined ? "" : `file ${path} of `}${type} ${repository}${revision === undefined ? "" : ` at ${revision}`}`;
}

/** The innermost message: `fetch failed` alone says nothing. */
function reasonOf(error: unknown): string {
  let innermost = error;
  while (innermost instanceof Error && innermost.cause instanceof Error) innermost = innermost.cause;
  if (!(innermost instanceof Error)) return String(innermost);
  const { code } = innermost as { readonly code?: string };
  return withoutUrlSecrets(innermost.message || code || innermost.name);
}
