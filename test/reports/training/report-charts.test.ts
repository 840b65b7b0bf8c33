import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { reportCharts } from "../../../reports/training/report-charts.ts";
import { runRecord } from "../../../reports/training/run-record.ts";
import { scaleGroups } from "../../../reports/training/scale-groups.ts";
import { usesLogScale, valueRange } from "../../../reports/viewer/page/value-range.ts";
import { runTiles } from "../../../reports/viewer/run-tiles.ts";
import type { TrainingEvent } from "../../../src/contract/training-event.ts";

const start = (changes: object = {}): TrainingEvent => ({
  ...{ type: "run-start", algorithm: "grpo", environment: "math", seed: 1, steps: 3, resumedFrom: 0 },
  model: { name: "small", trainableParameters: 1, device: "cpu" },
  ...changes,
});
const step = (number: number, metrics: Record<string, number>): TrainingEvent => ({
  ...{ type: "step", step: number, steps: 3, metrics, elapsedMs: 1_000 * number, etaMs: 0 },
});
const evaluation = (number: number, metrics: Record<string, number>, split = "test"): TrainingEvent => ({
  ...{ type: "evaluation", step: number, split, metrics },
});
const sectionsOf = (...events: TrainingEvent[]) => reportCharts(runRecord({ events }));
const titlesOf = (...events: TrainingEvent[]) =>
  Object.fromEntries(sectionsOf(...events).map(({ title, charts }) => [title, charts.map((chart) => chart.title)]));

describe("reportCharts", () => {
  it("puts rewards, their components and evaluations first, and unknown metrics last", () => {
    const metrics = {
      ...{ "reward/mean": 0.5, "reward/std": 0.1, "reward/component/format": 0.1, "reward/component/answer": 0.4 },
      ...{
        "loss/total": 1,
        "kl/reference": 0.01,
        "length/completion-mean": 50,
        "length/cut-off": 0.2,
        "new/metric": 3,
      },
      ...{ "tokens/sampled-per-second": 100, "groups/without-signal": 0.5, "optimizer/gradient-norm": 2 },
    };
    const events = [
      step(1, metrics),
      evaluation(1, { "reward/mean": 0.3, accuracy: 0.3, "reward/component/format": 0.1 }),
    ];
    const titles = titlesOf(start(), ...events);
    expect(Object.keys(titles)).toEqual([
      ...["Reward", "Evaluation", "Completions", "Policy update", "Sampling", "Speed", "All other metrics"],
    ]);
    expect(titles.Reward).toEqual(["Reward", "Spread of rewards", "Reward components"]);
    expect(titles.Evaluation).toEqual(["Evaluation reward", "Evaluation accuracy", "Evaluation reward components"]);
    expect(titles["Policy update"]).toEqual(["KL divergence", "Loss", "Gradient norm"]);
    expect(titles["All other metrics"]).toEqual(["new/metric"]);
  });

  it("names groups of tasks", () => {
    const metrics = { "reward/mean": 0.5, "reward/group/1": 0.2, "reward/group/2": 0.8 };
    const sections = sectionsOf(start(), step(1, metrics), evaluation(1, { ...metrics, "accuracy/group/1": 0.2 }));
    const charts = sections.flatMap((section) => section.charts.map(({ title, series }) => [title, series]));
    const names = (title: string) => (Object.fromEntries(charts)[title] as { name: string }[]).map(({ name }) => name);
    expect(names("Reward of each group of tasks")).toEqual(["group 1", "group 2"]);
    expect(names("Evaluation reward of each group of tasks")).toEqual(["group 1", "group 2"]);
    expect(names("Evaluation accuracy of each group of tasks")).toEqual(["group 1"]);
    expect(Object.keys(Object.fromEntries(charts))).not.toContain("Reward of each environment");
  });

  it("keeps the names of parts, and draws many groups in several charts", () => {
    const groups = Array.from({ length: 9 }, (_, i) => [`reward/group/turn-${i}`, i]);
    const parts = { "reward/component/group/1": 0, "reward/component/turn-taking": 1, "agents/group-theory/reward": 1 };
    const sections = sectionsOf(
      start(),
      step(1, { "reward/mean": 0.5 }),
      step(2, { ...parts, ...Object.fromEntries(groups) }),
    );
    const lines = sections.flatMap((section) => section.charts.map(({ series }) => series.map(({ name }) => name)));
    const names = groups.map(([metric]) => `group ${String(metric).slice("reward/group/".length)}`);
    expect(lines).toEqual([
      ["reward"],
      ["group/1", "turn-taking"],
      names.slice(0, 6),
      names.slice(6),
      ["group-theory"],
    ]);
  });

  it("draws every metric once, whatever its name", () => {
    const name = fc.constantFrom(
      ...[
        "reward/mean",
        "reward/std",
        "reward/x",
        "reward/component/a",
        "agents/x/reward",
        "agents/x/loss/total",
        "accuracy",
      ],
      ...[
        "loss/total",
        "kl/reference",
        "rollout/turn-3/reward",
        "rollout/turn-3/odd",
        "time/rollout-ms",
        "",
        "/",
        "a/b/c",
      ],
    );
    const metrics = fc.dictionary(name, fc.oneof(fc.double(), fc.constantFrom(0, 1, 1e9)), { minKeys: 1 });
    fc.assert(
      fc.property(metrics, metrics, (own, heldOut) => {
        const drawn = sectionsOf(step(1, own), evaluation(1, heldOut)).flatMap(({ charts }) =>
          charts.flatMap((chart) => chart.series.map(({ metric }) => metric)),
        );
        const known = [...Object.keys(own), ...Object.keys(heldOut).map((key) => `evaluation/${key} of test`)];
        expect([...drawn].sort()).toEqual([...known].sort());
      }),
    );
  });

  it("does not mix scales: a line that would be flat has its own chart", () => {
    const { Reward: titles } = titlesOf(
      step(1, { "reward/component/a": 0.9, "reward/component/b": 0.8, "reward/component/c": 0.01 }),
    );
    expect(titles).toEqual(["Reward components", "Reward components: c"]);
  });

  it("omits a single reward component, and the turns of single-turn tasks", () => {
    const same = { "reward/mean": 0.5, "reward/component/answer": 0.5, "turns/mean": 1 };
    const titles = titlesOf(step(1, same), step(2, same));
    expect(titles.Reward).toEqual(["Reward"]);
    expect(titles).not.toHaveProperty("Completions");
    expect(titlesOf(step(1, same), step(2, { ...same, "reward/component/answer": 0.6 })).Reward).toContain(
      "Reward components",
    );
  });

  it("keeps reward axes within the environment's range, and names agents", () => {
    const agents = { x: { policy: "a" }, o: { policy: "b" } };
    const metrics = {
      "reward/mean": 0,
      "agents/x/reward": 0.5,
      "agents/o/reward": -0.5,
      "agents/x/loss/total": 1,
      "loss/total": 1,
    };
    const sections = sectionsOf(start({ rewardRange: [-1, 1], agents }), step(1, metrics));
    const [reward, byAgent] = sections[0]!.charts;
    expect(reward!.bounds).toEqual({ least: -1, most: 1 });
    expect(byAgent).toMatchObject({ title: "Reward of each agent", bounds: { least: -1, most: 1 } });
    expect(byAgent!.series.map(({ name }) => name)).toEqual(["o", "x"]);
    expect(sections[1]!.charts[0]!.series.map(({ name }) => name)).toEqual(["x", "mean"]);
    const [open] = sectionsOf(start({ rewardRange: [0, Number.POSITIVE_INFINITY] }), step(1, metrics))[0]!.charts;
    expect(open!.bounds).toEqual({ least: 0 });
    const [unknown] = sectionsOf(start(), step(1, metrics))[0]!.charts;
    expect(unknown).not.toHaveProperty("bounds");
  });

  it("names the splits of evaluations if there are several", () => {
    const [section] = sectionsOf(evaluation(1, { accuracy: 0.5 }), evaluation(1, { accuracy: 0.4 }, "train"));
    expect(section!.charts[0]!.series.map(({ name }) => name)).toEqual(["test", "train"]);
  });
});

describe("scaleGroups", () => {
  it("keeps lines whose sizes are within a factor of ten together, with zeros anywhere, and at most six lines", () => {
    const line = (size: number) => ({ ys: [0, -size, Number.NaN] });
    const sizesOf = (...sizes: number[]) => scaleGroups(sizes.map(line)).map((group) => group.map(({ ys }) => -ys[1]!));
    expect(sizesOf(1, 9, 11, 0, 0.5)).toEqual(
      [[1, 9, 0], [11], [0.5]].map((group) => group.map((size) => expect.closeTo(size))),
    );
    expect(sizesOf(1, 2, 3, 4, 5, 6, 7).map(({ length }) => length)).toEqual([6, 1]);
    expect(scaleGroups([])).toEqual([]);
  });
});

describe("valueRange", () => {
  it("fits the values, shows 0 if that takes little space, and stays within the bounds", () => {
    const bounds = { least: 0, most: 1 };
    expect(valueRange({ low: 0.1, high: 0.6, bounds })[0]).toBe(0);
    const [low, high] = valueRange({ low: 0.9, high: 1, bounds });
    expect(low).toBeGreaterThan(0.8);
    expect(high).toBe(1);
    expect(valueRange({ low: -3, high: -1 })[1]).toBe(0);
    expect(valueRange({ low: 0, high: 0, bounds })).toEqual([0, expect.closeTo(0.0275, 3)]);
    // A reward outside its range is visible.
    expect(valueRange({ low: 0, high: 2, bounds })[1]).toBeGreaterThanOrEqual(2);
    expect(
      valueRange({ low: Number.POSITIVE_INFINITY, high: Number.NEGATIVE_INFINITY, bounds: { least: -1 } }),
    ).toEqual([-1, 1]);
  });

  it("contains the values and is never empty", () => {
    const value = fc.double({ min: -1e12, max: 1e12, noNaN: true });
    const bound = fc.option(value, { nil: undefined });
    fc.assert(
      fc.property(value, value, bound, bound, (one, other, least, most) => {
        const [from, to] = valueRange({
          low: Math.min(one, other),
          high: Math.max(one, other),
          bounds: { least, most },
        });
        expect(from).toBeLessThanOrEqual(Math.min(one, other));
        expect(to).toBeGreaterThanOrEqual(Math.max(one, other));
        if (least === undefined || most === undefined) expect(to).toBeGreaterThan(from);
      }),
    );
  });
});

describe("a log scale", () => {
  const chart = (ys: number[]) => ({
    title: "",
    series: [{ name: "", metric: "", xs: [], ys }],
    steps: [0, 1] as const,
  });
  it("is for values over several powers of ten, not for one outlier, and not for signed values", () => {
    const falling = Array.from({ length: 40 }, (_, place) => 10 ** (-place / 8));
    expect(usesLogScale(chart(falling))).toBe(true);
    expect(usesLogScale(chart([1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 5_000]))).toBe(false);
    expect(usesLogScale(chart([...falling, -1]))).toBe(false);
    expect(usesLogScale({ ...chart(falling), share: true })).toBe(false);
    expect(usesLogScale(chart([Number.NaN, 1]))).toBe(false);
  });
});

describe("runTiles", () => {
  it("begin with the held-out reward, and show its first value", () => {
    const events = [
      evaluation(0, { "reward/mean": 0.1, accuracy: 0.1 }),
      step(1, { "reward/mean": 0.2 }),
      evaluation(3, { "reward/mean": 0.7, accuracy: 0.6 }),
    ];
    const tiles = runTiles(runRecord({ events: [start(), ...events] }));
    expect(tiles.slice(0, 3)).toEqual([
      { label: "Reward, test", value: "0.7", note: "from 0.1 at step 0" },
      { label: "Accuracy, test", value: "60.0%", note: "from 10.0% at step 0" },
      { label: "Training reward", value: "0.2", note: "" },
    ]);
  });
});
