import type { RunEndEvent, RunStartEvent, TrainingEvent } from "../../src/contract/training-event.ts";
import type { TrainingProgress } from "../../src/core/training-progress.ts";
import { writeActivity } from "./activity-view.ts";
import { createLiveBlock, type TerminalStream } from "./live-block.ts";
import { plainLine } from "./plain-line.ts";
import { preflightLines } from "./preflight-text.ts";
import { probeLines } from "./probe-text.ts";
import { withStatedAccuracy } from "./run-record.ts";
import { trainingFrame } from "./training-frame.ts";
import { initialTrainingState, updateTrainingState } from "./training-state.ts";
import { warningKind } from "./warning-group.ts";

/** The options of {@link showTraining}. */
export interface TerminalViewOptions {
  /** The output stream, such as `process.stdout`. Without `isTTY`, every event is one plain line. */
  readonly stream: TerminalStream & {
    on?(event: "resize", listener: () => void): unknown;
    off?(event: "resize", listener: () => void): unknown;
  };
  /**
   * True for colours. Use `process.stdout.hasColors()`, which respects NO_COLOR and FORCE_COLOR. Plain lines have no
   * colours.
   */
  readonly color: boolean;
  /** After it aborts, the view shows that the run is stopping. It does not stop the events. */
  readonly signal?: AbortSignal;
  /** The progress of the current step: the object that was passed to `train`. */
  readonly progress?: TrainingProgress;
  /** A monotonic clock in milliseconds. `performance.now` by default. */
  readonly now?: () => number;
}

const frameIntervalMs = 100;
const clockIntervalMs = 1000;

/**
 * Shows a running training, and returns its last event. In a terminal it shows a block that is updated in place at most
 * ten times a second. Evaluations, the first warning of each kind and every health trouble stay in the scrollback above
 * it. Elsewhere it writes one plain line per event.
 */
export async function showTraining(
  events: AsyncIterable<TrainingEvent>,
  options: TerminalViewOptions,
): Promise<RunEndEvent | undefined> {
  const shown = withStatedAccuracies(events);
  return options.stream.isTTY === true ? await showLive(shown, options) : await showPlain(shown, options);
}

async function* withStatedAccuracies(events: AsyncIterable<TrainingEvent>): AsyncGenerator<TrainingEvent> {
  let start: RunStartEvent | undefined;
  for await (const event of events) {
    if (event.type === "run-start") start = event;
    yield event.type === "evaluation" ? withStatedAccuracy(event, start) : event;
  }
}

async function showPlain(
  events: AsyncIterable<TrainingEvent>,
  { stream, signal, progress }: TerminalViewOptions,
): Promise<RunEndEvent | undefined> {
  let end: RunEndEvent | undefined;
  const sayStopping = (): void => {
    stream.write("stopping: saving a checkpoint (Ctrl-C again quits at once)\n");
  };
  signal?.addEventListener("abort", sayStopping, { once: true });
  using _ = writeActivity(progress, stream);
  try {
    for await (const event of events) {
      stream.write(`${plainLine(event)}\n`);
      if (event.type === "run-end") end = event;
    }
  } finally {
    signal?.removeEventListener("abort", sayStopping);
  }
  return end;
}

async function showLive(
  events: AsyncIterable<TrainingEvent>,
  { stream, color, signal, progress, now = () => performance.now() }: TerminalViewOptions,
): Promise<RunEndEvent | undefined> {
  const block = createLiveBlock(stream);
  let state = initialTrainingState;
  let above: string[] = [];
  const startedAt = now();
  let drawnAt = Number.NEGATIVE_INFINITY;
  let pending: NodeJS.Timeout | undefined;

  const draw = (last: boolean): void => {
    clearTimeout(pending);
    pending = undefined;
    // A slow terminal gets fewer frames, not a growing queue.
    if (stream.writableNeedDrain === true && !last) return;
    drawnAt = now();
    const frame = trainingFrame(state, {
      width: Math.max(1, (stream.columns || 80) - 1),
      color,
      elapsedMs: drawnAt - startedAt,
      stopping: signal?.aborted === true,
      progress: progress?.now(),
    });
    block.draw(frame, above);
    above = [];
  };
  const request = (): void => {
    const wait = drawnAt + frameIntervalMs - now();
    if (wait <= 0) draw(false);
    else pending ??= setTimeout(draw, wait, false).unref();
  };

  const kinds = new Set<string>();
  const isNewWarning = (event: TrainingEvent): boolean =>
    event.type === "warning" && (event.check !== undefined || kinds.size < kinds.add(warningKind(event)).size);

  const clock = setInterval(request, clockIntervalMs).unref();
  stream.on?.("resize", request);
  signal?.addEventListener("abort", request, { once: true });
  try {
    for await (const event of events) {
      if (event.type === "preflight") above.push(...preflightLines(event, Math.max(1, (stream.columns || 80) - 1)));
      if (event.type === "probe") above.push(...probeLines(event, Math.max(1, (stream.columns || 80) - 1)));
      if (event.type === "evaluation" || isNewWarning(event)) above.push(plainLine(event));
      state = updateTrainingState(state, event);
      request();
    }
  } finally {
    clearInterval(clock);
    stream.off?.("resize", request);
    signal?.removeEventListener("abort", request);
    draw(true);
  }
  return state.end;
}
