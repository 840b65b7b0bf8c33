/**
 * A program for the soak test. It plays rounds of rollouts in which everything fails sometimes, aborts some, stops
 * reading others, and writes all to one trace. It prints a line of JSON for each round, and one at the end. node
 * --expose-gc rollout-soak.ts <rounds> <seed> <folder>
 */
import { getEventListeners } from "node:events";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { createRandom, deriveSeed } from "../../src/core/random/random.ts";
import { EnvironmentPool } from "../../src/core/rollout/environment-pool.ts";
import { rollout } from "../../src/core/rollout/rollout.ts";
import { createTraceWriter, type TraceWriter } from "../../src/core/trace/trace-writer.ts";
import { numbers } from "../core/rollout/scripted-environment.ts";
import { unreliableEnvironment } from "./unreliable-environment.ts";
import { unreliablePolicy, unreliableSamplerPolicy } from "./unreliable-policies.ts";

const [rounds, seed] = [Number(process.argv[2]), Number(process.argv[3])];
const folder = process.argv[4]!;
const taskCount = 1_000;
const tasks = numbers(taskCount);
/** The counts of a round, which must agree. */
export interface RolloutRound {
  readonly ending: "completes" | "is-aborted" | "is-left";
  /** The number of episodes of a complete round. */
  readonly expected: number;
  readonly started: number;
  /** The number of started episodes whose end was seen. */
  readonly ended: number;
  /** The ended episodes by status, as counted from their events and from the rollout's last event. */
  readonly statuses: Readonly<Record<string, number>>;
  readonly counted: Readonly<Record<string, number>> | undefined;
  readonly traced: number;
  /** Environment instances that were never closed. */
  readonly open: number;
}

/** The resources of the process before and after all rounds, and the number of written episodes. */
export interface RolloutSoakEnd {
  readonly before: unknown;
  readonly after: unknown;
  readonly written: number;
}

/** One signal for all rounds that are not aborted, so that leaked listeners accumulate. */
const { signal: patient } = new AbortController();

async function playRound(round: number, trace: TraceWriter): Promise<RolloutRound> {
  const random = createRandom(deriveSeed(seed, "round", round));
  const environment = unreliableEnvironment({ seed: random.integer(0, 1e9), scoresGroups: random.next() < 0.4 });
  const pool = random.next() < 0.3 ? new EnvironmentPool(environment) : undefined;
  const groupSize = random.pick([1, 2, 5]);
  const ending = random.pick(["completes", "completes", "completes", "is-aborted", "is-left"] as const);
  const stopAfter = random.integer(1, 4 * taskCount * groupSize);
  const controller = new AbortController();
  const direct = unreliablePolicy(random.integer(0, 1e9));
  const sampled = unreliableSamplerPolicy(random.integer(0, 1e9));
  const tracedBefore = trace.episodes;
  const started = new Set<string>();
  const ended = new Map<string, string>();
  let counted: RolloutRound["counted"];
  let events = 0;
  try {
    for await (const event of rollout({
      environment: pool ?? environment,
      tasks,
      policies: random.pick([direct, sampled, { left: direct, right: sampled }]),
      seed: random.integer(0, 1e9),
      groupSize,
      concurrency: random.pick([3, 16, 64, 300]),
      sampling: { temperature: 1, maxTokens: 8 },
      limits: { environmentMs: 20, actMs: 20, episodeMs: 200, tokens: 20 },
      signal: ending === "is-aborted" ? controller.signal : patient,
      trace,
    })) {
      events += 1;
      if (event.type === "episode-start") started.add(`${event.group}.${event.sampleIndex}`);
      if (event.type === "episode-end") ended.set(`${event.group}.${event.episode.sampleIndex}`, event.episode.status);
      if (event.type === "rollout-end") counted = event.episodes;
      if (events < stopAfter) continue;
      if (ending === "is-aborted") controller.abort();
      if (ending === "is-left") break;
    }
  } catch (error) {
    if (!controller.signal.aborted) throw error;
  }
  await pool?.close();
  const statuses: Record<string, number> = {};
  for (const status of ended.values()) statuses[status] = (statuses[status] ?? 0) + 1;
  return {
    ending: counted === undefined ? ending : "completes",
    expected: taskCount * groupSize,
    started: started.size,
    ended: [...started].filter((id) => ended.has(id)).length,
    statuses,
    counted,
    traced: trace.episodes - tracedBefore,
    open: environment.instances.created - environment.instances.closed,
  };
}

/** Returns the resources of this process. Files are those of the process itself, on Linux. */
function held(): Record<string, unknown> {
  return {
    resources: process.getActiveResourcesInfo().toSorted(),
    listeners: getEventListeners(patient, "abort").length,
    processListeners: process.eventNames().length,
    files: process.platform === "linux" ? readdirSync("/proc/self/fd").length : 0,
  };
}

async function heapUsed(): Promise<number> {
  // Twice, with a turn of the event loop between, because finalizers release more.
  for (let round = 0; round < 2; round++) {
    globalThis.gc!();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { heapUsed: heap, external } = process.memoryUsage();
  return heap + external;
}

for (let index = 0; index < taskCount; index++) await tasks.get(index);
// Its handle is created at its first use, which must not look like a leak.
void process.stdout;
const before = held();
const path = join(folder, "trace.jsonl");
const trace = await createTraceWriter({ path });
for (let round = 0; round < rounds; round++) {
  const result = await playRound(round, trace);
  // A round's last lines may not be on the disk yet.
  await trace.flush();
  console.log(JSON.stringify({ round, ...result, heap: await heapUsed() }));
}
await trace.close();
// The request that closed the file is released after its answer.
await new Promise((resolve) => setImmediate(resolve));
console.log(JSON.stringify({ before, after: held(), written: trace.episodes }));
