import { appendFile, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { readMetrics, recordRun, runRecord, type TrainingEvent } from "../../../reports/training/index.ts";
import { LyceumError } from "../../../src/contract/errors/index.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { exportedRun } from "../viewer/report-view.ts";
import { replay, sampleRun } from "./sample-run.ts";

let folder: string;
beforeEach(async () => {
  folder = temporaryFolder();
});

async function collect(events: AsyncIterable<TrainingEvent>): Promise<TrainingEvent[]> {
  const all: TrainingEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}

const path = () => join(folder, "metrics.jsonl");

describe("recordRun", () => {
  it("passes every event through unchanged, and writes it so that it can be read back", async () => {
    const events = sampleRun({ steps: 20 });
    const passed = await collect(recordRun(replay(events), { folder, config: { seed: 1 } }));
    expect(passed).toEqual(events);
    const file = await readMetrics(path());
    expect(file.events).toEqual(events);
    expect(file.skippedLines).toBe(0);
    expect(file.header).toMatchObject({ format: "lyceum-metrics", version: 1, config: { seed: 1 } });
    expect((await readdir(folder)).sort()).toEqual(["config.yaml", "metrics.jsonl", "report.html"]);
    expect(await readFile(join(folder, "config.yaml"), "utf8")).toBe("seed: 1\n");
  });

  it("writes a step before the next one is requested", async () => {
    const iterator = recordRun(replay(sampleRun({ steps: 3 })), { folder })[Symbol.asyncIterator]();
    for (let count = 1; count <= 4; count++) {
      await iterator.next();
      expect((await readFile(path(), "utf8")).trimEnd().split("\n")).toHaveLength(count + 1);
    }
    await iterator.return?.();
    expect(await readdir(folder)).toContain("report.html");
  });

  it("keeps numbers that JSON cannot represent", async () => {
    const odd: TrainingEvent = {
      type: "step",
      step: 1,
      steps: 1,
      metrics: { "loss/total": Number.NaN, a: Infinity, b: -Infinity, c: 1e-300, d: -0 },
      elapsedMs: 1,
      etaMs: Number.NaN,
    };
    await collect(recordRun(replay([sampleRun({ steps: 1 })[0]!, odd]), { folder }));
    const { events } = await readMetrics(path());
    expect(events[1]).toEqual({ ...odd, metrics: { ...odd.metrics, d: 0 } });
    for (const line of (await readFile(path(), "utf8")).trimEnd().split("\n")) JSON.parse(line);
  });

  it("continues after a resumption without duplicates: later steps are replaced", async () => {
    await collect(recordRun(replay(sampleRun({ steps: 30, stopAt: 17 })), { folder, config: { run: 1 } }));
    // A crash leaves an incomplete last line.
    await appendFile(path(), '{"type":"step","step":18,"ste');
    const resumed = sampleRun({ steps: 30, resumedFrom: 10, seed: 2 });
    await collect(recordRun(replay(resumed), { folder, config: { run: 2 } }));
    const file = await readMetrics(path());
    const steps = file.events.flatMap((event) => (event.type === "step" ? [event] : []));
    expect(steps.map(({ step }) => step)).toEqual(Array.from({ length: 30 }, (_, i) => i + 1));
    expect(steps.slice(10)).toEqual(resumed.filter(({ type }) => type === "step"));
    expect(file.skippedLines).toBe(0);
    expect(file.header.config).toEqual({ run: 2 });
    const record = runRecord(file);
    expect(record.resumptions).toBe(1);
    expect(record.end?.reason).toBe("completed");
    expect(record.elapsedMs).toBe(10 * 2100 + 20 * 2100);
  });

  it("keeps the time of the first start after resumptions", async () => {
    await collect(recordRun(replay(sampleRun({ steps: 30, stopAt: 10 })), { folder }));
    const before = (await readMetrics(path())).header.startedAt;
    await collect(recordRun(replay(sampleRun({ steps: 30, resumedFrom: 10 })), { folder }));
    expect((await readMetrics(path())).header.startedAt).toBe(before);
  });

  it("starts again if the run does", async () => {
    await collect(recordRun(replay(sampleRun({ steps: 30 })), { folder }));
    const second = sampleRun({ steps: 5, seed: 9 });
    await collect(recordRun(replay(second), { folder }));
    expect((await readMetrics(path())).events).toEqual(second);
  });

  it("resumes in a folder whose metrics are missing, with a warning", async () => {
    const resumed = sampleRun({ steps: 30, resumedFrom: 10 });
    const passed = await collect(recordRun(replay(resumed), { folder }));
    const lost = {
      type: "warning",
      step: 10,
      message: `${path()} is missing: the metrics of the 10 steps before this one are lost.`,
    };
    expect(passed).toEqual([resumed[0], lost, ...resumed.slice(1)]);
    expect((await readMetrics(path())).events).toEqual(passed);
  });

  it("warns about missing steps before the resumption, and not about later steps", async () => {
    await collect(recordRun(replay(sampleRun({ steps: 30, stopAt: 17 })), { folder }));
    const whole = await readFile(path(), "utf8");
    const warnings = async (text: string): Promise<string[]> => {
      await writeFile(path(), text);
      const passed = await collect(recordRun(replay(sampleRun({ steps: 30, resumedFrom: 10 })), { folder }));
      return passed.flatMap((event) => (event.type === "warning" ? [event.message] : []));
    };
    expect(await warnings(whole)).toEqual([]);
    const lines = whole.split("\n");
    const tenth = lines.findIndex((line) => line.includes('"step":10,'));
    expect(await warnings(lines.slice(0, tenth + 1).join("\n"))).toEqual([]);
    expect(await warnings(whole.slice(0, whole.length / 2))).toEqual([
      expect.stringMatching(/metrics\.jsonl lacks \d of the 10 steps before this one/),
    ]);
    const third = lines.filter((line) => !line.includes('"type":"step","step":3,'));
    expect(third.length).toBe(lines.length - 1);
    expect(await warnings(third.join("\n"))).toEqual([expect.stringContaining("lacks 1 of the 10 steps")]);
  });

  it.each([
    ["failed", new Error("boom"), "internal"],
    ["failed", new LyceumError({ code: "backend.not-finite", message: "The loss is NaN." }), "backend.not-finite"],
    ["aborted", new LyceumError({ code: "aborted", message: "stopped" }), "aborted"],
  ] as const)("records a run that %s by throwing, and throws on", async (reason, error, code) => {
    async function* broken(): AsyncGenerator<TrainingEvent, void, undefined> {
      yield* sampleRun({ steps: 9 }).slice(0, 5);
      throw error;
    }
    await expect(collect(recordRun(broken(), { folder }))).rejects.toBe(error);
    const { events } = await readMetrics(path());
    expect(events.at(-1)).toMatchObject({ type: "run-end", reason, error: { code } });
    const { view } = exportedRun(await readFile(join(folder, "report.html"), "utf8"));
    expect(view).toMatchObject({ status: reason === "failed" ? "failed" : "interrupted", end: { error: { code } } });
  });

  it("writes nothing when the run fails before it starts", async () => {
    async function* broken(): AsyncGenerator<TrainingEvent, void, undefined> {
      if (folder !== "") throw new Error("no model");
      yield* [];
    }
    await expect(collect(recordRun(broken(), { folder: join(folder, "run") }))).rejects.toThrow("no model");
    expect(await readdir(folder)).toEqual([]);
  });

  it("gives one warning for a folder that cannot be written, and lets the run continue", async () => {
    await writeFile(join(folder, "file"), "");
    const events = sampleRun({ steps: 5 });
    const passed = await collect(recordRun(replay(events), { folder: join(folder, "file") }));
    const warnings = passed.filter(({ type }) => type === "warning");
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatchObject({ message: expect.stringContaining("cannot be written") });
    expect(passed.filter(({ type }) => type !== "warning")).toEqual(events);
  });

  it("closes the source when its reader stops early", async () => {
    let closed = false;
    async function* source(): AsyncGenerator<TrainingEvent, void, undefined> {
      try {
        yield* sampleRun({ steps: 9 });
      } finally {
        closed = true;
      }
    }
    for await (const event of recordRun(source(), { folder })) if (event.type === "step") break;
    expect(closed).toBe(true);
  });
});

describe("readMetrics", () => {
  it("counts lines that are not events, and reads the rest", async () => {
    await collect(recordRun(replay(sampleRun({ steps: 3 })), { folder }));
    const lines = (await readFile(path(), "utf8")).trimEnd().split("\n");
    const junk = [
      "",
      "{}",
      "[1]",
      "null",
      "\u0000",
      '{"type":"step","step":-1}',
      '{"type":"step","step":1,"metrics":{"a":"b"}}',
    ];
    await writeFile(path(), [...lines, ...junk].join("\n"));
    const file = await readMetrics(path());
    expect(file.events).toHaveLength(lines.length - 1);
    expect(file.skippedLines).toBe(junk.length);
  });

  it("rejects a missing file, an empty one, another format and another version", async () => {
    await expect(readMetrics(path())).rejects.toMatchObject({ code: "data.not-found" });
    for (const text of ["", "hello\n", '{"type":"header","format":"lyceum-metrics","version":2,"startedAt":""}\n']) {
      await writeFile(path(), text);
      await expect(readMetrics(path())).rejects.toMatchObject({ code: "data.malformed" });
    }
  });
});
