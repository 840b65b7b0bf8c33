import { stripVTControlCharacters } from "node:util";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { showTraining } from "../../../reports/training/index.ts";
import { plainLine } from "../../../reports/training/plain-line.ts";
import { displayWidth } from "../../../reports/training/terminal-text.ts";
import { trainingFrame } from "../../../reports/training/training-frame.ts";
import { initialTrainingState, updateTrainingState } from "../../../reports/training/training-state.ts";
import type { TrainingEvent } from "../../../src/contract/training-event.ts";
import { replay, sampleRun } from "./sample-run.ts";

const controlSequence = new RegExp(`${"\u001B"}\\[[0-9;]*[A-Za-z]|[\\s\\S]`, "gu");

/** A terminal that supports the sequences of the view, with reflow on resize. Throws on any other control sequence. */
function fakeTerminal(size: { columns: number; rows: number }) {
  let lines: string[] = [""];
  let row = 0;
  let column = 0;
  const listeners = new Set<() => void>();
  const terminal = {
    isTTY: true as const,
    ...size,
    writes: 0,
    write(text: string): boolean {
      terminal.writes++;
      for (const [piece] of text.matchAll(controlSequence)) {
        if (/^.\[\d+A$/.test(piece)) row = Math.max(0, row - Number(piece.slice(2, -1)));
        else if (piece === "\u001B[K") lines[row] = lines[row]!.slice(0, column);
        else if (piece === "\u001B[J") {
          lines[row] = lines[row]!.slice(0, column);
          lines.length = row + 1;
        } else if (/^.\[\d+m$/.test(piece)) continue;
        else if (piece === "\r") column = 0;
        else if (piece === "\n") {
          row++;
          column = 0;
          lines[row] ??= "";
        } else {
          if (piece < " ") throw new Error(`unexpected control sequence ${JSON.stringify(piece)}`);
          lines[row] = lines[row]!.slice(0, column) + piece + lines[row]!.slice(column + piece.length);
          column += piece.length;
        }
      }
      return true;
    },
    /** Narrows the terminal and wraps the existing lines, like most terminals. */
    resize(columns: number) {
      const before = lines.slice(0, row);
      lines = lines.flatMap((line) => line.match(new RegExp(`.{1,${columns}}`, "gu")) ?? [""]);
      row = before.reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / columns)), 0);
      column = 0;
      terminal.columns = columns;
      for (const listener of listeners) listener();
    },
    on: (_: "resize", listener: () => void) => listeners.add(listener),
    off: (_: "resize", listener: () => void) => listeners.delete(listener),
    listeners,
    screen: () => lines.slice(),
  };
  return terminal;
}

const start = sampleRun({ steps: 100 })[0]!;

describe("trainingFrame", () => {
  it("shows progress, metrics, the last evaluation and a sample", () => {
    const state = sampleRun({ steps: 240, stopAt: 120 }).reduce(updateTrainingState, initialTrainingState);
    const frame = trainingFrame(
      { ...state, end: undefined as never },
      { width: 79, color: false, elapsedMs: 252_000, stopping: false },
    ).join("\n");
    expect(frame).toContain("grpo on math · llama (scratch) · 3.412M trainable · cpu · seed 1");
    expect(frame).toMatch(/step 120\/240 ━+─+ {2}50% eta 4m 12s · 4m 12s/);
    expect(frame).toMatch(/reward [▁-█]{60}/);
    expect(frame).toMatch(/kl [0-9.]+ · entropy [0-9.]+/);
    expect(frame).toMatch(/tokens\/s 2,\d{3}/);
    expect(frame).toMatch(/evaluation reward 0\.77 · accuracy 77\.0% · episodes 500 \(test\[:500\], step 120\)/);
    expect(frame).toMatch(/ {2}› Add the numbers\. .*\n {4}What is \d+ \+ \d+\?\n {2}‹ /);
    expect(frame).toContain("checkpoint of step 80");
  });

  it("shows rewards with their components and agents first, then the evaluation, then the update", () => {
    const metrics = {
      ...{ "loss/total": 0.5, "reward/mean": 0.6, "reward/std": 0.1, "agents/x/reward": 1, "agents/o/reward": -1 },
      ...{ "reward/component/for\u001b[31mmat": 0.1, "reward/component/answer": 0.5 },
    };
    const step: TrainingEvent = { type: "step", step: 1, steps: 9, metrics, elapsedMs: 1, etaMs: 1 };
    const evaluation: TrainingEvent = { type: "evaluation", step: 1, split: "test", metrics: { "reward/mean": 0.4 } };
    const state = [start, step, evaluation].reduce(updateTrainingState, initialTrainingState);
    const frame = trainingFrame(state, { width: 90, color: false, elapsedMs: 1, stopping: false });
    const first = frame.findIndex((line) => line.startsWith("reward 0.6"));
    expect(frame[first]).toMatch(/^reward 0\.6 ±0\.1 · x 1 · o -1 · for.*mat 0\.1 · answer 0\.5$/);
    expect(frame.slice(first + 1)).toEqual(["evaluation reward 0.4 (test, step 1)", "loss 0.5"]);
    expect(frame.join("")).not.toContain("\u001b");
    expect(plainLine(step)).toContain("reward 0.6 ±0.1  x 1  o -1");
    expect(plainLine(step)).not.toContain("\u001b");
  });

  it("shows a sample's question even if a line about the answer format follows it", () => {
    const prompt = `You are kind.\nHow many ${"very ".repeat(40)}old eggs?\n\nAnswer with a number.\n`;
    const sample: TrainingEvent = { type: "sample", step: 6, prompt, completion: "7", reward: 1 };
    const state = [start, sample].reduce(updateTrainingState, initialTrainingState);
    const frame = trainingFrame(state, { width: 60, color: false, elapsedMs: 1, stopping: false });
    expect(frame.slice(-3)).toEqual([
      expect.stringMatching(/^ {2}› How many very .*…$/),
      "    Answer with a number.",
      "  ‹ 7",
    ]);
  });

  it("has no line wider than the terminal, at any width and for any text of the model", () => {
    const text = fc.string({ unit: "binary", maxLength: 120 });
    fc.assert(
      fc.property(fc.integer({ min: 40, max: 200 }), text, text, fc.boolean(), (width, prompt, completion, color) => {
        const events: TrainingEvent[] = [
          ...sampleRun({ steps: 12, stopAt: 6 }).slice(0, -1),
          { type: "sample", step: 6, prompt, completion, reward: Number.NaN },
          { type: "warning", step: 6, message: completion },
          { type: "evaluation", step: 6, split: prompt, metrics: { accuracy: 1 } },
        ];
        const state = events.reduce(updateTrainingState, initialTrainingState);
        for (const line of trainingFrame(state, { width, color, elapsedMs: 1, stopping: true })) {
          const visible = stripVTControlCharacters(line);
          expect(displayWidth(visible)).toBeLessThanOrEqual(width);
          // biome-ignore lint/suspicious/noControlCharactersInRegex: none may reach the terminal
          expect(visible).not.toMatch(/[\u0000-\u001F\u007F-\u009F]/);
          if (!color) expect(visible).toBe(line);
        }
      }),
    );
  });

  it("works before the first event and without metrics", () => {
    const options = { width: 60, color: false, elapsedMs: 500, stopping: false };
    expect(trainingFrame(initialTrainingState, options)[0]).toBe("setting up");
    const bare: TrainingEvent = { type: "step", step: 1, steps: 2, metrics: {}, elapsedMs: 1, etaMs: Number.NaN };
    const state = [start, bare].reduce(updateTrainingState, initialTrainingState);
    expect(trainingFrame(state, options)).toHaveLength(2);
  });

  it("shows demonstrations as demonstrations, with the loss and the speed of training", () => {
    const events: TrainingEvent[] = [1, 2, 3].flatMap((step) => [
      {
        type: "step",
        step,
        steps: 9,
        metrics: { "loss/total": 4 - step, "length/completion-mean": 5, "tokens/trained-per-second": 321 },
        elapsedMs: step,
        etaMs: 1,
      },
      { type: "sample", step, prompt: "1+1=", completion: "2", demonstration: true },
    ]);
    const state = events.reduce(updateTrainingState, initialTrainingState);
    const frame = trainingFrame(state, { width: 79, color: false, elapsedMs: 3, stopping: false });
    expect(frame).toContain("loss █▅▁");
    expect(frame).toContain("loss 1 · length 5 · tokens/s 321");
    expect(frame).toContain("demonstration of step 3");
    expect(frame.join("\n")).not.toMatch(/reward|sample/);
    expect(plainLine(events.at(-1)!)).toBe("demonstration at step 3  1+1= → 2");
  });

  it("counts down from the remaining time of the last step", async () => {
    const [, , step] = sampleRun({ steps: 10 });
    const state = [start, { ...step, elapsedMs: 20_000, etaMs: 90_000 } as TrainingEvent].reduce(
      updateTrainingState,
      initialTrainingState,
    );
    const line = (elapsedMs: number): string =>
      trainingFrame(state, { width: 79, color: false, elapsedMs, stopping: false })[1]!;
    expect(line(20_000)).toContain("eta 1m 30s · 20.0 s");
    expect(line(50_000)).toContain("eta 1m 00s · 50.0 s");
    expect(line(150_000)).toContain("eta 0 ms · 2m 30s");
  });

  it("marks a loss that is not a number", () => {
    const state = updateTrainingState(initialTrainingState, {
      type: "step",
      step: 1,
      steps: 2,
      metrics: { "loss/total": Number.NaN },
      elapsedMs: 1,
      etaMs: 1,
    });
    const frame = trainingFrame(state, { width: 60, color: true, elapsedMs: 1, stopping: false }).join("\n");
    expect(frame).toContain("\u001B[31mNaN");
  });
});

describe("showTraining in a terminal", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("updates in place: the last frame is shown once, with evaluations above it", async () => {
    const stream = fakeTerminal({ columns: 80, rows: 40 });
    const shown = showTraining(replay(sampleRun({ steps: 60 })), { stream, color: true });
    await vi.runAllTimersAsync();
    expect(await shown).toMatchObject({ type: "run-end", reason: "completed" });
    const screen = stream.screen();
    expect(screen.filter((line) => line.includes("grpo on math"))).toHaveLength(1);
    expect(screen.filter((line) => /step 60\/60/.test(line))).toHaveLength(1);
    expect(screen.filter((line) => line.startsWith("evaluation of test[:500] at step"))).toHaveLength(7);
    expect(screen.at(-1)).toBe("");
    expect(stream.listeners.size).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each([true, false])("shows no accuracy that nothing defines, in a terminal: %j", async (isTTY) => {
    const shownFor = async (definesCorrect: boolean): Promise<string> => {
      const events = sampleRun({ steps: 6 }).map((event) =>
        event.type === "run-start" && !definesCorrect ? { ...event, definesCorrect: false as const } : event,
      );
      let plain = "";
      const terminal = fakeTerminal({ columns: 80, rows: 40 });
      const write = (text: string): void => {
        plain += text;
      };
      const stream = isTTY ? terminal : { write };
      const shown = showTraining(replay(events), { stream: stream as typeof terminal, color: false });
      await vi.runAllTimersAsync();
      await shown;
      return isTTY ? terminal.screen().join("\n") : plain;
    };
    expect(await shownFor(true)).toMatch(/evaluation.*accuracy/);
    const without = await shownFor(false);
    expect(without).toMatch(/evaluation.*reward/);
    expect(without).not.toContain("accuracy");
  });

  it("treats a terminal without a known width, such as some recorders, as one of 80 columns", async () => {
    const screens = await Promise.all(
      [80, 0].map(async (columns) => {
        const stream = fakeTerminal({ columns, rows: 40 });
        const shown = showTraining(replay(sampleRun({ steps: 6 })), { stream, color: false, now: () => 0 });
        await vi.runAllTimersAsync();
        await shown;
        return stream.screen();
      }),
    );
    expect(screens[1]).toEqual(screens[0]);
    expect(screens[1]!.join("\n")).toContain("grpo on math");
  });

  it("includes the setup time, like the run, so that the remaining time decreases from the first step on", async () => {
    const stream = fakeTerminal({ columns: 80, rows: 40 });
    let seen = "";
    async function* slowStart(): AsyncGenerator<TrainingEvent, void, undefined> {
      await vi.advanceTimersByTimeAsync(20_000);
      yield start;
      await vi.advanceTimersByTimeAsync(10_000);
      yield { type: "step", step: 1, steps: 10, metrics: {}, elapsedMs: 30_000, etaMs: 90_000 };
      await vi.advanceTimersByTimeAsync(5000);
      seen = stream.screen().join("\n");
    }
    await showTraining(slowStart(), { stream, color: false, now: () => Date.now() });
    expect(seen).toContain("eta 1m 25s · 35.0 s");
  });

  it("keeps the first warning of each kind in the scrollback, and counts the others", async () => {
    const stream = fakeTerminal({ columns: 80, rows: 40 });
    const warnings = ["5 of 8 are lost", "no signal", "6 of 8 are lost", "no signal"].map(
      (message, index): TrainingEvent => ({ type: "warning", step: index + 1, message }),
    );
    await showTraining(replay([start, ...warnings]), { stream, color: false });
    const lines = stream.screen().filter((line) => /lost|signal/.test(line));
    expect(lines).toEqual([
      "warning at step 1: 5 of 8 are lost",
      "warning at step 2: no signal",
      "4 warnings, the last: no signal",
    ]);
  });

  it("writes at most about ten frames per second, for any step rate", async () => {
    const stream = fakeTerminal({ columns: 80, rows: 40 });
    async function* fast(): AsyncGenerator<TrainingEvent, void, undefined> {
      for (const event of sampleRun({ steps: 3000 })) {
        await vi.advanceTimersByTimeAsync(1);
        yield event;
      }
    }
    await showTraining(fast(), { stream, color: false, now: () => Date.now() });
    expect(stream.writes).toBeGreaterThan(20);
    expect(stream.writes).toBeLessThan(36);
  });

  it("works if the terminal becomes narrower and wider", async () => {
    const stream = fakeTerminal({ columns: 120, rows: 40 });
    async function* resizing(): AsyncGenerator<TrainingEvent, void, undefined> {
      for (const event of sampleRun({ steps: 200 })) {
        if (event.type === "step" && event.step % 20 === 0) stream.resize([40, 120, 55, 90][(event.step / 20) % 4]!);
        await vi.advanceTimersByTimeAsync(30);
        yield event;
      }
    }
    await showTraining(resizing(), { stream, color: false, now: () => Date.now() });
    const screen = stream.screen();
    expect(screen.filter((line) => line.includes("grpo on math"))).toHaveLength(1);
    expect(screen.filter((line) => /^step \d+\/200/.test(line))).toHaveLength(1);
  });

  it("skips frames while the terminal is slow", async () => {
    const stream = Object.assign(fakeTerminal({ columns: 80, rows: 40 }), { writableNeedDrain: true });
    const shown = showTraining(replay(sampleRun({ steps: 50 })), { stream, color: false });
    await vi.runAllTimersAsync();
    await shown;
    expect(stream.writes).toBe(1);
  });

  it("cleans up and passes the error on if the run throws", async () => {
    const stream = fakeTerminal({ columns: 80, rows: 40 });
    async function* failing(): AsyncGenerator<TrainingEvent, void, undefined> {
      yield start;
      throw new Error("broken");
    }
    await expect(showTraining(failing(), { stream, color: false })).rejects.toThrow("broken");
    expect(stream.listeners.size).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("says that it is stopping once aborted", async () => {
    const stream = fakeTerminal({ columns: 80, rows: 40 });
    const controller = new AbortController();
    let seen = "";
    async function* events(): AsyncGenerator<TrainingEvent, void, undefined> {
      yield start;
      await vi.advanceTimersByTimeAsync(200);
      controller.abort();
      await vi.advanceTimersByTimeAsync(200);
      seen = stream.screen().join("\n");
      yield { type: "run-end", reason: "aborted", step: 3, elapsedMs: 10 };
    }
    await showTraining(events(), { stream, color: false, signal: controller.signal, now: () => Date.now() });
    expect(seen).toContain("stopping: saving a checkpoint (Ctrl-C again quits at once)");
    expect(stream.screen().join("\n")).not.toContain("stopping");
  });
});

describe("showTraining without a terminal", () => {
  it("writes one plain line per event, each step once", async () => {
    let output = "";
    const stream = {
      write: (text: string) => {
        output += text;
        return true;
      },
    };
    const events = sampleRun({ steps: 30 });
    await showTraining(replay(events), { stream, color: true });
    const lines = output.trimEnd().split("\n");
    expect(lines).toHaveLength(events.length);
    expect(lines.filter((line) => line.startsWith("step "))).toHaveLength(30);
    expect(output).not.toContain("\u001B");
    expect(lines[0]).toBe("run: grpo on math, llama (scratch) (3.412M trainable parameters, cpu), 30 steps, seed 1");
    expect(lines.at(-1)).toBe("completed at step 30 after 1m 03s");
  });

  it("keeps an event on one line without control characters, for any text of a model", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 900 }), (text) => {
        const events: TrainingEvent[] = [
          { type: "sample", step: 1, prompt: text, completion: text },
          { type: "warning", step: 1, message: text },
          { type: "evaluation", step: 1, split: text, metrics: {} },
          { type: "checkpoint", step: 1, path: text },
          {
            type: "run-end",
            reason: "failed",
            step: 1,
            elapsedMs: 1,
            error: { name: "E", code: "internal", message: text },
          },
        ];
        // biome-ignore lint/suspicious/noControlCharactersInRegex: none may reach the log
        for (const event of events) expect(plainLine(event)).not.toMatch(/[\u0000-\u001F\u007F-\u009F\u202E]/);
      }),
    );
  });
});
