import assert from "node:assert/strict";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Tracker } from "../contract/tracker.ts";
import type { RunStartEvent, TrainingEvent } from "../contract/training-event.ts";
import { type ConformanceCase, conformanceCases } from "../core/conformance-case.ts";

/** A tracker under test. Disposing of it closes what it needs, such as a server. */
export interface TrackerSubject extends Partial<AsyncDisposable> {
  readonly tracker: Tracker;
}

/**
 * The conformance suite of a tracker. `open` returns a new tracker for a run whose output folder is `folder`.
 *
 * @example
 * import { tensorboardTracker } from "lyceum/reports";
 * import { trackerConformance } from "lyceum/testing";
 * const cases = trackerConformance(() => ({ tracker: tensorboardTracker() }));
 * for (const { run } of cases) await run(); // in a test file: for (const { name, run } of cases) test(name, run)
 */
export function trackerConformance(
  open: (options: { readonly folder: string }) => TrackerSubject | Promise<TrackerSubject>,
): ConformanceCase[] {
  const opened = async () => {
    const folder = await mkdtempDisposable(join(tmpdir(), "lyceum-tracker-"));
    const subject = await open({ folder: folder.path });
    return {
      tracker: subject.tracker,
      follow: (events: readonly TrainingEvent[], closing?: AbortSignal) =>
        follow({ tracker: subject.tracker, folder: folder.path, events, closing }),
      [Symbol.asyncDispose]: async () => {
        await subject[Symbol.asyncDispose]?.();
        await folder.remove();
      },
    };
  };
  return conformanceCases(opened, {
    "has a name for warnings": ({ tracker }) => assert.notEqual(tracker.name, ""),
    "follows a run from its start to its end": ({ follow }) => follow([...firstSteps, ...lastSteps]),
    "takes events of every type, and metrics and texts of any kind": ({ follow }) => follow([start, ...oddEvents]),
    "closes a run that ended without a run-end event": ({ follow }) => follow(firstSteps),
    "closes a run that failed": ({ follow }) => {
      const error = { name: "LyceumError", code: "backend.not-finite", message: "The loss is NaN." } as const;
      return follow([start, { type: "run-end", reason: "failed", step: 0, elapsedMs: 1, error }]);
    },
    "goes on with a run that is resumed": async ({ follow }) => {
      await follow(firstSteps);
      await follow([{ ...start, resumedFrom: 2 }, ...lastSteps]);
    },
    "settles when its time to close is over": async ({ follow }) => {
      await Promise.allSettled([follow([...firstSteps, ...lastSteps], AbortSignal.abort())]);
    },
  });
}

/** Sends events to a tracker, the start of the run first, and closes it. */
async function follow(options: {
  readonly tracker: Tracker;
  readonly folder: string;
  readonly events: readonly TrainingEvent[];
  readonly closing: AbortSignal | undefined;
}): Promise<void> {
  const { tracker, folder, events } = options;
  const { signal } = new AbortController();
  const [first] = events as readonly [RunStartEvent];
  const session = await tracker.open({ start: first, folder, config: { seed: 1 } }, { signal });
  for (const event of events) await session.write(event, { signal });
  await session.close({ signal: options.closing ?? signal });
}

const start: RunStartEvent = {
  type: "run-start",
  algorithm: "grpo",
  environment: "math",
  model: { name: "scratch", trainableParameters: 1000, device: "cpu" },
  seed: 1,
  steps: 4,
  resumedFrom: 0,
};

function stepEvent(step: number): TrainingEvent {
  return { type: "step", step, steps: 4, metrics: { "reward/mean": step / 4 }, elapsedMs: step, etaMs: 4 - step };
}

const firstSteps: readonly TrainingEvent[] = [start, stepEvent(1), stepEvent(2)];
const lastSteps: readonly TrainingEvent[] = [
  stepEvent(3),
  stepEvent(4),
  { type: "run-end", reason: "completed", step: 4, elapsedMs: 5 },
];

const metrics = { "reward/mean": -1e-300, "a/metric with spaces & signs (é)": 1e300, "groups/solved": 0 };

const oddEvents: readonly TrainingEvent[] = [
  {
    type: "preflight",
    step: 0,
    checks: [
      { name: "mask", status: "passed", detail: "the loss mask covers 3 sampled ids and no others" },
      { name: "sync", status: "failed", detail: "they differ by 3", cause: "Two\nlines.", learner: "solver" },
    ],
    elapsedMs: 1,
  },
  {
    type: "probe",
    step: 0,
    groups: 1,
    withSignal: 0,
    comparison: "group",
    metrics,
    elapsedMs: 1,
    samples: [{ prompt: "1+1=", completion: "" }],
    advice: ["a higher sampling.maxTokens"],
  },
  { type: "step", step: 1, steps: 2, metrics, elapsedMs: 1, etaMs: 0 },
  { type: "step", step: 2, steps: 2, metrics: {}, elapsedMs: 2, etaMs: 0 },
  { type: "sample", step: 1, prompt: "a\u0000b\ud800", completion: "x".repeat(100_000), demonstration: true },
  { type: "evaluation", step: 2, split: "test[:5]", metrics },
  { type: "warning", step: 2, message: "Two\nlines.", check: "reward-hacking" },
  { type: "checkpoint", step: 2, path: "checkpoints/step-000002" },
  { type: "run-end", reason: "completed", step: 2, elapsedMs: 3 },
];
