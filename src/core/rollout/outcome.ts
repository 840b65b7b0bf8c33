import type { Episode } from "../../contract/episode.ts";
import { type ErrorData, toErrorData } from "../../contract/errors/index.ts";

/** The reason why an episode ended. */
export type Outcome =
  | { readonly status: "completed" | "aborted" }
  | { readonly status: "truncated"; readonly limit: NonNullable<Episode["limit"]> }
  | FailedOutcome;

/** An environment or a policy failed. */
export interface FailedOutcome {
  readonly status: "failed";
  readonly error: ErrorData;
}

/** Converts a thrown value to an outcome. */
export function failed(error: unknown): FailedOutcome {
  return { status: "failed", error: toErrorData(error) };
}
