import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { environments } from "../environments/index.ts";
import type { Action } from "../src/contract/action.ts";
import type { Environment, EnvironmentDefinition, Observations } from "../src/contract/environment.ts";
import type { Message } from "../src/contract/message.ts";
import { demonstratedMessage } from "../src/core/policy/demonstration-policy.ts";
import { scriptedPolicy } from "../src/core/policy/scripted-policy.ts";
import { rollout } from "../src/core/rollout/rollout.ts";
import { sliceTaskset } from "../src/core/taskset/slice-taskset.ts";
import type { Benchmark, BenchmarkResult } from "./benchmark.ts";

const data = process.env.LYCEUM_TEST_DATA ?? join(import.meta.dirname, "../../shared/data");

/** The local data files of environments that read one. Environments with a missing file are skipped. */
const files: Readonly<Record<string, string>> = {
  gsm8k: "gsm8k-train.jsonl",
  code: "HumanEval.jsonl.gz",
  "bug-fix": "HumanEval.jsonl.gz",
  "class-completion": "ClassEval_data.json",
};

const seconds = 2;
const concurrency = 1_000;

/**
 * Measures environments without a model. `environments/<id>` is the steps per second of one instance that receives the
 * expert's answers (`Is it 1?` without an expert), including resets. A sandbox runs the same code once.
 * `environments/<id>/event-loop-p99-ms` is measured with 1,000 concurrent episodes, for each environment without a
 * sandbox.
 */
export const environmentSteps: Benchmark = { prefix: "environments", run };

async function run(): Promise<BenchmarkResult[]> {
  const folder = await mkdtemp(join(tmpdir(), "lyceum-bench-"));
  try {
    const problems = join(folder, "problems.jsonl");
    await writeFile(problems, JSON.stringify({ problem: "Factor x^2 - 1.", solution: "\\boxed{(x-1)(x+1)}" }));
    const conversations = join(folder, "conversations.jsonl");
    const messages = ["user", "assistant"].map((role) => ({ role, content: role }));
    await writeFile(conversations, JSON.stringify({ messages }));
    const preferences = join(folder, "preferences.jsonl");
    await writeFile(preferences, JSON.stringify({ prompt: "Is it 1?", chosen: "Yes.", rejected: "No." }));
    return await measure({ "math-problems": problems, conversations, preferences });
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function measure(written: Readonly<Record<string, string>>): Promise<BenchmarkResult[]> {
  const definitions = environments.list().flatMap(({ id }) => {
    const file = files[id];
    if (written[id] !== undefined) return [environments.create(id, { path: written[id] })];
    if (file === undefined) return [environments.create(id)];
    const path = join(data, file);
    return existsSync(path) ? [environments.create(id, { path })] : [];
  });
  const results: BenchmarkResult[] = [];
  for (const definition of definitions) {
    results.push({
      name: `environments/${definition.spec.id}`,
      value: await stepsPerSecond(definition),
      unit: "steps/s",
    });
  }
  for (const definition of definitions.filter(({ spec }) => spec.id === "gsm8k" || files[spec.id] === undefined)) {
    const name = `environments/${definition.spec.id}/event-loop-p99-ms`;
    results.push({ name, value: await eventLoopDelay(definition), unit: "ms", baseline: 50 });
  }
  return results;
}

async function stepsPerSecond(definition: EnvironmentDefinition): Promise<number> {
  const tasks = await definition.tasks(definition.splits[0]!);
  const count = tasks.length === "unbounded" ? 64 : Math.min(64, tasks.length);
  const chosen = await Promise.all(Array.from({ length: count }, async (_, index) => (await tasks.get(index)).task));
  const instance = await definition.create();
  try {
    // Excludes what is created once (a sandbox, a worker) from the rate.
    await play(definition, instance, chosen[0]);
    const started = performance.now();
    let steps = 0;
    for (let i = 0; performance.now() - started < 1_000 * seconds; i++) {
      steps += await play(definition, instance, chosen[i % count]);
    }
    return (1_000 * steps) / (performance.now() - started);
  } finally {
    await instance.close();
  }
}

/** Plays one episode and returns its number of steps. */
async function play(definition: EnvironmentDefinition, instance: Environment, task: unknown): Promise<number> {
  const answers = definition.demonstrate?.(task);
  let observations: Observations = await instance.reset({ task, seed: 0 });
  let turn = 0;
  for (; Object.keys(observations).length > 0; turn++) {
    const actions = Object.fromEntries(
      Object.keys(observations).map((agent) => [agent, say(answers?.[turn]?.[agent] ?? "Is it 1?")]),
    );
    ({ observations } = await instance.step(actions));
  }
  return turn;
}

function say(answer: string | Message): Action {
  return { message: demonstratedMessage(answer), finish: "stop" };
}

/** Returns the 99th percentile of the event loop's delay, in milliseconds. */
async function eventLoopDelay(environment: EnvironmentDefinition): Promise<number> {
  const tasks = await environment.tasks(environment.splits[0]!);
  const size = tasks.length === "unbounded" ? concurrency : Math.min(concurrency, tasks.length);
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const events = rollout({
    environment,
    tasks: sliceTaskset(tasks, { to: { unit: "tasks", value: size } }),
    policies: scriptedPolicy(() => "Is it 1?"),
    groupSize: Math.ceil((3 * concurrency) / size),
    concurrency,
    seed: 0,
  });
  for await (const event of events) {
    if (event.type === "episode-end" && event.episode.status === "failed") {
      throw new Error(`An episode of ${environment.spec.id} failed: ${event.episode.error?.message}`);
    }
  }
  delay.disable();
  return delay.percentile(99) / 1e6;
}
