import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { RunStartEvent, TrainingEvent } from "../../../src/contract/training-event.ts";
import type { Tracker } from "../../../src/reports/trackers/tracker.ts";
import { sampleRun } from "../training/sample-run.ts";

/** A tracker under test, and what it needs to be open meanwhile, such as a server. */
export interface TrackerUnderTest extends AsyncDisposable {
  readonly tracker: Tracker;
}

const never = new AbortController().signal;

/** The tests that every tracker passes. `open` makes a tracker for a run's folder. */
export function describeTracker(
  name: string,
  open: (options: { readonly folder: string }) => Promise<TrackerUnderTest>,
): void {
  /** Follows events from a run's start on, and closes. */
  const follow = async (options: {
    readonly tracker: Tracker;
    readonly folder: string;
    readonly events: readonly TrainingEvent[];
    readonly closing?: AbortSignal;
  }): Promise<void> => {
    const { tracker, folder, events, closing = never } = options;
    const start = events[0] as RunStartEvent;
    const session = await tracker.open({ start, folder, config: { seed: 1 } }, { signal: never });
    for (const event of events) await session.write(event, { signal: never });
    await session.close({ signal: closing });
  };
  const inFolder = async (
    run: (given: { readonly tracker: Tracker; readonly folder: string }) => Promise<void>,
  ): Promise<void> => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "lyceum-tracker-"));
    await using subject = await open({ folder: folder.path });
    await run({ tracker: subject.tracker, folder: folder.path });
  };

  describe(`${name} conforms`, () => {
    it("has a name for warnings", () => inFolder(async ({ tracker }) => expect(tracker.name).not.toBe("")));

    it("follows a run from its start to its end", () =>
      inFolder((given) => follow({ ...given, events: sampleRun({ steps: 12 }) })));

    it("takes events of every type, and metrics and texts of any kind", () =>
      inFolder((given) => follow({ ...given, events: [sampleRun({ steps: 2 })[0]!, ...oddEvents] })));

    it("closes a run that ended without a run-end event", () =>
      inFolder((given) =>
        follow({ ...given, events: sampleRun({ steps: 12 }).filter(({ type }) => type !== "run-end") }),
      ));

    it("closes a run that failed", () =>
      inFolder((given) => {
        const error = { name: "LyceumError", code: "backend.not-finite", message: "The loss is NaN." } as const;
        const failed: TrainingEvent = { type: "run-end", reason: "failed", step: 0, elapsedMs: 1, error };
        return follow({ ...given, events: [sampleRun({ steps: 2 })[0]!, failed] });
      }));

    it("goes on with a run that is resumed", () =>
      inFolder(async (given) => {
        await follow({ ...given, events: sampleRun({ steps: 12, stopAt: 6 }) });
        await follow({ ...given, events: sampleRun({ steps: 12, resumedFrom: 6 }) });
      }));

    it("settles when its time to close is over", () =>
      inFolder(async (given) => {
        const events = sampleRun({ steps: 12 });
        await Promise.allSettled([follow({ ...given, events, closing: AbortSignal.abort() })]);
      }));
  });
}

const metrics = { "reward/mean": -1e-300, "a/metric with spaces & signs (é)": 1e300, "groups/solved": 0 };

const oddEvents: readonly TrainingEvent[] = [
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
