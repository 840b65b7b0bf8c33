import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { viewCommand } from "../../../cli/view-command.ts";
import { exportFile } from "../../../reports/viewer/export-file.ts";
import { type ExportedRun, exportedSource } from "../../../reports/viewer/exported-run.ts";
import { folderSource } from "../../../reports/viewer/folder-source.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { evaluatePair, hostile, trainingEvents, writeTraining } from "./runs.ts";
import { writeTracedTraining } from "./traced-training.ts";

const page = { script: 'const end = "</script>"; // <!-- x', style: "b { color: red }" };

function exportedRun(html: string): ExportedRun {
  const data = /<script type="application\/json" id="exported-run">(.*)<\/script>/.exec(html);
  return JSON.parse(data![1]!) as ExportedRun;
}

describe("an exported file", () => {
  it("has a whole run, filtered and searched like on the server", async () => {
    const folder = temporaryFolder();
    await evaluatePair(folder, { tasks: 30 });
    const source = folderSource(folder);
    const html = await exportFile({ source, path: ".", page, episodes: 100 });
    const exported = exportedSource(exportedRun(html));
    expect(await exported.run(".")).toEqual(JSON.parse(JSON.stringify(await source.run("."))));
    for (const filter of [{}, { outcome: "failed" }, { text: "add_17" }, { min: 0.5, order: "task" }] as const) {
      const query = { filter, offset: 1, limit: 5 };
      expect(await exported.episodes(".", query)).toEqual(await source.episodes(".", query));
      const { id } = (await source.episodes(".", { filter, offset: 0, limit: 1 })).rows[0]!;
      expect(await exported.episode(".", { id, filter })).toEqual(await source.episode(".", { id, filter }));
    }
  });

  it("has the episodes of a training if it has a trace", async () => {
    const folder = temporaryFolder();
    await writeTracedTraining(folder);
    const source = folderSource(folder);
    const exported = exportedSource(exportedRun(await exportFile({ source, path: ".", page, episodes: 500 })));
    expect(await exported.run(".")).toEqual(JSON.parse(JSON.stringify(await source.run("."))));
    for (const filter of [{}, { step: "2-3" }, { agent: "coder", order: "best" }, { text: "add_17" }] as const) {
      const query = { filter, offset: 1, limit: 7 };
      expect(await exported.episodes(".", query)).toEqual(await source.episodes(".", query));
    }
    const some = exportedRun(await exportFile({ source, path: ".", page, episodes: 12 }));
    expect(some.episodes.map(({ row }) => row.step)).toEqual([1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]);
    expect(some.view.note).toContain("12 of the run's 120 transcripts");
  });

  it("contains at most the requested number of episodes, evenly spread over the run, and reports it", async () => {
    const folder = temporaryFolder();
    await evaluatePair(folder, { tasks: 30 });
    const source = folderSource(folder);
    const { episodes, view } = exportedRun(await exportFile({ source, path: ".", page, episodes: 6 }));
    const { rows } = await source.episodes(".", { filter: {}, offset: 0, limit: 500 });
    expect(episodes.map(({ row }) => row.id)).toEqual([0, 5, 10, 15, 20, 25].map((place) => rows[place]!.id));
    expect(view).toMatchObject({
      note: expect.stringContaining("6 of the run's 30 transcripts"),
      counts: { played: 30 },
    });
  });

  it("executes no text of the run, and no scripts except its own", async () => {
    const folder = temporaryFolder();
    await evaluatePair(folder, { tasks: 1 });
    const html = await exportFile({ source: folderSource(folder), path: ".", page, episodes: 10 });
    expect(html).not.toContain("<script>window.hacked");
    expect(html).not.toContain("<img src=x");
    expect(html.match(/<script/g)).toHaveLength(2);
    expect(html.match(/<\/script>/g)).toHaveLength(2);
    expect(html).toMatch(/script-src &#39;sha256-[\w+/=]+&#39;;/);
    expect(html).not.toMatch(/(src|href)="(?!data:,")/);
    const [{ episode }] = exportedRun(html).episodes as [ExportedRun["episodes"][number]];
    expect(JSON.stringify(episode)).toContain(JSON.stringify(hostile).slice(1, -1));
  });

  it("is written by the command for one run, not for several or none", async () => {
    const folder = temporaryFolder();
    await writeTraining(join(folder, "a"), trainingEvents(10));
    await writeTraining(join(folder, "b"), trainingEvents(10));
    let said = "";
    const output = { write: (text: string) => (said += text) };
    const signal = new AbortController().signal;
    const file = join(folder, "report.html");
    const write = (from: string) =>
      viewCommand({ folder: from, open: false, export: file, episodes: 5 }, { output, signal, page });
    await expect(write(folder)).rejects.toMatchObject({ code: "config.invalid" });
    await expect(write(join(folder, "nowhere"))).rejects.toMatchObject({ code: "data.not-found" });
    await write(join(folder, "a"));
    expect(said).toBe(`${file}\n`);
    await writeFile(join(folder, "a", "blocked"), "");
    const blocked = viewCommand(
      { folder: join(folder, "a"), open: false, export: join(folder, "a/blocked/r.html"), episodes: 5 },
      { output, signal, page },
    );
    await expect(blocked).rejects.toMatchObject({ code: "report.write-failed" });
  });
});

describe("the command", () => {
  it("serves until it is interrupted", async () => {
    const folder = temporaryFolder();
    await evaluatePair(folder, { tasks: 2 });
    const controller = new AbortController();
    let said = "";
    const output = { write: (text: string) => (said += text) };
    const ended = viewCommand({ folder, open: false, episodes: 1 }, { output, signal: controller.signal, page });
    while (!said.includes("http")) await new Promise((resolve) => setTimeout(resolve, 5));
    const url = /http:\S+/.exec(said)![0];
    expect((await (await fetch(`${url}api/runs`)).json()) as object).toMatchObject({ runs: [{ done: 2 }] });
    controller.abort();
    await ended;
    await expect(fetch(url)).rejects.toThrow();
  });
});
