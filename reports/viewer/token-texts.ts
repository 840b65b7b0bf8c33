import type { Episode } from "../../src/contract/episode.ts";
import { createIncrementalDecoder } from "../../src/core/tokens/incremental-decoder.ts";
import type { Tokenizer } from "../../src/core/tokens/tokenizer.ts";
import type { EvaluationManifest } from "../../src/evaluation/log/manifest.ts";
import { playerOfAgent } from "../../src/evaluation/rotate-players.ts";
import type { EpisodeView } from "./view-source.ts";

/**
 * Returns the text of each sampled token that an episode has as an id, by agent and node, if there is a tokenizer for
 * the agent. A character that is split over tokens belongs to the last of them.
 */
export async function tokenTexts(
  episode: Episode,
  tokenizerOf: (agent: string) => Promise<Tokenizer | undefined>,
): Promise<EpisodeView["tokenTexts"]> {
  const texts: Record<string, Record<number, readonly string[]>> = {};
  for (const [agent, { nodes }] of Object.entries(episode.agents)) {
    const sampled = nodes.filter(({ tokens }) => tokens?.mask === 1 && tokens.logprobs !== undefined);
    const tokenizer = sampled.length === 0 ? undefined : await tokenizerOf(agent);
    if (tokenizer === undefined) continue;
    texts[agent] = Object.fromEntries(sampled.map(({ id, tokens }) => [id, textsOf(tokens!.ids, tokenizer)]));
  }
  return texts;
}

/** Returns the model that plays an agent. If models rotate, this depends on the episode's `sampleIndex`. */
export function modelOfAgent(
  agent: string,
  { sampleIndex, identity }: Pick<Episode, "sampleIndex"> & Pick<EvaluationManifest, "identity">,
): string | undefined {
  const { models, rotated } = identity;
  if (rotated !== true) return models[agent];
  const agents = Object.keys(models);
  return models[agents[playerOfAgent(agents.indexOf(agent), { sampleIndex, players: agents.length })]!];
}

function textsOf(ids: readonly number[], tokenizer: Tokenizer): string[] {
  const decoder = createIncrementalDecoder(tokenizer);
  const texts = ids.map((id) => decoder.push(id));
  const rest = decoder.flush();
  return rest === "" || texts.length === 0 ? texts : [...texts.slice(0, -1), texts.at(-1)! + rest];
}
