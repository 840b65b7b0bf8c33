import { expect, it } from "vitest";
import { filterRows, parseFilter, rewardOf } from "../../../reports/viewer/episode-filter.ts";
import type { EpisodeRow } from "../../../reports/viewer/episode-row.ts";

function row(id: string, parts: Partial<EpisodeRow>): EpisodeRow {
  const task = { index: 0, id: "0" };
  const played = { outcome: "scored", status: "completed", turns: 1, tokens: null, durationMs: 1 } as const;
  return { id, task, sampleIndex: 0, reward: 0, ...played, ...parts };
}

const ids = (rows: readonly EpisodeRow[]): string => rows.map(({ id }) => id).join(" ");

it("an agent's filter selects by that agent's actions and rewards", () => {
  const rows = [
    row("both", { reward: 0.5, rewards: { first: 1, second: 0 } }),
    row("one", { reward: 0.25, rewards: { second: 0.25 } }),
    row("unscored", { reward: null, rewards: { first: null, second: 0.75 } }),
  ];
  expect(ids(filterRows(rows, { agent: "first" }))).toBe("both unscored");
  expect(ids(filterRows(rows, { agent: "second", order: "best" }))).toBe("unscored one both");
  expect(ids(filterRows(rows, { agent: "second", min: 0.2 }))).toBe("one unscored");
  expect(ids(filterRows(rows, { min: 0.2 }))).toBe("both one");
  expect(ids(filterRows(rows, { agent: "toString" }))).toBe("");
  expect(rewardOf(rows[2]!, "first")).toBeNull();
  // Episodes of a single agent do not name it.
  expect(ids(filterRows([row("alone", {})], { agent: "agent" }))).toBe("alone");
});

it("steps are a number or a range, and anything else selects all", () => {
  const rows = [undefined, 1, 2, 3, 30].map((step) => row(String(step), { step }));
  const through = (step: string): string => ids(filterRows(rows, parseFilter(new URLSearchParams({ step }))));
  expect(through("2")).toBe("2");
  expect(through(" 2 - 3 ")).toBe("2 3");
  expect(through("3-")).toBe("3 30");
  expect(through("-2")).toBe("1 2");
  expect(through("9-1")).toBe("");
  for (const text of ["", "-", "two", "1.5", "1-2-3"]) expect(through(text), text).toBe("undefined 1 2 3 30");
});
