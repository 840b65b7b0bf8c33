import { describe, expect, it } from "vitest";
import type { TrainingEvent, TrainingWarningEvent } from "../../../src/contract/training-event.ts";
import { htmlReport, runRecord, showTraining } from "../../../src/reports/training/index.ts";
import { plainLine } from "../../../src/reports/training/plain-line.ts";
import { trainingEventSchema } from "../../../src/reports/training/training-event-schema.ts";
import { trainingFrame } from "../../../src/reports/training/training-frame.ts";
import { initialTrainingState, updateTrainingState } from "../../../src/reports/training/training-state.ts";
import { replay, sampleRun } from "./sample-run.ts";

const trouble = (step: number, check: string, message: string): TrainingWarningEvent => ({
  type: "warning",
  step,
  message,
  check,
});
const hacking = trouble(7, "reward-hacking", "Likely reward hacking: <b>&");
const disk: TrainingWarningEvent = { type: "warning", step: 5, message: "The disk is full." };
const run = [
  ...sampleRun({ steps: 9 }),
  disk,
  trouble(3, "truncation", "30% is cut off"),
  trouble(6, "truncation", "40% is cut off"),
  hacking,
];

describe("the health of a run", () => {
  it("is in the report with each step, separate from other warnings", () => {
    const page = htmlReport(runRecord({ events: run }));
    const section = page.slice(page.indexOf("<h2>Health</h2>"), page.indexOf("<h2>Reward</h2>"));
    expect(section).toMatch(/step 3<\/td><th>truncation<\/th><td>30% is cut off/);
    expect(section).toMatch(/step 6<\/td><th>truncation<\/th><td>40% is cut off/);
    expect(section).toMatch(
      /step 7<\/td><th class="bad">reward-hacking<\/th><td>Likely reward hacking: &lt;b&gt;&amp;/,
    );
    expect(section).not.toContain("disk");
    const warnings = page.slice(page.indexOf("<h2>Warnings</h2>"));
    expect(warnings).toContain("The disk is full.");
    expect(warnings).not.toContain("cut off");
  });

  it("has no section if nothing was found", () => {
    expect(htmlReport(runRecord({ events: [...sampleRun({ steps: 9 }), disk] }))).not.toContain("<h2>Health</h2>");
  });

  it("is in the live view, the last warning of each check, next to the last other warning", () => {
    const state = run.reduce(updateTrainingState, initialTrainingState);
    const frame = trainingFrame(state, { width: 79, color: false, elapsedMs: 1, stopping: false });
    expect(frame).toContain("health, step 6: 40% is cut off");
    expect(frame).toContain("health, step 7: Likely reward hacking: <b>&");
    expect(frame).toContain("warning: The disk is full.");
    expect(frame.join("\n")).not.toContain("30% is cut off");
  });

  it("leaves the live view when it is over, and remains in the report and in metrics.jsonl", () => {
    const fall = (step: number, subject: string, message: string): TrainingWarningEvent => ({
      ...trouble(step, "component-fall", message),
      subject,
    });
    const over: TrainingWarningEvent = { ...trouble(8, "truncation", "truncation is over."), over: true };
    const other: TrainingWarningEvent = { ...fall(9, "reward/component/a", "a is back."), over: true };
    const events = [...run, fall(7, "reward/component/b", "b fell"), over, other];
    const state = events.reduce(updateTrainingState, initialTrainingState);
    const frame = trainingFrame(state, { width: 79, color: false, elapsedMs: 1, stopping: false }).join("\n");
    expect(frame).not.toContain("cut off");
    expect(frame).not.toContain("truncation");
    // The trouble that ended belongs to another component.
    expect(frame).toContain("health, step 7: b fell");
    expect(frame).toContain("Likely reward hacking");
    expect(htmlReport(runRecord({ events }))).toMatch(/step 8<\/td><th>truncation<\/th><td>truncation is over\./);
    expect(trainingEventSchema.parse(JSON.parse(JSON.stringify(other)))).toEqual(other);
  });

  it("is a separate line in a log", async () => {
    expect(plainLine(hacking)).toBe("health at step 7: Likely reward hacking: <b>&");
    const parts: string[] = [];
    await showTraining(replay(run), { stream: { write: (part) => parts.push(part) > 0 }, color: false });
    expect(parts.join("").match(/^health at step/gm)).toHaveLength(3);
  });

  it("is kept in metrics.jsonl, and files without it can be read", () => {
    expect(trainingEventSchema.parse(JSON.parse(JSON.stringify(hacking)))).toEqual(hacking);
    expect(trainingEventSchema.parse(disk)).toEqual(disk);
  });
});

describe("turns", () => {
  it("have their own charts in the report, with one line per turn", () => {
    const events = sampleRun({ steps: 9 }).map((event): TrainingEvent => {
      if (event.type !== "step") return event;
      const turns = { "rollout/turn-1/reward": 0.2, "rollout/turn-2/reward": 0.5, "rollout/turn-1/level": 2 };
      return { ...event, metrics: { ...event.metrics, ...turns } };
    });
    const page = htmlReport(runRecord({ events }));
    const chart = (title: string): string => page.slice(page.indexOf(title)).split("</figure>")[0]!;
    expect(chart("Reward by turn")).toMatch(/turn 1.*turn 2/s);
    expect(chart("Reward by turn")).not.toContain("turn 3");
    expect(chart("Level reached by turn")).toContain("turn 1");
    expect(htmlReport(runRecord({ events: sampleRun({ steps: 9 }) }))).not.toContain("by turn");
  });
});
