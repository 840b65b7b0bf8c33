import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { EpisodePage, EpisodeView } from "../reports/viewer/view-source.ts";
import { traceIndexPath } from "../src/core/trace/indexed-trace-writer.ts";
import type { Benchmark, BenchmarkResult } from "./benchmark.ts";
import { type Written, writeLargeLog, writeLargeTrace } from "./large-log.ts";

/** Megabytes of transcripts. */
const size = Number(process.env.VIEW_LOG_MB ?? 200);

/**
 * Measures how long the viewer, in its own process, takes to show a large log for the first time, and then a part of
 * it.
 */
export const view: Benchmark = { prefix: "view", run };

async function run(): Promise<BenchmarkResult[]> {
  const folder = await mkdtemp(join(tmpdir(), "lyceum-bench-view-"));
  try {
    const [log, trace] = [join(folder, "log"), join(folder, "trace")];
    await mkdir(log);
    const logged = await writeLargeLog(log, size * 1e6);
    const results = [...written("log", logged), ...(await measure("", log, logged.episodes))];
    await rm(log, { recursive: true });
    await mkdir(trace);
    const traced = await writeLargeTrace(trace, size * 1e6);
    results.push(...written("trace", traced), ...(await measure("trace-", trace, traced.episodes)));
    // As for a run from another machine: the whole trace is read while the part read so far is shown.
    await rm(traceIndexPath(join(trace, "trace.jsonl")));
    results.push(...(await measure("trace-without-index-", trace, traced.episodes)));
    return results;
  } finally {
    await rm(folder, { recursive: true });
  }
}

function written(name: string, { bytes, episodes }: Written): BenchmarkResult[] {
  return [
    { name: `view/${name}-mb`, value: bytes / 1e6, unit: "MB" },
    { name: `view/${name}-episodes`, value: episodes, unit: "" },
  ];
}

async function measure(prefix: string, folder: string, episodes: number): Promise<BenchmarkResult[]> {
  const server = spawn(process.execPath, [join(import.meta.dirname, "view-process.ts"), folder], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  try {
    const lines = createInterface({ input: server.stdout })[Symbol.asyncIterator]();
    const url = String((await lines.next()).value);
    const get = async <T>(query: string): Promise<T> => {
      const response = await fetch(`${url}api/${query}`);
      const answer = (await response.json()) as T;
      if (!response.ok) throw new Error(JSON.stringify(answer));
      return answer;
    };
    const result = (name: string, value: number, unit: string): BenchmarkResult => ({
      name: `view/${prefix}${name}`,
      value,
      unit,
    });
    const timed = async <T>(name: string, query: string): Promise<[BenchmarkResult, T]> => {
      const started = performance.now();
      const answer = await get<T>(query);
      return [result(name, performance.now() - started, "ms"), answer];
    };
    // The requests of a browser that shows the run: its figures and its episodes, until it has all of them.
    const started = performance.now();
    await get("run?run=.");
    let page = await get<EpisodePage>("episodes?run=.&limit=100");
    const openMs = performance.now() - started;
    while (page.reading !== undefined) page = await get<EpisodePage>("episodes?run=.&limit=100");
    const wholeMs = performance.now() - started;
    if (page.total !== episodes) throw new Error(`${page.total} of ${episodes} episodes are shown.`);
    const [far, last] = await timed<EpisodePage>("last-page-ms", `episodes?run=.&limit=100&offset=${episodes - 100}`);
    const [sorted] = await timed("sorted-page-ms", "episodes?run=.&limit=100&order=worst&outcome=scored");
    const [transcript, shown] = await timed<EpisodeView>("transcript-ms", `episode?run=.&id=${last.rows.at(-1)!.id}`);
    if (shown.position !== episodes - 1) throw new Error("The last transcript of the page is not the last of the run.");
    server.stdin.write("memory\n");
    const memory = Number((await lines.next()).value);
    const [search, found] = await timed<EpisodePage>("search-ms", "episodes?run=.&text=needle-in-the-log");
    if (found.matched !== 1) throw new Error(`The search found ${found.matched} episodes.`);
    return [
      { ...result("open-ms", openMs, "ms"), baseline: 2_000 },
      result("whole-list-ms", wholeMs, "ms"),
      far,
      sorted,
      transcript,
      search,
      result("memory-mb", memory, "MB"),
    ];
  } finally {
    server.kill();
    await once(server, "exit");
  }
}
