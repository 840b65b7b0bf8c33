import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Environment, EnvironmentFactory } from "../src/contract/environment.ts";
import { textMessage } from "../src/contract/message.ts";
import type { Policy } from "../src/contract/policy.ts";
import { scored } from "../src/contract/reward.ts";
import { rollout } from "../src/core/rollout/rollout.ts";
import { memoryTaskset } from "../src/core/taskset/memory-taskset.ts";
import { createTraceWriter } from "../src/core/trace/trace-writer.ts";
import type { Benchmark, BenchmarkResult } from "./benchmark.ts";

const turns = 10;
const warmUpEpisodes = 2_000;
const episodes = 10_000;

/** Measures the overhead of the rollout loop and its effect on the event loop. */
export const benchmarks: readonly Benchmark[] = [{ prefix: "rollout", run }];

async function run(): Promise<BenchmarkResult[]> {
  const folder = await mkdtemp(join(tmpdir(), "lyceum-bench-"));
  try {
    await play({ episodes: warmUpEpisodes, concurrency: 64, trace: join(folder, "warm-up.jsonl") });
    const rounds: number[] = [];
    for (let round = 0; round < 3; round++) {
      rounds.push(await play({ episodes, concurrency: 64, trace: join(folder, `${round}.jsonl`) }));
    }
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    await play({ episodes: 3 * episodes, concurrency: 1_000, trace: join(folder, "delay.jsonl") });
    delay.disable();
    return [
      { name: "rollout/overhead-us", value: (1_000 * Math.min(...rounds)) / (episodes * turns), unit: "us" },
      { name: "rollout/event-loop-p99-ms", value: delay.percentile(99) / 1e6, unit: "ms" },
    ];
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Plays a no-op environment with a no-op policy, writes the trace, and returns the elapsed milliseconds. */
async function play(options: {
  readonly episodes: number;
  readonly concurrency: number;
  readonly trace: string;
}): Promise<number> {
  const tasks = memoryTaskset(
    "tasks",
    Array.from({ length: options.episodes / 8 }, (_, index) => index),
  );
  // A task is hashed once, when it is first read. This is not part of the loop.
  for (let index = 0; index < options.episodes / 8; index++) await tasks.get(index);
  const started = performance.now();
  await using trace = await createTraceWriter({ path: options.trace });
  const events = rollout({
    environment: noOpFactory,
    tasks,
    policies: noOpPolicy,
    groupSize: 8,
    concurrency: options.concurrency,
    seed: 0,
    trace,
  });
  for await (const event of events) {
    if (event.type === "episode-end" && event.episode.status !== "completed") throw new Error("An episode failed.");
  }
  await trace.close();
  return performance.now() - started;
}

const prompt = { agent: { messages: [textMessage("user", "Go on.")], context: "append" } } as const;
const answer = { message: textMessage("assistant", "Done."), finish: "stop" } as const;
const reward = scored(1);

const noOpPolicy: Policy = {
  specificationVersion: "v1",
  name: "no-op",
  accepts: ["text"],
  act: async () => ({ action: answer }),
};

const noOpFactory: EnvironmentFactory<number> = {
  specificationVersion: "v1",
  spec: { id: "no-op", agents: ["agent"], maxTurns: turns, rewardRange: [0, turns], deterministic: true },
  create: async () => noOpEnvironment(),
};

function noOpEnvironment(): Environment<number> {
  let turn = 0;
  return {
    specificationVersion: "v1",
    spec: noOpFactory.spec,
    reset: async () => {
      turn = 0;
      return prompt;
    },
    step: async () => {
      turn += 1;
      const terminated = turn === turns;
      return { observations: terminated ? {} : prompt, agents: { agent: { reward, terminated, truncated: false } } };
    },
    close: async () => {},
  };
}
