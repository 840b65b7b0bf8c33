import { visibleLine } from "../../src/core/text/visible-text.ts";
import { progressText, type TrainingProgress } from "../../src/core/training-progress.ts";
import { createLiveBlock, type TerminalStream } from "./live-block.ts";
import { renderLine, span } from "./terminal-text.ts";

/**
 * The duration of an activity after which a log gets the first line about it, in milliseconds. Each next line comes
 * after twice the time.
 */
const firstLineMs = 10_000;
/** The maximum interval between lines about one activity, in milliseconds. */
const longestPauseMs = 300_000;

const clockMs = 1000;

/**
 * Shows what a run is doing until it is disposed of: in a terminal a line that is updated once a second, elsewhere the
 * lines of {@link activityLines}.
 */
export function showActivity(
  progress: TrainingProgress,
  { stream, color }: { readonly stream: TerminalStream; readonly color: boolean },
): Disposable {
  if (stream.isTTY !== true) return writeActivity(progress, stream);
  const block = createLiveBlock(stream);
  const draw = (): void => {
    const now = progress.now();
    const line = now === undefined ? "setting up" : progressText(now);
    block.draw([renderLine([span(line, "dim")], { width: Math.max(1, (stream.columns || 80) - 1), color })]);
  };
  draw();
  const clock = setInterval(draw, clockMs).unref();
  return {
    [Symbol.dispose]: () => {
      clearInterval(clock);
      block.draw([]);
    },
  };
}

/** Writes the lines of {@link activityLines} to a log until it is disposed of. */
export function writeActivity(
  progress: TrainingProgress | undefined,
  stream: Pick<TerminalStream, "write">,
): Disposable {
  const next = activityLines(progress);
  const clock = setInterval(() => {
    const line = next();
    if (line !== undefined) stream.write(`${visibleLine(line)}\n`);
  }, clockMs).unref();
  return { [Symbol.dispose]: () => clearInterval(clock) };
}

/**
 * Returns a function that is called once a second and returns a line about a long activity: after 10 seconds, 20, 40
 * and so on.
 */
function activityLines(progress: TrainingProgress | undefined): () => string | undefined {
  let current = "";
  let due = firstLineMs;
  return () => {
    const now = progress?.now();
    if (now === undefined) return undefined;
    const { activity, step, elapsedMs } = now;
    if (current !== `${activity} ${step}`) {
      current = `${activity} ${step}`;
      due = firstLineMs;
    }
    if (elapsedMs < due) return undefined;
    due = elapsedMs + Math.min(elapsedMs, longestPauseMs);
    return `step ${step}  ${progressText(now)}`;
  };
}
