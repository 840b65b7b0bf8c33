import type { ErrorData } from "../../contract/errors/index.ts";
import { isJsonObject } from "../../contract/json.ts";

/** The maximum number of times that an episode is played again after its server lost it. */
export const lostEpisodeRetries = 3;

/** True if the environment's server lost the episode. The policy did not cause this. */
export function isLostEpisode(error: ErrorData | undefined): error is ErrorData {
  return error?.code === "environment.unavailable" && isJsonObject(error.data) && error.data.reason === "lost-episode";
}
