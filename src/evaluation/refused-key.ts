import type { Episode } from "../contract/episode.ts";
import type { ErrorData } from "../contract/errors/index.ts";

/** Returns the error of an episode in which a server rejected an API key, of a policy or of a judge. */
export function refusedKey({ error, agents }: Pick<Episode, "error" | "agents">): ErrorData | undefined {
  const rewards = Object.values(agents).map(({ reward }) => (reward.status === "unscored" ? reward.error : undefined));
  return [error, ...rewards].find((failure) => failure?.code === "policy.unauthorized");
}
