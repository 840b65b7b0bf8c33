import type { AgentEpisode, Episode } from "../../src/contract/episode.ts";

/** A completed episode with these records of agents. */
export function playedEpisode(agents: Episode["agents"], changes: Partial<Episode> = {}): Episode {
  return {
    id: "e",
    environment: "test",
    task: { index: 0, id: "0", hash: "0" },
    seed: 0,
    sampleIndex: 0,
    status: "completed",
    agents,
    turns: Math.max(...Object.values(agents).map(({ turns }: AgentEpisode) => turns.length)),
    durationMs: 1,
    ...changes,
  };
}
