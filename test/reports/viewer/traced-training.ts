import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { openMetricsWriter } from "../../../reports/training/metrics-file.ts";
import { tracePath } from "../../../reports/viewer/trace-index.ts";
import type { Episode } from "../../../src/contract/episode.ts";
import { createIndexedTraceWriter } from "../../../src/core/trace/indexed-trace-writer.ts";
import { readTrace } from "../../../src/core/trace/read-trace.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { evaluatePair } from "./runs.ts";

/** The maximum number of steps of a {@link writeTracedTraining}, with twenty episodes each. */
const steps = 6;

/** Three episodes of each of forty sums by two agents, including failures. */
async function playedEpisodes(): Promise<Episode[]> {
  const folder = temporaryFolder();
  await evaluatePair(folder, { samples: 3 });
  const traces = ["episodes.jsonl", "failures.jsonl"].map((file) => Array.fromAsync(readTrace(join(folder, file))));
  const played = (await Promise.all(traces)).flat();
  await rm(folder, { recursive: true });
  return played.sort((one, other) => one.task.index - other.task.index || one.sampleIndex - other.sampleIndex);
}

/** Writes a training with a trace, from one step to another. With `from` above 0, continues it. */
export async function writeTracedTraining(
  folder: string,
  { from = 0, to = steps, ended = to === steps }: { from?: number; to?: number; ended?: boolean } = {},
): Promise<void> {
  const episodes = await playedEpisodes();
  await mkdir(folder, { recursive: true });
  const metrics = { path: join(folder, "metrics.jsonl"), resumedFrom: from };
  await using writer = await openMetricsWriter({ ...metrics, config: { model: { path: "small-coder" } } });
  const path = tracePath(folder);
  await using trace = await createIndexedTraceWriter({ path, append: true });
  const model = { name: "small-coder", trainableParameters: 1_000, device: "cpu" };
  const start = { algorithm: "magrpo", environment: "pair", model, seed: 1, steps, resumedFrom: from };
  await writer.append({ type: "run-start", ...start });
  for (let step = from + 1; step <= to; step++) {
    for (const episode of episodes.slice(20 * (step - 1), 20 * step)) await trace.write(episode);
    const traceLength = await trace.flush();
    const told = { metrics: { "reward/mean": step / 10 }, elapsedMs: 1_000 * step, etaMs: 0, traceLength };
    await writer.append({ type: "step", step, steps, ...told });
  }
  if (ended) await writer.append({ type: "run-end", reason: "completed", step: to, elapsedMs: 1_000 * to });
}
