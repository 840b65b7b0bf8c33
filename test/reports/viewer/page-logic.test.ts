import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ChartSeries, LineChart } from "../../../reports/training/chart.ts";
import { differenceText, metricText } from "../../../reports/training/metric-text.ts";
import { promptNames } from "../../../reports/viewer/episode-text.ts";
import { chartValues } from "../../../reports/viewer/page/chart-values.ts";
import { messageSegments, tokensWithin } from "../../../reports/viewer/page/message-segments.ts";
import { overlaidCharts } from "../../../reports/viewer/page/overlaid-charts.ts";
import { matchesWords, nextOrder, runOrders } from "../../../reports/viewer/page/run-columns.ts";
import { smoothed } from "../../../reports/viewer/page/smoothed.ts";
import { sortRows } from "../../../reports/viewer/page/sort-rows.ts";
import type { RunSummary } from "../../../reports/viewer/view-source.ts";
import type { AgentEpisode } from "../../../src/contract/episode.ts";
import { settingDifferences } from "../../../src/core/text/setting-differences.ts";
import { timeline } from "../../../src/core/trace/timeline.ts";

describe("smoothed", () => {
  it("starts at the first value and follows the mean of earlier values", () => {
    expect(smoothed([1, 1, 1], 0.9)).toEqual([1, 1, 1].map((value) => expect.closeTo(value, 12)));
    const [, second, third] = smoothed([0, 1, 1], 0.5);
    expect(second).toBeCloseTo(2 / 3, 12);
    expect(third).toBeCloseTo(6 / 7, 12);
    expect(smoothed([3, -1, 4], 0)).toEqual([3, -1, 4]);
  });

  it("keeps gaps, and continues after them as if they did not exist", () => {
    const [first, gap, last] = smoothed([2, null, 4], 0.5);
    expect([first, gap]).toEqual([2, null]);
    expect(last).toBeCloseTo(smoothed([2, 4], 0.5)[1]!, 12);
    expect(smoothed([Number.NaN, 1], 0.5)).toEqual([null, 1]);
  });

  it("stays within the values", () => {
    const values = fc.array(fc.double({ min: -1e6, max: 1e6, noNaN: true }), { minLength: 1 });
    fc.assert(
      fc.property(values, fc.double({ min: 0, max: 0.99, noNaN: true }), (all, weight) => {
        const room = 1e-6 * (1 + Math.max(...all.map(Math.abs)));
        for (const value of smoothed(all, weight)) {
          expect(value).toBeGreaterThanOrEqual(Math.min(...all) - room);
          expect(value).toBeLessThanOrEqual(Math.max(...all) + room);
        }
      }),
    );
  });
});

describe("sortRows", () => {
  const rows = [{ v: 3 }, { v: undefined }, { v: 10 }, { v: 3, second: true }, { v: Number.NaN }];
  it("puts rows without a value last in both directions, and keeps equal ones in order", () => {
    const by = ({ v }: (typeof rows)[number]) => (Number.isNaN(v) ? undefined : v);
    const ascending = sortRows(rows, { by, descending: false });
    expect(ascending.map(({ v }) => v)).toEqual([3, 3, 10, undefined, Number.NaN]);
    expect(ascending[1]).toBe(rows[3]);
    expect(sortRows(rows, { by, descending: true }).map(({ v }) => v)).toEqual([10, 3, 3, undefined, Number.NaN]);
  });

  it("sorts names with numbers numerically", () => {
    const names = ["run-10", "run-9", "a"];
    expect(sortRows(names, { by: (name) => name, descending: false })).toEqual(["a", "run-9", "run-10"]);
  });
});

describe("the list of runs", () => {
  const run = (changes: Partial<RunSummary>): RunSummary => ({
    ...{ path: "a", kind: "training", name: "grpo", environment: "math", model: "small", status: "completed" },
    ...{ startedAt: "2026-01-01", done: 5, total: 10, scores: {} },
    ...changes,
  });

  it("is sorted by any column, the best first on the first click", () => {
    const runs = [
      run({ path: "x", scores: { reward: 0.2 } }),
      run({ path: "y" }),
      run({ path: "z", scores: { reward: 0.9 } }),
    ];
    const order = nextOrder({ sort: "started", descending: true }, "reward");
    expect(order).toEqual({ sort: "reward", descending: true });
    const sorted = sortRows(runs, { by: runOrders.reward!.by, descending: order.descending });
    expect(sorted.map(({ path }) => path)).toEqual(["z", "x", "y"]);
    expect(nextOrder(order, "reward")).toEqual({ sort: "reward", descending: false });
    expect(nextOrder(order, "model")).toEqual({ sort: "model", descending: false });
  });

  it("is searched for words in any order, also in status and kind", () => {
    const failed = run({ status: "failed" });
    expect(matchesWords(failed, "MATH failed")).toBe(true);
    expect(matchesWords(failed, "training grpo")).toBe(true);
    expect(matchesWords(failed, "math completed")).toBe(false);
    expect(matchesWords(failed, "")).toBe(true);
  });
});

describe("differences", () => {
  it("of shares are points, of rewards in the environment's unit", () => {
    expect(differenceText("accuracy", 0.5)).toBe("+50.0 points");
    expect(differenceText("pass@1", -0.034)).toBe("−3.4 points");
    expect(differenceText("reward", -1.5)).toBe("−1.5");
    expect(differenceText("accuracy", 0)).toBe("0.0 points");
    expect(metricText("accuracy", 0.5)).toBe("50.0%");
  });

  it("of configs are found at every depth", () => {
    const configs = [
      { seed: 1, model: { path: "a", lora: { rank: 8 } }, tasks: [1, 2] },
      { seed: 2, model: { path: "a", lora: { rank: 16 } }, tasks: [1, 2] },
      undefined,
    ];
    expect(settingDifferences(configs.slice(0, 2))).toEqual([
      { setting: "seed", values: [1, 2] },
      { setting: "model.lora.rank", values: [8, 16] },
    ]);
    expect(settingDifferences(configs)).toContainEqual({ setting: "tasks", values: [[1, 2], [1, 2], undefined] });
    expect(settingDifferences([])).toEqual([]);
  });
});

describe("messageSegments", () => {
  const call = '<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>';

  it("separates calls and results in tags", () => {
    expect(messageSegments(`I add.\n${call}\ndone`, "assistant")).toMatchObject([
      { kind: "text", text: "I add.\n" },
      { kind: "call", name: "add", arguments: { a: 1 } },
      { kind: "text", text: "\ndone" },
    ]);
    expect(messageSegments('<tool_response name="add">\n<b>2</b>\n</tool_response>', "user")).toMatchObject([
      { kind: "result", name: "add", text: "<b>2</b>" },
    ]);
    expect(messageSegments('<tool_call>{"name":"f","arguments":"{\\"x\\":2}"}</tool_call>', "assistant")).toMatchObject(
      [{ kind: "call", arguments: { x: 2 } }],
    );
  });

  it("treats calls in prompts as examples", () => {
    expect(messageSegments(`Call so: ${call}`, "user")).toMatchObject([{ kind: "text", text: `Call so: ${call}` }]);
    const quoted = "<tool_response>2</tool_response>";
    expect(messageSegments(quoted, "assistant")).toMatchObject([{ kind: "text", text: quoted }]);
  });

  it.each([
    ["not JSON", "<tool_call>add(1)</tool_call>"],
    ["an array", "<tool_call>[1]</tool_call>"],
    ["cut off", '<tool_call>{"name": "add", "argu'],
    ["without a name", '<tool_call>{"arguments": {}}</tool_call>'],
  ])("keeps the text of a call that is %s", (_, text) => {
    const [segment, ...others] = messageSegments(text, "assistant");
    expect(others).toEqual([]);
    expect(segment).toMatchObject({ kind: "call", from: 0, to: text.length });
    expect(segment).not.toHaveProperty("arguments");
    expect(segment!.text.length).toBeGreaterThan(0);
  });

  it("loses only tags and blank text, and assigns every token to one place", () => {
    const pieces = fc.constantFrom(
      call,
      "<tool_call>",
      "</tool_call>",
      "<tool_response>",
      "</tool_response>",
      "x",
      " ",
      "\n",
      "é🙂",
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 12 }), fc.constantFrom("assistant", "user"), (parts, role) => {
        const text = parts.join("");
        const segments = messageSegments(text, role);
        let end = 0;
        for (const { from, to } of segments) {
          expect(text.slice(end, from).trim()).toBe("");
          expect(to).toBeGreaterThan(from);
          end = to;
        }
        expect(text.slice(end).trim()).toBe("");
        const tokens = parts.map((part) => ({ text: part }));
        const placed = segments.flatMap((segment) => tokensWithin(tokens, segment));
        expect(placed.length).toBeLessThanOrEqual(tokens.length);
        const shown = tokens.filter(({ text: own }) => own.trim() !== "").length;
        expect(placed.filter(({ text: own }) => own.trim() !== "")).toHaveLength(shown);
      }),
    );
  });
});

describe("timeline", () => {
  const said = (role: "user" | "assistant", text: string) => ({ role, content: [{ type: "text" as const, text }] });
  const agent = (nodes: [turn: number, role: "user" | "assistant", text: string][]): AgentEpisode => ({
    nodes: nodes.map(([turn, role, text], id) => ({
      id,
      parent: id === 0 ? null : id - 1,
      turn,
      message: said(role, text),
    })),
    turns: nodes.flatMap(([turn, role], node) =>
      role === "assistant" ? [{ turn, node, finish: "stop" as const }] : [],
    ),
    reward: { status: "scored", value: 0, components: {} },
    terminated: true,
    truncated: false,
  });
  const textsOf = (entries: ReturnType<typeof timeline>) =>
    entries.map(({ agent, readers, node: { message }, turn }) => {
      const [part] = message.content;
      return `${turn === undefined ? `to ${readers.join("+")}` : agent}: ${part!.type === "text" ? part!.text : ""}`;
    });

  it("has the messages of all agents by turn, prompts before completions", () => {
    const x = agent([
      [0, "user", "begin"],
      [0, "assistant", "5"],
      [2, "user", "o took 1"],
      [2, "assistant", "9"],
    ]);
    const o = agent([
      [1, "user", "x took 5"],
      [1, "assistant", "1"],
      [3, "user", "you lost"],
    ]);
    expect(textsOf(timeline({ x, o }))).toEqual([
      ...["to x: begin", "x: 5", "to o: x took 5", "o: 1", "to x: o took 1", "x: 9", "to o: you lost"],
    ]);
  });

  it("shows once what several agents read in the same turn, and twice what two agents wrote", () => {
    const a = agent([
      [0, "user", "all: begin"],
      [0, "assistant", "hi"],
      [1, "user", "only a"],
      [1, "assistant", "bye"],
    ]);
    const b = agent([
      [0, "user", "all: begin"],
      [0, "assistant", "hi"],
    ]);
    expect(textsOf(timeline({ a, b }))).toEqual(["to a+b: all: begin", "a: hi", "b: hi", "to a: only a", "a: bye"]);
    expect(timeline({})).toEqual([]);
  });
});

describe("promptNames", () => {
  it("omit the common beginning of all prompts if it is long", () => {
    const instruction = "Answer the question, with these tools where they help:";
    expect(promptNames([`${instruction} 1 + 1?`, `${instruction} 10 - 2?`, `${instruction} 1 + 1?`])).toEqual([
      "… 1 + 1?",
      "… 10 - 2?",
      "… 1 + 1?",
    ]);
    expect(promptNames(["12+34=", "12+35="])).toEqual(["12+34=", "12+35="]);
    expect(promptNames([`${instruction} 1?`])).toEqual([`${instruction} 1?`]);
    expect(promptNames(["", `${instruction} a`, `${instruction} b`])).toEqual(["", "… a", "… b"]);
    expect(promptNames([])).toEqual([]);
    expect(promptNames(["x".repeat(9_000)])[0]).toHaveLength(200);
  });
});

const series = (name: string, ys: number[], changes: Partial<ChartSeries> = {}): ChartSeries => ({
  ...{ name, metric: name, xs: ys.map((_, place) => place + 1), ys },
  ...changes,
});

describe("chartValues", () => {
  const chart: LineChart = {
    title: "Reward",
    series: [series("mean", [0.1, 0.9]), series("late", [5], { xs: [2] })],
    bounds: { least: 0, most: 1 },
    steps: [1, 2],
  };

  it("has every line at all steps", () => {
    const { steps, lines } = chartValues(chart, { smoothing: 0, isLog: false });
    expect(steps).toEqual([1, 2]);
    expect(lines.map(({ values }) => values)).toEqual([
      [0.1, 0.9],
      [null, 5],
    ]);
  });

  it("draws a smoothed line with the recorded one, and dots stay", () => {
    const dots = { ...chart, series: [...chart.series, series("held out", [1, 2], { dots: true })] };
    const { lines } = chartValues(dots, { smoothing: 0.5, isLog: false });
    expect(lines.map(({ kind, series }) => `${series} ${kind}`)).toEqual([
      "0 raw",
      "0 value",
      "1 raw",
      "1 value",
      "2 value",
    ]);
    expect(lines[0]!.values).toEqual([0.1, 0.9]);
    expect(lines[4]!.values).toEqual([1, 2]);
  });

  it("has gaps for values that a log scale cannot show", () => {
    const zero = { ...chart, series: [series("kl", [0, 1e-3])] };
    expect(chartValues(zero, { smoothing: 0, isLog: true }).lines[0]!.values).toEqual([null, 1e-3]);
  });
});

describe("overlaidCharts", () => {
  const sectionsOf = (title: string, lines: ChartSeries[], last: number) => [
    { title: "Reward", charts: [{ title, series: lines, steps: [1, last] as const }] },
  ];

  it("has one chart per metric with one line per run, in the run's colour", () => {
    const runs = [
      { name: "a", sections: sectionsOf("Length", [series("mean", [1]), series("max", [9])], 10) },
      { name: "b", sections: sectionsOf("Length: max", [series("max", [8])], 20) },
      { name: "c", sections: [] },
    ];
    const [section, ...others] = overlaidCharts(runs);
    expect(others).toEqual([]);
    expect(section!.charts.map(({ title }) => title)).toEqual(["Length: mean", "Length: max"]);
    const [mean, max] = section!.charts;
    expect(mean).toMatchObject({ runs: [0], series: [{ name: "a" }] });
    expect(max).toMatchObject({
      runs: [0, 1],
      series: [
        { name: "a", ys: [9] },
        { name: "b", ys: [8] },
      ],
      steps: [1, 20],
    });
  });
});
