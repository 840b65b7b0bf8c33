import { writeSync } from "node:fs";
import { workerData } from "node:worker_threads";
import { visibleText } from "../core/text/visible-text.ts";
import { type BlockedPosition, BlockedThread } from "./blocked-thread.ts";

/** The interval of the checks, in milliseconds. */
const lookMs = 250;
/** The silence after which the main thread is interrupted to see what it does, in milliseconds. */
const silentMs = 2_000;
/** The silence after which a warning is printed, unless half of the call's limit is shorter, in milliseconds. */
const warnMs = 5_000;
/** The limit of code outside a call of an environment, such as loading tasks, in milliseconds. */
const defaultLimitMs = 300_000;

const limitName = "the limit of one call (rollout.limits.environmentSeconds in a config, environmentMs in code)";

const beats = new Int32Array(workerData as SharedArrayBuffer);
let last = -1;
let since = performance.now();
let blocked: BlockedThread | undefined;
let hasWarned = false;
let isLooking = false;

setInterval(() => void look(), lookMs);

async function look(): Promise<void> {
  if (isLooking) return;
  isLooking = true;
  try {
    const now = Atomics.load(beats, 0);
    if (now === last) await inspect(performance.now() - since);
    else goesOn(now);
  } finally {
    isLooking = false;
  }
}

function goesOn(now: number): void {
  [last, since] = [now, performance.now()];
  blocked?.close();
  blocked = undefined;
  hasWarned = false;
}

async function inspect(silent: number): Promise<void> {
  if (silent < silentMs) return;
  blocked ??= new BlockedThread();
  const place = await blocked.place();
  // Code of packages, such as loading modules or reading a large file, ends by itself.
  if (place === undefined) return;
  const limit = place.running === undefined ? defaultLimitMs : place.running.limitMs;
  const hasLimit = typeof limit === "number";
  if (hasLimit && silent >= limit) return end(place, silent);
  if (hasWarned || silent < Math.min(warnMs, hasLimit ? limit / 2 : warnMs)) return;
  hasWarned = true;
  await blocked.letSignalsEndIt();
  const left = hasLimit ? ` The process is killed after ${seconds(limit)}, ${limitName}.` : "";
  say(
    `warning: ${placeText(place)} has kept the process busy for ${seconds(silent)}, and nothing else can run.${left} ` +
      "Meanwhile, Ctrl-C ends the process immediately. Checkpoints on disk are kept.",
  );
}

/** Kills the process after printing what is saved of its work. */
function end(place: BlockedPosition, silent: number): void {
  say(
    `error[timeout]: ${placeText(place)} kept the process busy for ${seconds(silent)}: the process is killed.\n` +
      `  Check for an endless loop, or raise ${limitName} if the call needs more time.\n  ${place.saved || "What was written before is kept."}`,
  );
  process.kill(process.pid, "SIGKILL");
}

function placeText({ position, running }: BlockedPosition): string {
  if (running === undefined) return position;
  const { environment, call, task, turn } = running;
  const parts = [
    call,
    ...(task === undefined ? [] : [`task "${task}"`]),
    ...(turn === undefined ? [] : [`turn ${turn}`]),
  ];
  return `${position} (environment "${environment}", ${parts.join(", ")})`;
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1000)} s`;
}

/** Writes synchronously, because the main thread cannot write now. */
function say(text: string): void {
  writeSync(2, `${visibleText(text)}\n`);
}
