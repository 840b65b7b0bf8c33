import type { Episode } from "../contract/episode.ts";
import type { ErrorData } from "../contract/errors/index.ts";

/** How an episode's failure tells that a server refuses a key: a player's, or that of a judge in the environment. */
export function refusedKey({ error, agents }: Pick<Episode, "error" | "agents">): ErrorData | undefined {
  const rewards = Object.values(agents).map(({ reward }) => (reward.status === "unscored" ? reward.error : undefined));
  return [error, ...rewards].find((failure) => failure?.code === "policy.unauthorized");
}
