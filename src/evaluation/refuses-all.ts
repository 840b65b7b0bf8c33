import type { Episode } from "../contract/episode.ts";
import type { ErrorData } from "../contract/errors/index.ts";
import { isJsonObject } from "../contract/json.ts";

/**
 * Returns the error of an episode that the server of a policy or of a judge has for every other request too: it refuses
 * the key, the account, or the configuration of all requests so far.
 */
export function refusesAll({ error, agents }: Pick<Episode, "error" | "agents">): ErrorData | undefined {
  const rewards = Object.values(agents).map(({ reward }) => (reward.status === "unscored" ? reward.error : undefined));
  return [error, ...rewards].find((failure) => failure !== undefined && (isOfKey(failure) || isConfiguration(failure)));
}

/** True if an error is that of the key or the account, and not of the configuration. */
export function isOfKey({ code }: Pick<ErrorData, "code">): boolean {
  return code === "policy.unauthorized";
}

function isConfiguration({ code, data }: ErrorData): boolean {
  return code === "policy.rejected" && isJsonObject(data) && data.reason === "configuration";
}
