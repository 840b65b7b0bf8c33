import { writeSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import type { RunningCall } from "../src/core/rollout/running-call.ts";
import { visibleText } from "../src/core/text/visible-text.ts";
import { CallReader, callText } from "./call-board.ts";
import { heldTime, type ThreadSample } from "./held-time.ts";
import { interruptSignals } from "./interrupt-signals.ts";
import { sampleMainThread } from "./main-thread-sample.ts";
import { onThreadSignal } from "./thread-signals.ts";

/** The interval of the samples, in milliseconds, and the longest interval in which a wait counts. */
const [lookMs, maxGapMs] = [250, 1_000];
/** The time after which a warning is printed, unless half of the call's limit is shorter, in milliseconds. */
const warnMs = 5_000;
/** The limit of calls that have none, such as loading tasks, in milliseconds. */
const defaultLimitMs = 300_000;
/** The time that the main thread has to act on a repeated signal, in milliseconds. */
const signalMs = 1_000;

const limitName = "the limit of one call (rollout.limits.environmentSeconds in a config, environmentMs in code)";

const board = new CallReader(workerData as SharedArrayBuffer);
/** What is saved if the process is killed now. */
let saved = "";
let last = sample();
let held = 0;
/** The signals that the main thread has not handled. */
let signals = 0;
/** The turns of the event loop before the last signal, and the time of the second signal. */
let [beatsBefore, repeatedAt] = [0, 0];
/** The subjects and calls of which a warning was printed. */
const warned = new Set<string>();

parentPort?.on("message", (text: string) => {
  saved = text;
});
onThreadSignal(interruptSignals, () => {
  signals += 1;
  beatsBefore = board.beats;
  if (signals === 2) repeatedAt = performance.now();
});
setInterval(look, lookMs);

function look(): void {
  const { innermost, open } = board.calls();
  const now = sample();
  held = heldTime(held, { before: last, after: now, maxGapMs });
  last = now;
  // The main thread handles signals between two beats.
  if (board.beats > beatsBefore + 1) signals = 0;
  if (signals > 1 && now.at - repeatedAt >= signalMs) end("error[aborted]: The process is killed by a second signal.");
  const calls = innermost === undefined ? open : [innermost];
  // Outside of calls, the package's own code runs, such as loading a model. It ends by itself.
  if (calls.length === 0 || held === 0) return;
  const limitMs = longestLimit(calls) ?? longestLimit(open) ?? defaultLimitMs;
  const isBlocked = held >= Math.min(warnMs, limitMs / 2);
  if (!isBlocked) return;
  const place = innermost === undefined ? openText(open) : callText(innermost);
  if (held >= limitMs) {
    end(
      `error[timeout]: ${place} has kept the process busy for ${seconds(held)}: the process is killed.\n` +
        `  Check for an endless loop, or raise ${limitName} if the call needs more time.`,
    );
  }
  if (signals > 0) end(`error[aborted]: ${place} has kept the process busy for ${seconds(held)}: a signal ends it.`);
  warn(calls[0]!, `${place} has kept the process busy for ${seconds(held)}`, limitMs);
}

function sample(): ThreadSample {
  return { ...sampleMainThread(), progress: board.progress };
}

/** Warns once of each kind of call. */
function warn({ subject, call }: RunningCall, text: string, limitMs: number): void {
  const kind = JSON.stringify([subject, call]);
  if (warned.has(kind)) return;
  warned.add(kind);
  say(
    `warning: ${text}, and nothing else can run. The process is killed after ${seconds(limitMs)}, ${limitName}. ` +
      "Meanwhile, Ctrl-C ends the process immediately. Checkpoints on disk are kept.",
  );
}

/** Prints which work is saved, and kills the process. The main thread is blocked and cannot end it. */
function end(text: string): void {
  say(`${text}\n  ${saved || "What was written before is kept."}`);
  process.kill(process.pid, "SIGKILL");
}

function longestLimit(calls: readonly RunningCall[]): number | undefined {
  const limits = calls.flatMap(({ limitMs }) => limitMs ?? []);
  return limits.length === 0 ? undefined : Math.max(...limits);
}

/** After a call has waited for something, it is not known whether its code runs or other code. */
function openText(open: readonly RunningCall[]): string {
  if (open.length === 1) return `${callText(open[0]!)} (or other code while it waits)`;
  const shown = open.slice(0, 3).map((call) => callText(call));
  const more = open.length > shown.length ? [`${open.length - shown.length} more`] : [];
  return `code of one of these calls (${[...shown, ...more].join("; ")})`;
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1000)} s`;
}

/** Writes synchronously, because the main thread cannot write now. */
function say(text: string): void {
  writeSync(2, `${visibleText(text)}\n`);
}
