import { describe, expect, it } from "vitest";
import { watchHealth } from "../../../reports/health/index.ts";
import type { RunStartEvent, TrainingEvent } from "../../../src/contract/training-event.ts";
import { replay } from "../training/sample-run.ts";
import { steps } from "./runs.ts";

const start = (resumedFrom = 0): RunStartEvent => ({
  type: "run-start",
  algorithm: "grpo",
  environment: "math",
  model: { name: "m", trainableParameters: 1, device: "cpu" },
  seed: 0,
  steps: 100,
  resumedFrom,
});
const cutOff = steps(40, () => ({ "length/cut-off": 0.5 }));

async function watched(events: readonly TrainingEvent[], options: Parameters<typeof watchHealth>[1] = {}) {
  const all: TrainingEvent[] = [];
  for await (const event of watchHealth(replay(events), options)) all.push(event);
  return all;
}

describe("watchHealth", () => {
  it("passes every event through, and adds each warning directly after its event", async () => {
    const events = [start(), ...cutOff];
    const all = await watched(events);
    expect(all.filter(({ type }) => type !== "warning")).toEqual(events);
    const place = all.findIndex(({ type }) => type === "warning");
    expect(all[place]).toMatchObject({ step: 10, check: "truncation" });
    expect(all[place - 1]).toMatchObject({ type: "step", step: 10 });
  });

  it("is silent if it is turned off, and rejects invalid settings", async () => {
    const events = [start(), ...cutOff];
    expect(await watched(events, { settings: { enabled: false } })).toEqual(events);
    await expect(watched(events, { settings: { window: 1 } })).rejects.toThrow();
  });

  it("remembers the warnings of a resumed run, up to the step of the resumption", async () => {
    const past = cutOff.slice(0, 20);
    const rest = [start(15), ...cutOff.slice(15)];
    expect((await watched(rest, { history: async () => past })).filter(({ type }) => type === "warning")).toEqual([]);
    const fewer = [start(5), ...cutOff.slice(5)];
    const found = (await watched(fewer, { history: async () => past })).filter(({ type }) => type === "warning");
    expect(found).toMatchObject([{ step: 10 }]);
    const lost = await watched(rest, { history: () => Promise.reject(new Error("gone")) });
    expect(lost.filter(({ type }) => type === "warning")).toMatchObject([{ step: 25 }]);
  });
});
