import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parquetWriteBuffer } from "hyparquet-writer";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { z } from "zod";
import type { Taskset } from "../../../src/contract/taskset.ts";
import type { HubOptions } from "../../../src/core/hub/hub.ts";
import { hubTaskset } from "../../../src/core/taskset/hub-taskset.ts";
import { loadTaskset } from "../../../src/core/taskset/load-taskset.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { type FakeHub, type FakeRepository, startFakeHub } from "../hub/fake-hub.ts";

const first = "a".repeat(40);
const second = "b".repeat(40);

function parquet(numbers: readonly number[]): Uint8Array {
  const data = numbers.map((n) => `q${n}`);
  return new Uint8Array(parquetWriteBuffer({ columnData: [{ name: "question", data, type: "STRING" }] }));
}

const sharded: FakeRepository = {
  type: "dataset",
  name: "owner/sharded",
  branches: { main: first, old: second },
  commits: {
    [first]: {
      "README.md": "",
      "main/train-00000-of-00002.parquet": parquet([0, 1, 2]),
      "main/train-00001-of-00002.parquet": parquet([3, 4]),
      "main/test-00000-of-00001.parquet": parquet([9]),
      "other/train.jsonl": '{"question":"other"}\n',
    },
    [second]: { "main/train.jsonl": '{"question":"old"}\n' },
  },
};
const converted: FakeRepository = {
  type: "dataset",
  name: "owner/csv",
  branches: { main: first, "refs/convert/parquet": second },
  commits: { [first]: { "train.csv": "a,b" }, [second]: { "default/train/0000.parquet": parquet([7]) } },
};

let folder = "";
let hub: FakeHub;
let options: HubOptions;
beforeEach(async () => {
  for (const name of ["HF_TOKEN", "HF_ENDPOINT", "HF_HOME", "HF_HUB_CACHE", "HF_HUB_OFFLINE"]) vi.stubEnv(name, "");
  folder = temporaryFolder();
  hub = await startFakeHub([sharded, converted]);
  options = { hubUrl: hub.url, cacheFolder: join(folder, "cache") };
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await hub[Symbol.asyncDispose]();
});

async function questions(taskset: Taskset<Record<string, unknown>>): Promise<unknown[]> {
  return Promise.all(
    Array.from({ length: taskset.length as number }, async (_, i) => (await taskset.get(i)).task.question),
  );
}

test("reads a config's shards in order, sliced", async () => {
  const taskset = await hubTaskset({ dataset: "owner/sharded", config: "main", split: "train[1:4]" }, options);
  expect(taskset.name).toBe("owner/sharded/main/train[1:4]");
  expect(await questions(taskset)).toEqual(["q1", "q2", "q3"]);
});

test("reads JSONL of a config and of another revision", async () => {
  const other = { dataset: "owner/sharded", config: "other", schema: z.object({ question: z.string() }) };
  expect(await questions(await hubTaskset(other, options))).toEqual(["other"]);
  expect(
    await questions(await hubTaskset({ dataset: "owner/sharded", config: "main", revision: "old" }, options)),
  ).toEqual(["old"]);
});

test("falls back to the hub's Parquet copy, but not if a revision is given", async () => {
  expect(await questions(await loadTaskset({ source: "owner/csv" }, options))).toEqual(["q7"]);
  await expect(hubTaskset({ dataset: "owner/csv", revision: "main" }, options)).rejects.toMatchObject({
    code: "data.out-of-range",
  });
});

test("after the first read, the cache serves it without the hub", async () => {
  const spec = { dataset: "owner/sharded", config: "main" };
  await hubTaskset(spec, options);
  const offline: HubOptions = { ...options, fetch: () => Promise.reject(new TypeError("fetch failed")) };
  expect((await hubTaskset(spec, offline)).length).toBe(5);
  await expect(hubTaskset({ ...spec, split: "test" }, offline)).rejects.toMatchObject({ code: "data.unavailable" });
  const csv = { dataset: "owner/csv" };
  await hubTaskset(csv, options);
  expect((await hubTaskset(csv, offline)).length).toBe(1);
});

test.each([
  [{ dataset: "owner/sharded", config: "main", split: "validation" }, "data.out-of-range"],
  [{ dataset: "owner/sharded", config: "none" }, "data.out-of-range"],
  [{ dataset: "owner/sharded" }, "config.invalid"],
  [{ dataset: "owner/none" }, "data.not-found"],
  [{ dataset: "owner/sharded", split: "train[" }, "config.invalid"],
  [{ dataset: "owner/sharded", config: "main", split: "train[9:]" }, "data.out-of-range"],
])("%o is a typed error", async (spec, code) => {
  await expect(hubTaskset(spec, options)).rejects.toMatchObject({ code, hint: expect.any(String) });
});

test("aborts", async () => {
  await expect(hubTaskset({ dataset: "owner/sharded" }, { ...options, signal: AbortSignal.abort() })).rejects.toThrow(
    /abort/i,
  );
});

test("reads local files and folders without the hub", async () => {
  await mkdir(join(folder, "local/sub"), { recursive: true });
  await writeFile(join(folder, "local/train.jsonl"), '{"question":"a"}\n{"question":"b"}');
  await writeFile(join(folder, "local/sub/test.parquet"), parquet([5]));
  const local = join(folder, "local");
  expect(await questions(await loadTaskset({ source: local }, options))).toEqual(["a", "b"]);
  expect(await questions(await loadTaskset({ source: local, split: "test", config: "sub" }, options))).toEqual(["q5"]);
  expect(
    await questions(await loadTaskset({ source: join(local, "{split}.jsonl"), split: "train[1:]" }, options)),
  ).toEqual(["b"]);
  expect(
    await questions(await loadTaskset({ source: join(local, "sub/test.parquet"), split: "whatever" }, options)),
  ).toEqual(["q5"]);
  expect(hub.requests).toEqual([]);
});

test.each([
  ["./nowhere", "data.not-found"],
  ["a/b/c", "data.not-found"],
  ["nowhere.jsonl", "data.not-found"],
  ["package.json", "data.malformed"],
  ["src", "data.out-of-range"],
])("the source %s is a typed error", async (source, code) => {
  await expect(loadTaskset({ source }, options)).rejects.toMatchObject({ code });
  expect(hub.requests).toEqual([]);
});

test("several JSONL files are concatenated, and errors name the right file", async () => {
  const { jsonlTaskset } = await import("../../../src/core/taskset/jsonl-taskset.ts");
  const paths = ["1\n2\n", "", "\n3\nbad\n"].map((text, i) => ({ path: join(folder, `${i}.jsonl`), text }));
  for (const { path, text } of paths) await writeFile(path, text);
  const taskset = await jsonlTaskset(paths.map(({ path }) => path));
  expect(taskset.length).toBe(4);
  expect(await Promise.all([2, 0, 1].map(async (i) => (await taskset.get(i)).task))).toEqual([3, 1, 2]);
  await expect(taskset.get(3)).rejects.toThrow(`${paths[2]!.path}:3`);
});
