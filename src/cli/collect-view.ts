import { formatDuration, formatNumber } from "../core/text/format.ts";
import { createLiveBlock, type TerminalStream } from "../reports/training/live-block.ts";
import type { CollectCounts } from "./collect-progress.ts";

/** How often the line is redrawn on a terminal, and written elsewhere. */
const [redrawMs, plainMs] = [200, 10_000];

/**
 * Shows how far a collection is: a line that is redrawn on a terminal, and one line every ten seconds elsewhere. It
 * goes when the view is disposed of.
 */
export function showCollecting(options: {
  readonly stream: TerminalStream;
  /** Episodes that there will be. */
  readonly total: number;
  /** Changes while the collection runs. */
  readonly counts: CollectCounts;
}): Disposable {
  const { stream, total, counts } = options;
  const before = counts.episodes;
  const started = performance.now();
  const line = (): string => progressLine({ total, before, counts, elapsedMs: performance.now() - started });
  if (stream.isTTY !== true) {
    const timer = setInterval(() => stream.write(`${line()}\n`), plainMs);
    return { [Symbol.dispose]: () => clearInterval(timer) };
  }
  const block = createLiveBlock(stream);
  block.draw([line()]);
  const timer = setInterval(() => block.draw([line()]), redrawMs);
  return {
    [Symbol.dispose]: () => {
      clearInterval(timer);
      block.draw([]);
    },
  };
}

/**
 * Such as `412 of 1,000 episodes, 41%, mean reward 0.73, eta 2m 05s`. `before` are those of an earlier run, which say
 * nothing of the time that the rest takes.
 */
export function progressLine(options: {
  readonly total: number;
  readonly before: number;
  readonly counts: CollectCounts;
  readonly elapsedMs: number;
}): string {
  const { total, before, counts, elapsedMs } = options;
  const { episodes, scored, rewards, failed } = counts;
  const played = episodes - before;
  const parts = [
    `${formatNumber(episodes)} of ${formatNumber(total)} episodes`,
    `${Math.floor((100 * episodes) / total)}%`,
    ...(scored === 0 ? [] : [`mean reward ${formatNumber(rewards / scored)}`]),
    ...(failed === 0 ? [] : [`${failed} failed`]),
    ...(played === 0 ? [] : [`eta ${formatDuration((elapsedMs / played) * (total - episodes))}`]),
  ];
  return parts.join(", ");
}
