import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { openMetricsWriter } from "../reports/training/metrics-file.ts";
import type { Episode, MessageNode } from "../src/contract/episode.ts";
import { textMessage } from "../src/contract/message.ts";
import { scored } from "../src/contract/reward.ts";
import { createRandom } from "../src/core/random/random.ts";
import { fileSize } from "../src/core/trace/file-size.ts";
import { createIndexedTraceWriter } from "../src/core/trace/indexed-trace-writer.ts";
import { openLogWriter } from "../src/evaluation/log/log-writer.ts";
import type { EvaluationManifest, TaskLine } from "../src/evaluation/log/manifest.ts";
import { runFolder } from "../src/evaluation/log/run-folder.ts";

const tasks = 1_000;
const turns = 3;
const words =
  "the function returns a list of numbers sorted by their value and then the sum of all that are even".split(" ");

/** The amount of written data. */
export interface Written {
  readonly bytes: number;
  readonly episodes: number;
}

/** Writes a log of at least `bytes` bytes, as an evaluation does: three turns of 1 kB each, about 10 kB per episode. */
export async function writeLargeLog(folder: string, bytes: number): Promise<Written> {
  const files = runFolder(folder);
  const lines = Array.from({ length: tasks }, (_, index) => `${JSON.stringify(taskLine(index))}\n`);
  await writeFile(files.tasks, lines.join(""));
  await using log = await openLogWriter({ folder, correct: { atLeast: 1 } });
  const episodes = await writeEpisodes(log, { bytes, tokens: 0 });
  await log.close();
  await writeFile(files.manifest, JSON.stringify(manifest(Math.ceil(episodes / tasks))));
  return { bytes: await fileSize(files.episodes), episodes };
}

/**
 * Writes the same as the trace of a training, with the tokens of its turns: about 24 kB per episode, 64 episodes per
 * step.
 */
export async function writeLargeTrace(folder: string, bytes: number): Promise<Written> {
  const path = join(folder, "trace.jsonl");
  await using trace = await createIndexedTraceWriter({ path });
  await using metrics = await openMetricsWriter({ path: join(folder, "metrics.jsonl"), resumedFrom: 0 });
  const model = { name: "none", trainableParameters: 1, device: "cpu" };
  const seed = { seed: 0, resumedFrom: 0, steps: 1 };
  await metrics.append({ type: "run-start", algorithm: "grpo", environment: "large", model, ...seed });
  const count = await writeEpisodes(trace, { bytes, tokens: 200 });
  const traceLength = await trace.flush();
  const steps = Math.ceil(count / 64);
  for (let step = 1; step <= steps; step++) {
    const told = { elapsedMs: step, etaMs: 0, traceLength: Math.ceil((traceLength * step) / steps) };
    await metrics.append({ type: "step", step, steps, metrics: { "reward/mean": 0.4 }, ...told });
  }
  return { bytes: traceLength, episodes: count };
}

/** Writes episodes until `bytes` bytes are written. Only the last episode contains `needle-in-the-log`. */
async function writeEpisodes(
  to: { write(episode: Episode): Promise<void> },
  { bytes, tokens }: { readonly bytes: number; readonly tokens: number },
): Promise<number> {
  const random = createRandom(1);
  const text = (length: number): string =>
    Array.from({ length }, () => words[random.integer(0, words.length - 1)]).join(" ");
  // A few texts are enough, because nothing here compresses or caches them.
  const texts = Array.from({ length: 64 }, () => text(200));
  const pick = (): string => texts[random.integer(0, texts.length - 1)]!;
  let episodes = 0;
  for (let written = 0; written < bytes; written += 10_000 + 70 * tokens) {
    await to.write(episode(episodes, { pick, reward: random.next() < 0.4 ? 1 : 0, tokens }));
    episodes += 1;
  }
  await to.write(episode(episodes, { pick: () => "the needle-in-the-log", reward: 0, tokens }));
  return episodes + 1;
}

function taskLine(index: number): TaskLine {
  const level = index % 2 === 0 ? "easy" : "hard";
  return {
    index,
    id: `task/${index}`,
    hash: String(index).padStart(64, "0"),
    seed: 0,
    level,
    task: { question: index },
  };
}

function episode(
  place: number,
  options: { readonly pick: () => string; readonly reward: number; readonly tokens: number },
): Episode {
  const { pick, reward, tokens } = options;
  const { index, id, hash } = taskLine(place % tasks);
  const sampleIndex = Math.floor(place / tasks);
  const nodes = Array.from({ length: 2 * turns }, (_, node): MessageNode => {
    const role = node % 2 === 0 ? "user" : "assistant";
    const written = { id: node, parent: node === 0 ? null : node - 1, turn: node >> 1 };
    return {
      ...written,
      message: textMessage(role, pick()),
      ...(tokens === 0 ? {} : { tokens: sampled(node, tokens) }),
    };
  });
  const earned = scored(reward);
  return {
    id: `${hash.slice(-16)}-${sampleIndex}-0`,
    environment: "large",
    task: { index, id, hash },
    seed: 0,
    sampleIndex,
    status: "completed",
    agents: {
      agent: {
        nodes,
        turns: Array.from({ length: turns }, (_, turn) => ({
          turn,
          node: 2 * turn + 1,
          finish: "stop",
          usage: { promptTokens: 400 * turn, completionTokens: 200 },
          latencyMs: 800,
        })),
        reward: earned,
        terminated: true,
        truncated: false,
      },
    },
    turns,
    info: Array.from({ length: turns }, (_, turn) => ({ turn, stdout: pick(), stderr: "" })),
    durationMs: 2_400,
  };
}

function sampled(node: number, count: number): NonNullable<MessageNode["tokens"]> {
  const ids = Array.from({ length: count }, (_, place) => (place * 7919) % 49_152);
  if (node % 2 === 0) return { ids, mask: 0, startsSequence: node === 0 };
  return { ids, mask: 1, logprobs: ids.map((id) => -Math.log(2 + id)), startsSequence: false };
}

/** Returns the manifest of such a log. */
export function manifest(samples: number): EvaluationManifest {
  return {
    format: "lyceum-evaluation",
    version: 2,
    name: "large",
    identity: {
      models: { agent: "none" },
      environment: { name: "large", options: {} },
      environmentHash: "0",
      split: "test",
      sampling: { temperature: 1, maxTokens: 256 },
      seed: 0,
    },
    tasks,
    samples,
    tasksHash: "0",
    spec: { agents: ["agent"], maxTurns: turns, deterministic: true, rewardRange: [0, 1] },
    correct: { atLeast: 1 },
    k: [1],
    software: {},
    startedAt: new Date(0).toISOString(),
  };
}
