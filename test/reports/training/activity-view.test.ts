import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { showTraining } from "../../../reports/training/index.ts";
import { displayWidth } from "../../../reports/training/terminal-text.ts";
import { trainingFrame } from "../../../reports/training/training-frame.ts";
import { initialTrainingState } from "../../../reports/training/training-state.ts";
import type { TrainingEvent } from "../../../src/contract/training-event.ts";
import { progressText, TrainingProgress } from "../../../src/core/training-progress.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "setTimeout", "clearTimeout", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe("the progress of a training", () => {
  it("counts the done items, the total and the tokens, with the time since its start", () => {
    const progress = new TrainingProgress();
    expect(progress.now()).toBeUndefined();
    const meter = progress.begin({ activity: "playing", step: 3, unit: "episodes", total: 100 });
    meter.expect(28);
    meter.add(37);
    meter.addTokens(12_300);
    vi.advanceTimersByTime(30_000);
    const now = progress.now()!;
    expect(now).toEqual({
      ...{ activity: "playing", step: 3, unit: "episodes", done: 37, total: 128, tokens: 12_300, elapsedMs: 30_000 },
    });
    expect(progressText(now)).toBe("playing: 37 of 128 episodes, 12.3K tokens, 410 tokens/s, 30.0 s");
    meter[Symbol.dispose]();
    expect(progress.now()).toBeUndefined();
  });

  it("is that of the activity that began last, and of the previous one after it ends", () => {
    const progress = new TrainingProgress();
    const ahead = progress.begin({ activity: "playing", step: 2, unit: "episodes" });
    const learning = progress.begin({ activity: "learning", step: 1, unit: "sequences" });
    expect(progress.now()?.activity).toBe("learning");
    learning[Symbol.dispose]();
    learning[Symbol.dispose]();
    expect(progress.now()?.activity).toBe("playing");
    ahead[Symbol.dispose]();
    expect(progress.now()).toBeUndefined();
  });
});

describe("the activity of a run", () => {
  it("is a line of a log after 10 seconds, and then at longer intervals", async () => {
    const progress = new TrainingProgress();
    const lines: string[] = [];
    const gate = Promise.withResolvers<void>();
    async function* events(): AsyncGenerator<TrainingEvent> {
      await gate.promise;
      yield* [];
    }
    const stream = { write: (text: string) => lines.push(text) > 0 };
    const shown = showTraining(events(), { stream, color: false, progress });
    using meter = progress.begin({ activity: "playing", step: 1, unit: "episodes", total: 64 });
    vi.advanceTimersByTime(9_000);
    expect(lines).toEqual([]);
    meter.add(5);
    vi.advanceTimersByTime(2_000);
    expect(lines).toEqual(["step 1  playing: 5 of 64 episodes, 10.0 s\n"]);
    vi.advanceTimersByTime(409_000);
    expect(lines.map((line) => line.split(", ").at(-1)!.trim())).toEqual([
      ...["10.0 s", "20.0 s", "40.0 s", "1m 20s", "2m 40s", "5m 20s"],
    ]);
    progress.begin({ activity: "learning", step: 1, unit: "sequences", total: 64 });
    vi.advanceTimersByTime(11_000);
    expect(lines.at(-1)).toBe("step 1  learning: 0 of 64 sequences, 10.0 s\n");
    gate.resolve();
    await shown;
    const count = lines.length;
    vi.advanceTimersByTime(1_000_000);
    expect(lines).toHaveLength(count);
  });

  it.each([20, 80, 120])("is a line of the live view that fits %d columns", (width) => {
    const progress = new TrainingProgress();
    using meter = progress.begin({ activity: "playing", step: 1, unit: "episodes", total: 64 });
    meter.addTokens(1000);
    const frame = trainingFrame(initialTrainingState, {
      ...{ width, color: false, elapsedMs: 0, stopping: false },
      progress: progress.now(),
    });
    const line = frame.find((text) => text.startsWith("playing: 0 of"));
    expect(line).toBeDefined();
    expect(displayWidth(line!)).toBeLessThanOrEqual(width);
  });
});
