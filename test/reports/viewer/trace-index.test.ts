import { appendFile, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createTraceIndex, type StepEnd, tracePath } from "../../../reports/viewer/trace-index.ts";
import type { AgentEpisode, Episode } from "../../../src/contract/episode.ts";
import { textMessage } from "../../../src/contract/message.ts";
import { scored, unscored } from "../../../src/contract/reward.ts";
import { createIndexedTraceWriter, traceIndexPath } from "../../../src/core/trace/indexed-trace-writer.ts";
import { readEpisodeAt } from "../../../src/core/trace/read-episode.ts";
import { readTrace } from "../../../src/core/trace/read-trace.ts";
import { repairIndex } from "../../../src/core/trace/repair-index.ts";
import { traceEntry } from "../../../src/core/trace/trace-entry.ts";
import { headerLine } from "../../../src/core/trace/trace-format.ts";
import { temporaryFolder } from "../../temporary-folder.ts";

function agent(reward: number | null, text: string): AgentEpisode {
  return {
    nodes: [{ id: 0, parent: null, turn: 0, message: textMessage("assistant", text) }],
    turns: [{ turn: 0, node: 0, finish: "stop" }],
    reward: reward === null ? unscored("nobody knows") : scored(reward),
    terminated: true,
    truncated: false,
  };
}

/** Episodes with the same number differ in reward and duration, and often have the same length. */
function episode(n: number, options: { readonly take: number; readonly text?: string }): Episode {
  const { take, text = "ü" } = options;
  return {
    id: `episode-${n}`,
    environment: "e",
    task: { index: n % 3, id: String(n % 3), hash: "0" },
    seed: 0,
    sampleIndex: n,
    status: n % 5 === 4 ? "truncated" : "completed",
    agents: { one: agent((take + n) % 10, text), two: agent(n % 7 === 6 ? null : 1, "") },
    turns: 1,
    durationMs: 100 + (take % 900),
  };
}

/** A run that writes its trace and index itself, so that everything can happen between two lines. */
class WrittenRun {
  readonly path: string;
  steps: StepEnd[] = [];
  /** The steps according to the metrics, which may lag. */
  told: readonly StepEnd[] = [];
  #next = 0;
  #take = 0;
  #torn = "";
  /** Entries that are in the trace but not in the index yet. */
  #waiting: string[] = [];

  constructor(folder: string) {
    this.path = tracePath(folder);
  }

  async begin(): Promise<void> {
    await rm(this.path, { force: true });
    await rm(traceIndexPath(this.path), { force: true });
    await writeFile(this.path, headerLine());
    Object.assign(this, { steps: [] });
    [this.#next, this.#torn, this.#waiting] = [0, "", []];
  }

  async write(text: string): Promise<void> {
    const line = this.#torn === "" ? this.#line(text) : this.#torn;
    const { size } = await stat(this.path);
    await appendFile(this.path, line);
    if (this.#torn !== "") {
      this.#torn = "";
      return;
    }
    const place = { offset: size, length: Buffer.byteLength(line) };
    this.#waiting.push(`${JSON.stringify(traceEntry(JSON.parse(line), place))}\n`);
  }

  /** A part of a line. The next `write` completes it. */
  async tear(text: string): Promise<void> {
    if (this.#torn !== "") return;
    const line = this.#line(text);
    const { size } = await stat(this.path);
    const half = line.slice(0, line.length >> 1);
    await appendFile(this.path, half);
    this.#torn = line.slice(half.length);
    const place = { offset: size, length: Buffer.byteLength(line) };
    this.#waiting.push(`${JSON.stringify(traceEntry(JSON.parse(line), place))}\n`);
  }

  async index(lines: number): Promise<void> {
    for (const line of this.#waiting.splice(0, lines)) await appendFile(traceIndexPath(this.path), line);
  }

  async loseIndex(): Promise<void> {
    await rm(traceIndexPath(this.path), { force: true });
  }

  async tearIndex(): Promise<void> {
    await appendFile(traceIndexPath(this.path), '{"offset":');
  }

  async endStep(): Promise<void> {
    if (this.#torn !== "") return;
    const { size } = await stat(this.path);
    this.steps = [...this.steps, { step: this.steps.length + 1, traceLength: size }];
  }

  tell(): void {
    this.told = this.steps;
  }

  /** Continues from a checkpoint like a run that was killed. */
  async resume(step: number): Promise<void> {
    const kept = this.steps.slice(0, step);
    const length = kept.at(-1)?.traceLength ?? headerLine().length;
    await truncate(this.path, Math.min(length, (await stat(this.path)).size));
    [this.#torn, this.#waiting, this.steps] = ["", [], kept];
    await repairIndex(traceIndexPath(this.path), [{ path: this.path, has: () => true, entryOf: traceEntry }]);
    this.#next = (await wholeEpisodes(this.path)).length;
  }

  #line(text: string): string {
    this.#take += 1;
    const n = this.#next;
    this.#next += 1;
    return `${JSON.stringify(episode(n, { take: this.#take, text }))}\n`;
  }
}

async function wholeEpisodes(path: string): Promise<Episode[]> {
  return await Array.fromAsync(readTrace(path));
}

/** The expected list, found without an index. */
async function expectedRows(path: string, steps: readonly StepEnd[]): Promise<object[]> {
  const rows: object[] = [];
  let offset = 0;
  for (const line of (await readFile(path, "utf8")).split("\n").slice(0, -1)) {
    const length = Buffer.byteLength(line) + 1;
    if (offset > 0) {
      const { id, task, status, durationMs, agents } = JSON.parse(line) as Episode;
      const rewards = Object.values(agents).map(({ reward }) => (reward.status === "scored" ? reward.value : null));
      const reward = rewards.includes(null)
        ? null
        : rewards.reduce<number>((sum, one) => sum + one!, 0) / rewards.length;
      const step = steps.find(({ traceLength }) => traceLength > offset)?.step;
      const { index, id: taskId } = task;
      rows.push({ id, task: { index, id: taskId }, status, durationMs, reward, step, offset, length });
    }
    offset += length;
  }
  return rows;
}

const text = fc.oneof(fc.constant("ü"), fc.string({ unit: "binary", maxLength: 40 }), fc.constant("x".repeat(3_000)));
const happening = fc.oneof(
  { weight: 6, arbitrary: fc.record({ write: text }) },
  { weight: 5, arbitrary: fc.record({ index: fc.nat({ max: 4 }) }) },
  { weight: 6, arbitrary: fc.constant("read" as const) },
  { weight: 3, arbitrary: fc.constant("step" as const) },
  { weight: 2, arbitrary: fc.constant("tell" as const) },
  { weight: 1, arbitrary: fc.record({ tear: text }) },
  { weight: 1, arbitrary: fc.record({ resume: fc.nat({ max: 3 }) }) },
  { weight: 1, arbitrary: fc.constantFrom("lose index" as const, "tear index" as const, "begin" as const) },
);

const line = { write: "ü" };

describe("the list of a trace", () => {
  it("is that of the whole file, whatever happened between two readings", async () => {
    const folder = temporaryFolder();
    const history = fc.array(happening, { minLength: 4, maxLength: 40 });
    const time = fc.constantFrom(0, Number.POSITIVE_INFINITY);
    await fc.assert(
      fc.asyncProperty(history, time, async (happenings, maximumMs) => {
        const run = new WrittenRun(folder);
        await run.begin();
        const index = createTraceIndex(folder, async () => run.told);
        const check = async (): Promise<void> => {
          do await index.update(maximumMs);
          while (index.readShare < 1);
          const rows = index.rows.map(({ id, task, status, durationMs, reward, step, offset, length }) => ({
            ...{ id, task, status, durationMs, reward, step, offset, length },
          }));
          expect(rows).toEqual(await expectedRows(run.path, run.told));
          expect([...index.places]).toEqual(rows.map(({ id }, place) => [id, place]));
        };
        for (const one of happenings) {
          if (one === "read") await check();
          else if (one === "step") await run.endStep();
          else if (one === "tell") run.tell();
          else if (one === "lose index") await run.loseIndex();
          else if (one === "tear index") await run.tearIndex();
          else if (one === "begin") await run.begin();
          else if ("write" in one) await run.write(one.write);
          else if ("tear" in one) await run.tear(one.tear);
          else if ("index" in one) await run.index(one.index);
          else await run.resume(one.resume);
        }
        await check();
      }),
      {
        numRuns: 100,
        // The metrics have steps that were reset, and then the steps that replaced them.
        examples: [
          [
            [
              ...([line, line, "step", "tell", "read", { resume: 0 }] as const),
              ...([line, "step", line, "step", "read", "tell", "read"] as const),
            ],
            Number.POSITIVE_INFINITY,
          ],
        ],
      },
    );
  });

  it("has the positions of episodes and their agents", async () => {
    const folder = temporaryFolder();
    const path = tracePath(folder);
    await using trace = await createIndexedTraceWriter({ path });
    for (let n = 0; n < 10; n++) await trace.write(episode(n, { take: n, text: `text ${n}` }));
    await trace.flush();
    const index = createTraceIndex(folder, async () => []);
    await index.update();
    expect([...index.agents]).toEqual(["one", "two"]);
    expect(index.rows[2]).toMatchObject({ rewards: { one: 4, two: 1 }, reward: 2.5, outcome: "scored", turns: 1 });
    expect(index.rows[6]).toMatchObject({ reward: null, outcome: "unscored", reason: "nobody knows" });
    for (const row of index.rows) expect((await readEpisodeAt(path, row)).id).toBe(row.id);
    await expect(readEpisodeAt(path, { ...index.rows[0]!, offset: 40 })).rejects.toMatchObject({
      code: "data.malformed",
    });
  });
});

describe("a trace with an index", () => {
  it("has an entry for each line, also after a kill, a truncation and a loss", async () => {
    const folder = temporaryFolder();
    const path = join(folder, "trace.jsonl");
    const cut = fc.record({ written: fc.nat({ max: 6 }), cut: fc.nat({ max: 300 }), indexCut: fc.nat({ max: 300 }) });
    await fc.assert(
      fc.asyncProperty(fc.array(cut, { maxLength: 5 }), fc.boolean(), async (sessions, back) => {
        await rm(path, { force: true });
        await rm(traceIndexPath(path), { force: true });
        let n = 0;
        let length: number | undefined;
        for (const session of sessions) {
          const append = back && length !== undefined ? { length } : true;
          const writer = await createIndexedTraceWriter({ path, append });
          for (let count = 0; count < session.written; count++) await writer.write(episode(n++, { take: n }));
          length = await writer.flush();
          await writer.close();
          // What a kill leaves of both.
          await truncate(path, Math.max(0, (await stat(path)).size - session.cut));
          await truncate(traceIndexPath(path), Math.max(0, (await stat(traceIndexPath(path))).size - session.indexCut));
        }
        await (await createIndexedTraceWriter({ path, append: true })).close();
        const entries = (await readFile(traceIndexPath(path), "utf8")).split("\n").slice(0, -1);
        const places = entries.map((line) => JSON.parse(line) as ReturnType<typeof traceEntry>);
        const written = await wholeEpisodes(path);
        expect(places.map(({ id }) => id)).toEqual(written.map(({ id }) => id));
        for (const [place, entry] of places.entries()) {
          expect(await readEpisodeAt(path, entry)).toEqual(written[place]);
        }
      }),
      { numRuns: 40 },
    );
  });
});
