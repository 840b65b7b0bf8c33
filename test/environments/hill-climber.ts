import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import type { TaskEntry } from "../../src/contract/taskset.ts";
import { scriptedPolicy } from "../../src/core/policy/scripted-policy.ts";
import { createRandom, deriveSeed, type Random } from "../../src/core/random/random.ts";
import { EnvironmentPool } from "../../src/core/rollout/environment-pool.ts";
import { rolloutEpisode } from "../../src/core/rollout/rollout-episode.ts";
import { isSlowTier } from "../tier.ts";

/** The number of episodes of a climb: 2,000 for each change, 10,000 before a release (see CONTRIBUTING.md). */
const defaultEpisodes = Number(process.env.LYCEUM_CLIMB_EPISODES ?? 2_000);

/** The number for files of which the slow tier climbs at full length. */
export const sampledEpisodes: number = isSlowTier ? defaultEpisodes : Math.ceil(defaultEpisodes / 8);

/** The result of a blind climb. */
export interface Climb {
  /** The highest total reward of an agent in any episode. */
  readonly best: number;
  /** The text of that episode. It is the same for each turn and agent. */
  readonly text: string;
  readonly episodes: number;
}

/**
 * Climbs the reward of one task without knowing its answer. A text of `words` is changed at random, and a change is
 * kept if its reward is higher than all earlier ones. The result is the reward that is possible without solving the
 * task. Every episode plays the same text in each turn and for each agent, in one instance of the environment, because
 * a new instance for each would start its threads again.
 */
export async function climb<Task>(options: {
  readonly environment: EnvironmentDefinition<Task>;
  readonly task: TaskEntry<Task>;
  readonly words: readonly string[];
  /** Initial texts, such as sentences of the prompt. */
  readonly starts?: readonly string[];
  /** {@link defaultEpisodes} by default. */
  readonly episodes?: number;
  readonly seed?: number;
}): Promise<Climb> {
  const { task, words, starts = [""], episodes = defaultEpisodes, seed = 0 } = options;
  await using environment = new EnvironmentPool(options.environment);
  const random = createRandom(deriveSeed(seed, "climb", task.hash));
  const known = new Map<string, number>();
  let best = -Infinity;
  let text = starts[0] ?? "";
  for (let i = 0; i < episodes; i++) {
    const candidate = starts[i] ?? change(random, text, words);
    // The same text plays the same episode.
    const reached = known.get(candidate) ?? (await rewardOf({ environment, task, text: candidate, seed }));
    known.set(candidate, reached);
    if (reached < best) continue;
    best = reached;
    text = candidate;
  }
  return { best, text, episodes };
}

async function rewardOf<Task>(options: {
  readonly environment: EnvironmentPool<Task>;
  readonly task: TaskEntry<Task>;
  readonly text: string;
  readonly seed: number;
}): Promise<number> {
  const { text, ...place } = options;
  const episode = await rolloutEpisode({ ...place, policies: scriptedPolicy(() => text) });
  if (episode.status === "failed") throw new Error(`The episode failed: ${episode.error?.message}`);
  const rewards = Object.values(episode.agents).map(({ reward }) => (reward.status === "scored" ? reward.value : 0));
  return Math.max(...rewards);
}

/** Adds, removes, changes or moves one word. Sometimes doubles or restarts the text. */
function change(random: Random, text: string, words: readonly string[]): string {
  const parts = text === "" ? [] : text.split(" ").slice(0, 400);
  const at = random.integer(0, Math.max(0, parts.length - 1));
  switch (random.integer(0, 7)) {
    case 0:
      return parts.toSpliced(at, 1).join(" ");
    case 1:
      return parts.toSpliced(at, 1, random.pick(words)).join(" ");
    case 2:
      return [...parts, ...parts].join(" ");
    case 3:
      return random.pick(words);
    case 4: {
      const [moved] = parts.splice(at, 1);
      return moved === undefined ? random.pick(words) : [...parts, moved].join(" ");
    }
    default:
      return parts.toSpliced(random.integer(0, parts.length), 0, random.pick(words)).join(" ");
  }
}
