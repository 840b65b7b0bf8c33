import { LyceumError } from "../../contract/errors/index.ts";
import { isOutsideError } from "../../contract/errors/outside-error.ts";
import type { Json } from "../../contract/json.ts";

/**
 * Whether an environment throws as it did when the same actions are played again, by `replay`: then it is their doing.
 * Not tried again are errors of something outside, such as a server, and results of another form than the contract's,
 * which are the author's doing.
 */
export async function failsAgain(error: unknown, replay: () => Promise<void>): Promise<boolean> {
  if (!LyceumError.isInstance(error) || error.code === "environment.contract" || isOutsideError(error)) return false;
  try {
    await replay();
    return false;
  } catch (again) {
    return LyceumError.isInstance(again) && isSameFailure(error, again);
  }
}

/** True if both have the same code and the same place. Compares messages if a place is unknown. */
function isSameFailure(first: LyceumError, second: LyceumError): boolean {
  const [place, other] = [locationOf(first.data), locationOf(second.data)];
  if (first.code !== second.code) return false;
  return place !== undefined && other !== undefined ? place === other : first.message === second.message;
}

function locationOf(data: Json | undefined): Json | undefined {
  return typeof data === "object" && data !== null && "location" in data ? data.location : undefined;
}
