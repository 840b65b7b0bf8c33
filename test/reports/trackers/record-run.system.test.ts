import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { followRun, type TrackedRun, type Tracker } from "../../../reports/trackers/index.ts";
import { readMetrics, recordRun, type TrainingEvent } from "../../../reports/training/index.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { replay, sampleRun } from "../training/sample-run.ts";

let folder: string;
beforeEach(async () => {
  folder = temporaryFolder();
});

async function collect(events: AsyncIterable<TrainingEvent>): Promise<TrainingEvent[]> {
  const all: TrainingEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}

/** A tracker that remembers its events, and fails at the given place. */
function memoryTracker(fails: "open" | "write" | "close" | "never" = "never") {
  const got: TrainingEvent[] = [];
  const runs: TrackedRun[] = [];
  let closed = 0;
  const failAt = (place: typeof fails): void => {
    if (fails === place) throw new Error(`${place} failed`);
  };
  const tracker: Tracker = {
    name: "memory",
    open: async (run) => {
      runs.push(run);
      failAt("open");
      return {
        write: async (event) => {
          if (got.length === 4) failAt("write");
          got.push(event);
        },
        close: async () => {
          closed++;
          failAt("close");
        },
      };
    },
  };
  return { tracker, got, runs, closed: () => closed };
}

describe("recordRun with trackers", () => {
  it("sends every event to every tracker in order, and closes it once", async () => {
    const memory = memoryTracker();
    const events = sampleRun({ steps: 9 });
    const passed = await collect(recordRun(replay(events), { folder, config: { a: 1 }, trackers: [memory.tracker] }));
    expect(passed).toEqual(events);
    expect(memory.got).toEqual(events);
    expect(memory.runs).toEqual([{ start: events[0], folder, config: { a: 1 } }]);
    expect(memory.closed()).toBe(1);
    expect((await readMetrics(join(folder, "metrics.jsonl"))).events).toEqual(events);
  });

  it.each([
    "open",
    "write",
    "close",
  ] as const)("continues if a tracker fails to %s, with one warning, which is recorded too", async (place) => {
    const [broken, whole] = [memoryTracker(place), memoryTracker()];
    const events = sampleRun({ steps: 9 });
    const passed = await collect(recordRun(replay(events), { folder, trackers: [broken.tracker, whole.tracker] }));
    expect(passed.filter(({ type }) => type !== "warning")).toEqual(events);
    const warnings = passed.filter(({ type }) => type === "warning");
    expect(warnings).toEqual([
      {
        type: "warning",
        step: place === "close" ? 9 : place === "open" ? 0 : expect.any(Number),
        message: `memory cannot be written. Training goes on without it: ${place} failed`,
      },
    ]);
    expect(passed.at(-1)?.type).toBe("run-end");
    const file = (await readMetrics(join(folder, "metrics.jsonl"))).events;
    expect(file.filter(({ type }) => type === "warning")).toEqual(warnings);
    expect(await readFile(join(folder, "report.html"), "utf8")).toContain(`${place} failed`);
    if (place !== "close") expect(whole.got.filter(({ type }) => type !== "warning")).toEqual(events);
    expect(broken.closed()).toBe(place === "open" ? 0 : 1);
  });

  it("closes the trackers of a run that throws, and of one whose consumer stops", async () => {
    const failing = memoryTracker();
    async function* broken(): AsyncGenerator<TrainingEvent, void, undefined> {
      yield* sampleRun({ steps: 9 }).slice(0, 5);
      throw new Error("boom");
    }
    const thrown = collect(recordRun(broken(), { folder, trackers: [failing.tracker] }));
    await expect(thrown).rejects.toThrow("boom");
    expect(failing.got.at(-1)).toMatchObject({ type: "run-end", reason: "failed" });
    expect(failing.closed()).toBe(1);

    const left = memoryTracker();
    for await (const event of recordRun(replay(sampleRun({ steps: 9 })), { folder, trackers: [left.tracker] })) {
      if (event.type === "step") break;
    }
    expect(left.closed()).toBe(1);
  });
});

describe("followRun", () => {
  const start = sampleRun({ steps: 1 })[0] as Extract<TrainingEvent, { type: "run-start" }>;
  const limits = { open: 30, write: 30, close: 30 };
  const forever = (): Promise<never> => new Promise(() => undefined);
  const follow = (tracker: Tracker, signal?: AbortSignal) =>
    followRun(tracker, { run: { start, folder }, limits, ...(signal === undefined ? {} : { signal }) });

  it.each([
    ["open", { open: forever }],
    ["write", { open: async () => ({ write: forever, close: async () => undefined }) }],
  ])("waits no longer than its limit for %s, once", async (_, { open }) => {
    const follower = follow({ name: "slow", open } as Tracker);
    expect(await follower.write(start)).toContain(
      "slow cannot be written. Training goes on without it: no answer within",
    );
    expect(await follower.write(start)).toBeUndefined();
    expect(await follower.close()).toBeUndefined();
  });

  it("calls the functions of a session as methods", async () => {
    class Counter {
      count = 0;
      async write(): Promise<void> {
        this.count += 1;
      }
      async close(): Promise<void> {
        this.count += 10;
      }
    }
    const counter = new Counter();
    const follower = follow({ name: "counter", open: async () => counter });
    expect(await follower.write(start)).toBeUndefined();
    expect(await follower.close()).toBeUndefined();
    expect(counter.count).toBe(11);
  });

  it("waits for close at most as long as its limit", async () => {
    const follower = follow({ name: "slow", open: async () => ({ write: async () => undefined, close: forever }) });
    expect(await follower.write(start)).toBeUndefined();
    expect(await follower.close()).toContain("no answer within");
  });

  it("stops waiting for a tracker to open if the run is aborted", async () => {
    const controller = new AbortController();
    const follower = followRun({ name: "slow", open: forever }, { run: { start, folder }, signal: controller.signal });
    const written = follower.write(start);
    controller.abort(new Error("Ctrl-C"));
    expect(await written).toContain("Ctrl-C");
  });

  it("passes on the error of work that reacts to its signal", async () => {
    const open: Tracker["open"] = (_, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(new Error("the server was silent")));
      });
    expect(await follow({ name: "polite", open }).write(start)).toContain("the server was silent");
  });
});
