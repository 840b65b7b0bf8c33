import { createLiveBlock, type TerminalStream } from "../reports/training/live-block.ts";
import { formatDuration, formatNumber } from "../src/core/text/format-numbers.ts";
import type { CollectCounts } from "./collect-output.ts";

/** The update interval on a terminal, and elsewhere, in milliseconds. */
const [redrawMs, plainMs] = [200, 10_000];

/**
 * Shows the progress of a collection: on a terminal a line that is updated, elsewhere one line every ten seconds.
 * Disposal removes the line.
 */
export function showCollecting(options: {
  readonly stream: TerminalStream;
  /** The total number of episodes. */
  readonly total: number;
  /** The counts. They change while the collection runs. */
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
 * Returns a line such as `412 of 1,000 episodes, 41%, mean reward 0.73, eta 2m 05s`. `before` are the counts of an
 * earlier run, which are ignored for the remaining time.
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
