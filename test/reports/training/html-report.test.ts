import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chartScale } from "../../../src/reports/training/chart-scale.ts";
import { downsample } from "../../../src/reports/training/downsample.ts";
import { htmlReport, runRecord, type TrainingEvent } from "../../../src/reports/training/index.ts";
import { sampleRun } from "./sample-run.ts";

const report = (events: readonly TrainingEvent[], config?: string): string =>
  htmlReport({ ...runRecord({ events }), ...(config === undefined ? {} : { config: { note: config } }) });

/** Returns tag names in order, and every attribute, like a browser's tokenizer (skips the text of script and style). */
function tokens(page: string): { tags: string[]; attributes: string[]; text: string } {
  const tags: string[] = [];
  const attributes: string[] = [];
  let text = "";
  let rest = page;
  while (rest !== "") {
    const open = rest.indexOf("<");
    if (open < 0) break;
    text += rest.slice(0, open);
    const tag = /^<(!?\/?[a-z0-9]+)((?:\s+[a-zA-Z0-9:-]+(?:="[^"<>]*")?)*)\s*\/?>/.exec(rest.slice(open));
    if (tag === null) throw new Error(`not a tag of ours: ${rest.slice(open, open + 80)}`);
    tags.push(tag[1]!);
    attributes.push(...(tag[2]!.replace(/"[^"]*"/g, '""').match(/[a-zA-Z0-9:-]+(?==)/g) ?? []));
    rest = rest.slice(open + tag[0].length);
    if (tag[1] === "script" || tag[1] === "style") {
      const end = rest.indexOf(`</${tag[1]}`);
      expect(rest.slice(0, end)).not.toMatch(/<!--|<script/);
      rest = rest.slice(end);
    }
  }
  return { tags, attributes, text };
}

describe("htmlReport", () => {
  it("is one self-contained page with the run's facts", () => {
    const page = report(sampleRun({ steps: 60 }), "hello");
    const { tags, text } = tokens(page);
    expect(text).toContain("grpo on math");
    expect(text).toContain("Policy update");
    expect(text).toContain("note: hello");
    expect(page).toMatch(
      /http-equiv="Content-Security-Policy" content="default-src &#39;none&#39;|content="default-src 'none'/,
    );
    expect(page).not.toMatch(/https?:|src=|href=(?!"data:,")|@import|url\(/);
    expect(tags.filter((tag) => tag === "figure")).toHaveLength(13 + 4);
    expect(tags.filter((tag) => tag === "article")).toHaveLength(12);
    const opened = tags.filter((tag) => !tag.startsWith("/"));
    for (const name of ["div", "figure", "svg", "table", "tr", "td", "details", "article", "pre", "main", "ul", "li"]) {
      expect(
        opened.filter((tag) => tag === name),
        name,
      ).toHaveLength(tags.filter((tag) => tag === `/${name}`).length);
    }
  });

  it("has the result of the probe before the first step", () => {
    const probe = everywhere("x").filter(({ type }) => type === "probe");
    const { text } = tokens(report([...sampleRun({ steps: 1 }), ...probe]));
    expect(text).toContain("Before the first step");
    expect(text).toContain("0 of 2 groups have a signal, reward 1 ±1");
    expect(text).toContain("Try x");
    expect(tokens(report(sampleRun({ steps: 1 }))).text).not.toContain("Before the first step");
  });

  it("shows warnings that differ only in numbers once, with their number and steps", () => {
    const warn = (step: number, message: string): TrainingEvent => ({ type: "warning", step, message });
    const { text } = tokens(
      report([
        warn(2, "3 of 64 episodes are unscored"),
        warn(3, "no signal"),
        warn(1500, "7 of 64 episodes are unscored"),
        warn(1600, "12 of 64 episodes are unscored"),
      ]),
    );
    expect(text).toContain("3 times from step 2 to 1,600, the last: 12 of 64 episodes are unscored");
    expect(text).toContain("step 3: no signal");
    expect(text.match(/unscored/g)).toHaveLength(1);
  });

  it("draws a curve through the given values", () => {
    const events: TrainingEvent[] = [1, 2, 3].map((step) => ({
      type: "step",
      step,
      steps: 3,
      metrics: { "loss/total": 3 - step },
      elapsedMs: 1,
      etaMs: 1,
    }));
    const line = /class="line s0" d="M([^"]+)"/.exec(report(events))![1]!;
    const points = line.split("L").map((point) => point.split(" ").map(Number) as [number, number]);
    // Loss 2, 1, 0 over steps 1, 2, 3: a straight line down (SVG's y grows downwards) from edge to edge.
    expect(points[1]![0] - points[0]![0]).toBeCloseTo(points[2]![0] - points[1]![0], 1);
    expect(points[1]![1] - points[0]![1]).toBeCloseTo(points[2]![1] - points[1]![1], 1);
    // The axis begins at 0 and leaves a little room above.
    expect(points[0]).toEqual([58, expect.closeTo(18, 0)]);
    expect(points[2]).toEqual([374, 178]);
  });

  it("works for no event, one step, no metrics, only evaluations, and values that are not finite", () => {
    const step = (metrics: Record<string, number>, number = 1): TrainingEvent => ({
      type: "step",
      step: number,
      steps: 5,
      metrics,
      elapsedMs: 1,
      etaMs: 1,
    });
    const runs: TrainingEvent[][] = [
      [],
      [step({})],
      [step({ "loss/total": 5 })],
      [step({ "loss/total": Number.NaN })],
      [step({ "loss/total": 1 }), step({ "loss/total": Infinity }, 2), step({ "loss/total": 2 }, 3)],
      [step({ "loss/total": 1e308 }), step({ "loss/total": -1e308 }, 2)],
      [step({ "reward/mean": 1, "reward/std": Number.NaN }), step({ "reward/mean": 1, "reward/std": 2 }, 2)],
      [{ type: "evaluation", step: 0, split: "test", metrics: {} }],
      [{ type: "evaluation", step: 0, split: "test", metrics: { accuracy: 0.5 } }],
      [
        {
          type: "run-end",
          reason: "failed",
          step: 0,
          elapsedMs: 0,
          error: { name: "E", code: "internal", message: "m" },
        },
      ],
    ];
    for (const events of runs) {
      const page = report(events);
      tokens(page);
      expect(page.replace(/<script[\s\S]*?<\/script>/g, "")).not.toMatch(/="[^"]*(NaN|Infinity|undefined)[^"]*"/);
    }
    expect(report(runs[4]!)).toContain("1 not finite (×)");
  });

  it("keeps every extreme of ten thousand steps and stays small", () => {
    const events = sampleRun({ steps: 10_000 }).map(
      (event): TrainingEvent =>
        event.type === "step" && event.step === 7777
          ? { ...event, metrics: { ...event.metrics, "optimizer/gradient-norm": 1000 } }
          : event,
    );
    const page = report(events);
    expect(page.length).toBeLessThan(600_000);
    // The spike of one step sets the axis, and the range reaches it.
    const figure = page.split("<figure").find((part) => part.includes("Gradient norm"))!;
    expect(figure).toContain(">1,000</text>");
    const range = /class="range s0" d="M([^Z]+)Z"/.exec(figure)![1]!;
    expect(Math.min(...range.split("L").map((point) => Number(point.split(" ")[1])))).toBeCloseTo(18, 0);
  });

  it("never lets text of a run become markup, at any place", () => {
    const clean = tokens(report(everywhere("x"), "x"));
    const attack = fc.oneof(
      fc.constantFrom(
        "</pre><script>alert(1)</script>",
        "</script><script>alert(1)</script>",
        '"><img src=x onerror=alert(1)>',
        "' onmouseover='alert(1)",
        "<!--",
        "]]>",
        "</style>",
        "\u2028</title>",
        "{{alert(1)}}",
        "&lt;script&gt;",
        "<svg/onload=alert(1)>",
      ),
      fc.string({ unit: "binary" }),
      fc
        .array(fc.constantFrom("<", ">", '"', "'", "&", "/", "script", "!--", "\u0000", "\u202E", " ", "="), {
          maxLength: 12,
        })
        .map((parts) => parts.join("")),
    );
    fc.assert(
      fc.property(attack, (text) => {
        const page = report(everywhere(text), text);
        const found = tokens(page);
        expect(new Set(found.tags)).toEqual(new Set(clean.tags));
        expect(new Set(found.attributes)).toEqual(new Set(clean.attributes));
        // biome-ignore lint/suspicious/noControlCharactersInRegex: none may stand in the page
        expect(page).not.toMatch(/[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u202E]/);
        expect(page.isWellFormed()).toBe(true);
      }),
      { numRuns: 150 },
    );
  });
});

/** Returns a run with the text in every place that can contain text. */
function everywhere(text: string): TrainingEvent[] {
  const metrics = { [text]: 1, [`${text}/a`]: 2, "reward/mean": 1, "reward/std": 1, accuracy: 1 };
  return [
    {
      type: "run-start",
      algorithm: text,
      environment: text,
      model: { name: text, trainableParameters: 1, device: text },
      seed: 1,
      steps: 2,
      resumedFrom: 0,
    },
    {
      ...{ type: "probe", step: 0, groups: 2, withSignal: 0, comparison: "group", metrics, elapsedMs: 1 },
      ...{ samples: [{ prompt: text, completion: text, reward: 0 }], advice: [text] },
    },
    { type: "step", step: 1, steps: 2, metrics, elapsedMs: 1, etaMs: 1 },
    { type: "step", step: 2, steps: 2, metrics, elapsedMs: 2, etaMs: 0 },
    { type: "evaluation", step: 2, split: text, metrics },
    { type: "evaluation", step: 2, split: `${text}2`, metrics },
    { type: "sample", step: 2, prompt: text, completion: text, reward: 1 },
    { type: "warning", step: 2, message: text },
    { type: "checkpoint", step: 2, path: text },
    {
      type: "run-end",
      reason: "failed",
      step: 2,
      elapsedMs: 3,
      checkpoint: text,
      error: { name: text, code: "internal", message: text, hint: text },
    },
  ];
}

describe("downsample", () => {
  it("loses no extreme, no value and no mark of a value that is not finite", () => {
    const value = fc.oneof(
      { weight: 9, arbitrary: fc.double({ min: -1e6, max: 1e6, noNaN: true }) },
      fc.constant(Number.NaN),
    );
    fc.assert(
      fc.property(fc.array(value, { maxLength: 300 }), fc.integer({ min: 1, max: 40 }), (ys, buckets) => {
        const xs = ys.map((_, index) => index * 3 + 1);
        const points = downsample({ xs, ys, buckets });
        expect(points.length).toBeLessThanOrEqual(2 * buckets);
        const finite = ys.filter(Number.isFinite);
        if (finite.length > 0) {
          expect(Math.min(...points.map(({ low }) => low))).toBe(Math.min(...finite));
          expect(Math.max(...points.map(({ high }) => high))).toBe(Math.max(...finite));
        }
        expect(points.reduce((sum, { nonFinite }) => sum + nonFinite, 0)).toBe(ys.length - finite.length);
        if (ys.length > 0) expect([points[0]!.from, points.at(-1)!.to]).toEqual([xs[0], xs.at(-1)]);
        for (const [index, point] of points.entries()) {
          expect(point.from).toBeLessThanOrEqual(point.to);
          if (index > 0) expect(point.from).toBeGreaterThan(points[index - 1]!.to);
        }
      }),
    );
  });
});

describe("chartScale", () => {
  it("covers its values with a few ascending round ticks", () => {
    const value = fc.double({ min: -1e12, max: 1e12, noNaN: true });
    fc.assert(
      fc.property(value, value, (a, b) => {
        const [minimum, maximum] = [Math.min(a, b), Math.max(a, b)];
        const scale = chartScale({ minimum, maximum, count: 5, whole: true });
        const tolerance = Math.max(1e-300, (scale.maximum - scale.minimum) * 1e-6);
        expect(scale.minimum).toBeLessThanOrEqual(minimum + tolerance);
        expect(scale.maximum).toBeGreaterThanOrEqual(maximum - tolerance);
        expect(scale.maximum).toBeGreaterThan(scale.minimum);
        expect(scale.ticks.length).toBeGreaterThanOrEqual(2);
        expect(scale.ticks.length).toBeLessThanOrEqual(8);
        for (const [i, tick] of scale.ticks.entries()) if (i > 0) expect(tick).toBeGreaterThan(scale.ticks[i - 1]!);
      }),
    );
  });

  it("gives the ticks that a person would choose", () => {
    const ticks = (minimum: number, maximum: number) => chartScale({ minimum, maximum, count: 5, whole: true }).ticks;
    expect(ticks(0, 1)).toEqual([0, 0.2, 0.4, 0.6, 0.8, 1]);
    expect(ticks(0.13, 0.87)).toEqual([0, 0.2, 0.4, 0.6, 0.8, 1]);
    expect(ticks(-3, 7)).toEqual([-4, -2, 0, 2, 4, 6, 8]);
    expect(chartScale({ minimum: 0, maximum: 3, count: 6, whole: false, integer: true }).ticks).toEqual([0, 1, 2, 3]);
  });
});
