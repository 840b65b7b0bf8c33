import { appendFile, copyFile, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { createRandom } from "../../src/core/random/random.ts";
import { readTrace } from "../../src/core/trace/read-trace.ts";
import { openLogWriter } from "../../src/evaluation/log/log-writer.ts";
import {
  readEntries,
  readEpisode,
  readManifest,
  readSummary,
  readTaskLines,
} from "../../src/evaluation/log/read-log.ts";
import { runFolder } from "../../src/evaluation/log/run-folder.ts";
import { evaluated, temporaryFolder } from "./answer-environment.ts";

const table = Array.from({ length: 12 }, (_, n) => [
  n % 5 === 4 ? "unscored" : n % 3 === 0 ? "1" : "0",
  "0.25 ünïcode",
]);
const answersOf = table.map(([first]) => [first!, "0.25"]);

/** A run of 24 episodes with at least four failures. */
async function run(): Promise<string> {
  const folder = await temporaryFolder();
  await evaluated(answersOf, { folder, concurrency: 3 });
  return folder;
}

async function repaired(folder: string): Promise<void> {
  await using _log = await openLogWriter({ folder, correct: (await readManifest(folder)).correct });
}

describe("a log", () => {
  it("has each episode at the position in its index, byte for byte", async () => {
    const folder = await run();
    const entries = await readEntries(folder);
    const files = runFolder(folder);
    const traced = [
      ...(await Array.fromAsync(readTrace(files.episodes))),
      ...(await Array.fromAsync(readTrace(files.failures))),
    ];
    expect(entries.size).toBe(24);
    expect(new Map(traced.map(({ id }) => [id, true])).size).toBe(24);
    for (const entry of entries.values()) {
      const episode = await readEpisode(folder, entry);
      expect(episode).toEqual(traced.find(({ id }) => id === entry.id));
      expect(entry.file).toBe(entry.agents.agent!.reward === null ? "failures" : "episodes");
      expect(entry).toMatchObject({ task: episode.task, sampleIndex: episode.sampleIndex, status: "completed" });
    }
    const sizes = { episodes: (await stat(files.episodes)).size, failures: (await stat(files.failures)).size };
    for (const file of ["episodes", "failures"] as const) {
      const ends = [...entries.values()].filter((entry) => entry.file === file).map((e) => e.offset + e.length);
      expect(Math.max(...ends)).toBe(sizes[file]);
    }
  });

  it("has its tasks with their content, hashes and seeds", async () => {
    const folder = await run();
    const lines = await Array.fromAsync(readTaskLines(folder));
    expect(lines).toHaveLength(12);
    expect(lines[3]).toMatchObject({ index: 3, id: "3", seed: 0, task: { n: 3 } });
    expect(await readManifest(folder)).toMatchObject({ tasks: 12, samples: 2, name: "answers" });
  });

  it("cut anywhere, or without a line of the index, gives the index of the remaining traces", async () => {
    const folder = await run();
    const files = runFolder(folder);
    const whole = await readEntries(folder);
    const paths = [files.episodes, files.failures, files.index];
    for (const path of paths) await copyFile(path, `${path}.whole`);
    const random = createRandom(4);
    for (let time = 0; time < 25; time++) {
      for (const path of paths) {
        await copyFile(`${path}.whole`, path);
        if (random.next() < 0.8) await truncate(path, Math.floor(random.next() * (await stat(path)).size));
      }
      if (random.next() < 0.3) {
        const lines = (await readFile(files.index, "utf8")).split("\n");
        lines.splice(random.integer(0, lines.length - 1), 1);
        await writeFile(files.index, lines.join("\n"));
      }
      if (random.next() < 0.3) await appendFile(files.index, '{"file":"epi');
      if (random.next() < 0.2) await rm(files.index);
      await repaired(folder);
      const left = new Set<string>();
      for (const path of [files.episodes, files.failures]) {
        for await (const { id } of readTrace(path)) left.add(id);
      }
      const entries = await readEntries(folder);
      expect(new Set(entries.keys())).toEqual(left);
      for (const [id, entry] of entries) expect(entry).toEqual(whole.get(id));
      // Lost episodes have no line, because another episode may be written at their position.
      const lines = (await readFile(files.index, "utf8")).split("\n");
      expect(lines.pop()).toBe("");
      expect(lines).toHaveLength(left.size);
    }
  });

  it("skips index entries beyond the end of the trace", async () => {
    const folder = await run();
    const { episodes } = runFolder(folder);
    const last = [...(await readEntries(folder)).values()].filter(({ file }) => file === "episodes").at(-1)!;
    await truncate(episodes, last.offset + 3);
    expect((await readEntries(folder)).has(last.id)).toBe(false);
    await expect(readEpisode(folder, last)).rejects.toMatchObject({ code: "data.malformed" });
  });

  it("rejects files of another format or version", async () => {
    const folder = await run();
    const { manifest } = runFolder(folder);
    const text = await readFile(manifest, "utf8");
    await writeFile(manifest, text.replace('"version": 2', '"version": 1'));
    await expect(readManifest(folder)).rejects.toMatchObject({
      message: expect.stringContaining("version 1"),
      hint: expect.stringContaining("run the evaluation again"),
    });
    await writeFile(manifest, "[]");
    await expect(readManifest(folder)).rejects.toMatchObject({ code: "data.malformed" });
    await expect(readSummary("nowhere")).rejects.toMatchObject({ code: "data.not-found" });
  });
});
