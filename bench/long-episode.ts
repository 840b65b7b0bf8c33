import type { Environment, EnvironmentFactory } from "../src/contract/environment.ts";
import { textMessage } from "../src/contract/message.ts";
import type { Policy } from "../src/contract/policy.ts";
import { scored } from "../src/contract/reward.ts";
import { rolloutEpisode } from "../src/core/rollout/rollout-episode.ts";
import { median } from "../src/core/statistics.ts";
import { taskEntry } from "../src/core/taskset/task-entry.ts";
import type { Benchmark, BenchmarkResult } from "./benchmark.ts";

const turns = 200;
const tokensPerTurn = 200;
const warmUpEpisodes = 50;
const episodes = 200;

/**
 * Measures the rollout loop in episodes of 200 turns of 100 prompt tokens and 100 sampled tokens. The policy returns
 * prepared tokens. Times are medians over the episodes. `late-over-early` is the time of the last 20 turns divided by
 * that of the turns 20 to 39. It is near 1 if a turn does not depend on the number of turns before it.
 */
export const longEpisode: Benchmark = { prefix: "long-episode", run };

async function run(): Promise<BenchmarkResult[]> {
  for (let episode = 0; episode < warmUpEpisodes; episode++) await play();
  const played: (readonly number[])[] = [];
  for (let episode = 0; episode < episodes; episode++) played.push(await play());
  const span = (from: number, to: number): number => median(played.map((times) => times[to]! - times[from]!));
  return [
    { name: "long-episode/turn-us", value: (1_000 * span(0, turns)) / turns, unit: "us" },
    { name: "long-episode/late-over-early", value: span(turns - 20, turns) / span(20, 40), unit: "ratio", baseline: 1 },
  ];
}

/** Plays one episode. Returns the time before each turn and after the last, in milliseconds. */
async function play(): Promise<readonly number[]> {
  const times: number[] = [];
  const { status } = await rolloutEpisode({
    environment: timedFactory(times),
    task: taskEntry(0, 0),
    policies: preparedPolicy,
    seed: 0,
    limits: { turns, tokens: turns * tokensPerTurn },
  });
  if (status !== "completed") throw new Error(`An episode was ${status}.`);
  return times;
}

const observations = { agent: { messages: [textMessage("user", "Go on.")], context: "append" } } as const;
const action = { message: textMessage("assistant", "Done."), finish: "stop" } as const;
const reward = scored(1);
const newPromptIds = Array.from({ length: tokensPerTurn / 2 }, (_, index) => index);
const completionIds = Array.from({ length: tokensPerTurn / 2 }, (_, index) => index);
const logprobs = completionIds.map(() => -0.5);

const preparedPolicy: Policy = {
  specificationVersion: "v1",
  name: "prepared",
  accepts: ["text"],
  act: async ({ previous }) => ({
    action,
    tokens: {
      extendsPrevious: previous !== undefined,
      newPromptIds,
      promptLength: (previous?.ids.length ?? 0) + newPromptIds.length,
      completionIds,
      logprobs,
      weightsVersion: 0,
    },
  }),
};

function timedFactory(times: number[]): EnvironmentFactory<number> {
  const spec = {
    id: "timed",
    agents: ["agent"],
    maxTurns: turns,
    rewardRange: [0, turns],
    deterministic: true,
  } as const;
  const create = async (): Promise<Environment<number>> => ({
    specificationVersion: "v1",
    spec,
    reset: async () => {
      times.push(performance.now());
      return observations;
    },
    step: async () => {
      const terminated = times.push(performance.now()) > turns;
      return {
        observations: terminated ? {} : observations,
        agents: { agent: { reward, terminated, truncated: false } },
      };
    },
    close: async () => {},
  });
  return { specificationVersion: "v1", spec, create };
}
