import { createLiveBlock, type TerminalStream } from "../reports/training/live-block.ts";
import { formatDuration, formatNumber, formatPercent } from "../src/core/text/format-numbers.ts";
import { visibleLine } from "../src/core/text/visible-text.ts";
import { definesCorrect } from "../src/evaluation/correctness.ts";
import type { EvaluationEvent } from "../src/evaluation/evaluation-event.ts";
import type { EpisodeEntry } from "../src/evaluation/log/episode-entry.ts";
import type { EvaluationManifest } from "../src/evaluation/log/manifest.ts";
import type { EvaluationSummary } from "../src/evaluation/log/summary.ts";
import { episodeReward } from "../src/evaluation/metrics/task-results.ts";

/** The update interval on a terminal, and elsewhere, in milliseconds. */
const [redrawMs, plainMs] = [200, 10_000];

/** The progress of a run. */
export interface EvalProgress {
  readonly name: string;
  readonly total: number;
  /** The number of episodes in the log. `before` of them are from an earlier process. */
  done: number;
  readonly before: number;
  scored: number;
  correct: number;
  rewards: number;
  unscored: number;
  /** True if correctness is known. Otherwise only rewards are shown. */
  readonly hasCorrect: boolean;
}

/** Shows the progress of a run with its score so far, and returns its summary. */
export async function showEvaluation(
  events: AsyncIterable<EvaluationEvent>,
  stream: TerminalStream | undefined,
): Promise<EvaluationSummary | undefined> {
  let summary: EvaluationSummary | undefined;
  let view: Disposable | undefined;
  let progress: EvalProgress | undefined;
  try {
    for await (const event of events) {
      if (event.type === "start") {
        progress = beginProgress(event.manifest, event.played);
        if (stream !== undefined) view = showProgress(stream, progress);
      } else if (event.type === "episode") {
        countEntry(progress!, event.entry);
      } else if (event.type === "warning") {
        stream?.write(`warning: ${visibleLine(event.error.message)}\n`);
      } else summary = event.summary;
    }
  } finally {
    view?.[Symbol.dispose]();
  }
  return summary;
}

function beginProgress(manifest: EvaluationManifest, played: readonly EpisodeEntry[]): EvalProgress {
  const { name, tasks, samples, correct, spec } = manifest;
  const progress: EvalProgress = {
    name,
    total: tasks * samples,
    done: 0,
    before: played.length,
    scored: 0,
    correct: 0,
    rewards: 0,
    unscored: 0,
    hasCorrect: definesCorrect(correct, spec),
  };
  for (const entry of played) countEntry(progress, entry);
  return progress;
}

function countEntry(progress: EvalProgress, entry: EpisodeEntry): void {
  progress.done += 1;
  if (entry.file === "failures") {
    progress.unscored += 1;
    return;
  }
  progress.scored += 1;
  progress.rewards += episodeReward(entry);
  if (entry.correct === true) progress.correct += 1;
}

function showProgress(stream: TerminalStream, progress: EvalProgress): Disposable {
  const started = performance.now();
  const line = (): string => visibleLine(evalProgressLine(progress, performance.now() - started));
  if (stream.isTTY !== true) {
    const timer = setInterval(() => stream.write(`${line()}\n`), plainMs).unref();
    return { [Symbol.dispose]: () => clearInterval(timer) };
  }
  const block = createLiveBlock(stream);
  block.draw([line()]);
  const timer = setInterval(() => block.draw([line()]), redrawMs).unref();
  return {
    [Symbol.dispose]: () => {
      clearInterval(timer);
      block.draw([]);
    },
  };
}

/** Returns a line such as `gsm8k: 412 of 1,319 episodes, 31%, accuracy 41.3%, 2 unscored, eta 2m 05s`. */
export function evalProgressLine(progress: EvalProgress, elapsedMs: number): string {
  const { name, total, done, before, scored, correct, rewards, unscored, hasCorrect } = progress;
  const played = done - before;
  const score = hasCorrect ? `accuracy ${formatPercent(correct / scored)}` : `reward ${formatNumber(rewards / scored)}`;
  const parts = [
    `${name}: ${formatNumber(done)} of ${formatNumber(total)} episodes`,
    `${Math.floor((100 * done) / Math.max(1, total))}%`,
    ...(scored === 0 ? [] : [score]),
    ...(unscored === 0 ? [] : [`${unscored} unscored`]),
    ...(played <= 0 ? [] : [`eta ${formatDuration((elapsedMs / played) * Math.max(0, total - done))}`]),
  ];
  return parts.join(", ");
}
