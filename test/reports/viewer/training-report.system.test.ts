import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { TrainingEvent } from "../../../reports/training/index.ts";
import { sampleRun } from "../training/sample-run.ts";
import { reportOf } from "./report-view.ts";

/**
 * Returns tag names in order, and every attribute, like a browser's tokenizer. Skips the text of scripts and styles.
 */
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

describe("report.html", () => {
  it("is one page that loads nothing, with the figures, samples and config of the run", async () => {
    const { page, view } = await reportOf(sampleRun({ steps: 60 }));
    expect(page).toContain("<title>grpo on math · Lyceum</title>");
    expect(page).toContain("default-src &#39;none&#39;");
    expect(page).not.toMatch(/<(?:img|link|script)[^>]*(?:src|href)=(?!"data:,")/);
    expect(page).not.toMatch(/@import|url\(/);
    expect(page.match(/<script/g)).toHaveLength(2);
    expect(view).toMatchObject({ status: "completed", step: 60, config: { algorithm: { id: "grpo" } } });
    expect(view.facts).toContainEqual(["tokens sampled", "122.9K"]);
    expect(view.sections.flatMap(({ charts }) => charts)).toHaveLength(17);
    expect(view.samples).toHaveLength(12);
    expect(view.evaluations).toHaveLength(7);
    expect(view.trace).toBeUndefined();
    expect(view.note).toContain("lyceum view");
  });

  it("keeps every extreme of ten thousand steps and stays small", async () => {
    const events = sampleRun({ steps: 10_000 }).map(
      (event): TrainingEvent =>
        event.type === "step" && event.step === 7777
          ? { ...event, metrics: { ...event.metrics, "optimizer/gradient-norm": 1234.5678 } }
          : event,
    );
    const { page, view } = await reportOf(events);
    expect(page.length).toBeLessThan(500_000);
    const series = view.sections.flatMap(({ charts }) => charts.flatMap((chart) => chart.series));
    const { ys } = series.find(({ metric }) => metric === "optimizer/gradient-norm")!;
    expect(ys.length).toBeLessThanOrEqual(1_000);
    expect(Math.max(...ys)).toBe(1234.57);
  });

  it("of a run that failed, or did not end, says so", async () => {
    const error = { name: "E", code: "internal", message: "The disk is gone." } as const;
    const failed: TrainingEvent = { type: "run-end", reason: "failed", step: 2, elapsedMs: 1, error };
    expect((await reportOf([...sampleRun({ steps: 4, stopAt: 2 }).slice(0, -1), failed])).view).toMatchObject({
      status: "failed",
      end: { error: { message: "The disk is gone." } },
    });
    const { view } = await reportOf(sampleRun({ steps: 4, stopAt: 2 }).filter(({ type }) => type !== "run-end"));
    expect(view).toMatchObject({ status: "stopped", step: 2 });
  });

  it("works without any event", async () => {
    expect((await reportOf([])).view).toMatchObject({ sections: [], samples: [], evaluations: [] });
  });

  it("never lets text of a run become markup, at any place", async () => {
    const clean = tokens((await reportOf(everywhere("x"))).page);
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
    await fc.assert(
      fc.asyncProperty(attack, async (text) => {
        const { page, view } = await reportOf(everywhere(text));
        const found = tokens(page);
        expect(found.tags).toEqual(clean.tags);
        expect(found.attributes).toEqual(clean.attributes);
        expect(page.isWellFormed()).toBe(true);
        expect(view.samples[0]!.prompt).toBe(text.toWellFormed());
      }),
      { numRuns: 100 },
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
      type: "preflight",
      step: 0,
      checks: [{ name: "sync", status: "failed", detail: text, cause: text, learner: text }],
      elapsedMs: 1,
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
