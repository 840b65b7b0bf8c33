import { describe, expect, it } from "vitest";
import { runRecord, showTraining } from "../../../reports/training/index.ts";
import { plainLine } from "../../../reports/training/plain-line.ts";
import { reportCharts } from "../../../reports/training/report-charts.ts";
import { trainingEventSchema } from "../../../reports/training/training-event-schema.ts";
import { trainingFrame } from "../../../reports/training/training-frame.ts";
import { initialTrainingState, updateTrainingState } from "../../../reports/training/training-state.ts";
import { groupWarnings } from "../../../reports/training/warning-group.ts";
import type { TrainingEvent, TrainingWarningEvent } from "../../../src/contract/training-event.ts";
import { reportOf } from "../viewer/report-view.ts";
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
  it("is in the report under the name of its check, with its steps", async () => {
    const { warnings } = (await reportOf(run)).view;
    expect(warnings).toEqual([
      { message: disk.message, count: 1, firstStep: 5, lastStep: 5 },
      { message: "40% is cut off", check: "truncation", count: 2, firstStep: 3, lastStep: 6 },
      { message: hacking.message, check: "reward-hacking", count: 1, firstStep: 7, lastStep: 7 },
    ]);
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
    expect(groupWarnings(runRecord({ events }).warnings)).toContainEqual(
      expect.objectContaining({ message: "truncation is over.", check: "truncation", lastStep: 8 }),
    );
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
    const lines = (title: string): string[] =>
      reportCharts(runRecord({ events }))
        .flatMap(({ charts }) => charts)
        .filter((chart) => chart.title === title)
        .flatMap(({ series }) => series.map(({ name }) => name));
    expect(lines("Reward by turn")).toEqual(["turn 1", "turn 2"]);
    expect(lines("Level reached by turn")).toEqual(["turn 1"]);
  });
});
