import { type ErrorData, LyceumError } from "../../contract/errors/index.ts";
import { isOutsideError } from "../../contract/errors/outside-error.ts";
import { isJsonObject, type Json } from "../../contract/json.ts";

/**
 * Whose doing an environment's failure is. `task`: it comes with the demonstration, too. `outside`: it does not come
 * again, or has another cause than what was answered. `policy?`: the policy's, but an empty answer fails as well, and
 * there is no demonstration to tell the task from the answer.
 */
export type Culprit = "policy" | "policy?" | "task" | "outside";

type FailureData = Pick<ErrorData, "code" | "message"> & { readonly data?: Json | undefined };

/** Another answer than the policy's, played from the start: the policy has no say in what becomes of it. */
export interface Canary {
  /** A demonstration is right, so that a failure cannot be its doing. Any other answer may be as bad as the policy's. */
  readonly isDemonstration: boolean;
  readonly play: () => Promise<void>;
}

/**
 * Finds out by playing the same actions again, by `replay`, and then the canary. Not tried again are errors of something
 * outside, such as a server, and results of another form than the contract's, which are the author's doing. Rewards that
 * are not finite have the right form.
 */
export async function whoseFailure(
  error: unknown,
  { replay, canary }: { readonly replay: () => Promise<void>; readonly canary: Canary },
): Promise<Culprit> {
  if (!LyceumError.isInstance(error) || isOfForm(error) || isOutsideError(error)) return "outside";
  if (!(await failsLike(error, replay))) return "outside";
  if (!(await failsLike(error, canary.play))) return "policy";
  return canary.isDemonstration ? "task" : "policy?";
}

/** The failure as one of the task's: its warning says so. */
export function asTaskFailure(error: LyceumError): LyceumError {
  return new LyceumError({
    code: error.code,
    message: error.message,
    hint: "The demonstration of this task fails in the same way: correct the environment or the task, or leave it out.",
    data: { ...(isJsonObject(error.data) ? error.data : {}), culprit: "task" },
    cause: error,
  });
}

function isOfForm({ code, data }: LyceumError): boolean {
  return code === "environment.contract" && !(isJsonObject(data) && data.isNotFinite === true);
}

async function failsLike(error: LyceumError, play: () => Promise<void>): Promise<boolean> {
  try {
    await play();
    return false;
  } catch (again) {
    return LyceumError.isInstance(again) && isSameFailure(error, again);
  }
}

/** True if both have the same code and the same place. Compares messages if a place is unknown. */
export function isSameFailure(first: FailureData, second: FailureData): boolean {
  const [place, other] = [locationOf(first.data), locationOf(second.data)];
  if (first.code !== second.code) return false;
  return place !== undefined && other !== undefined ? place === other : first.message === second.message;
}

function locationOf(data: FailureData["data"]): Json | undefined {
  return isJsonObject(data) ? data.location : undefined;
}
