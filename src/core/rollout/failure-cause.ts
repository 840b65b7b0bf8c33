import { type ErrorData, LyceumError } from "../../contract/errors/index.ts";
import { isOutsideError } from "../../contract/errors/outside-error.ts";
import { isJsonObject, type Json } from "../../contract/json.ts";

/**
 * The cause of an environment's failure. `policy`: the policy's answer. `task`: the task, because its demonstration
 * fails in the same way. `outside`: an external cause, because the failure does not repeat or does not depend on the
 * answer. `policy?`: probably the policy's answer, but an empty answer fails too and there is no demonstration to
 * compare with.
 */
export type FailureCause = "policy" | "policy?" | "task" | "outside";

type FailureData = Pick<ErrorData, "code" | "message"> & { readonly data?: Json | undefined };

/** An episode with other answers than the policy's, played from the start. */
export interface Canary {
  /** True if the answers are a demonstration. It is correct, so it cannot cause a failure. Other answers can. */
  readonly isDemonstration: boolean;
  readonly play: () => Promise<void>;
}

/**
 * Finds the cause of a failure. Plays the same actions again by `replay`, and then the canary. Returns `outside`
 * without a replay for external errors, such as those of a server, and for results that break the contract, which are
 * mistakes of the environment's author. Rewards that are not finite are replayed.
 */
export async function findFailureCause(
  error: unknown,
  { replay, canary }: { readonly replay: () => Promise<void>; readonly canary: Canary },
): Promise<FailureCause> {
  if (!LyceumError.isInstance(error) || isOfForm(error) || isOutsideError(error)) return "outside";
  if (!(await failsLike(error, replay))) return "outside";
  if (!(await failsLike(error, canary.play))) return "policy";
  return canary.isDemonstration ? "task" : "policy?";
}

/** Marks a failure as caused by the task, so that a warning reports it. */
export function asTaskFailure(error: LyceumError): LyceumError {
  return new LyceumError({
    code: error.code,
    message: error.message,
    hint: "The demonstration of this task fails in the same way: correct the environment or the task, or leave it out.",
    data: { ...(isJsonObject(error.data) ? error.data : {}), failureCause: "task" },
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
