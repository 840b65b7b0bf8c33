import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { jsonlTaskset } from "../../../src/core/taskset/jsonl-taskset.ts";
import { LineIndexer } from "../../../src/core/taskset/line-index.ts";
import { temporaryFolder } from "../../temporary-folder.ts";

let folder = "";
beforeAll(async () => {
  folder = temporaryFolder();
});

async function file(name: string, content: string | Uint8Array): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
}

test("returns the values that were written, plain and compressed, in any order", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.jsonValue(), { maxLength: 30 }),
      fc.constantFrom("\n", "\r\n", "\n\n \t\n"),
      async (values, ending) => {
        const text = values.map((value) => JSON.stringify(value)).join(ending);
        const plain = await jsonlTaskset(await file("any.jsonl", text));
        const zipped = await jsonlTaskset(await file("any.jsonl.gz", gzipSync(text)));
        expect([plain.length, zipped.length]).toEqual([values.length, values.length]);
        for (let index = values.length - 1; index >= 0; index--) {
          const entry = await plain.get(index);
          expect(entry.task).toEqual(JSON.parse(JSON.stringify(values[index])));
          expect((await zipped.get(index)).hash).toBe(entry.hash);
        }
      },
    ),
    { numRuns: 40 },
  );
});

test("rows are found wherever the chunks of the file end", () => {
  const bytes = new TextEncoder().encode('\n{"é":1}\r\n  \n[2]\n3');
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 20, maxLength: 20 }), (sizes) => {
      const indexer = new LineIndexer();
      let from = 0;
      for (const size of sizes) {
        indexer.add(bytes.subarray(from, from + size));
        from += size;
      }
      indexer.add(bytes.subarray(from));
      const index = indexer.finish();
      const rows = Array.from({ length: index.length }, (_, i) => index.row(i));
      expect(rows.map(({ start, end }) => new TextDecoder().decode(bytes.subarray(start, end)))).toEqual([
        '{"é":1}\r',
        "[2]",
        "3",
      ]);
      expect(rows.map(({ line }) => line)).toEqual([2, 4, 5]);
    }),
  );
});

test("rows beyond the read-ahead block and longer than it", async () => {
  const rows = Array.from({ length: 40 }, (_, i) => ({ i, text: "x".repeat(i % 7 === 0 ? 400_000 : 10_000) }));
  const taskset = await jsonlTaskset<{ i: number; text: string }>(
    await file("long.jsonl", rows.map((row) => JSON.stringify(row)).join("\n")),
  );
  const order = [0, 1, 39, 7, 6, 8, 2, 14, 39, 0];
  const read = await Promise.all(order.map(async (index) => (await taskset.get(index)).task));
  expect(read.map(({ i, text }) => [i, text.length])).toEqual(order.map((i) => [i, rows[i]!.text.length]));
});

test("an empty file has no rows", async () => {
  expect((await jsonlTaskset(await file("empty.jsonl", " \n\n"))).length).toBe(0);
});

test("errors name file and line", async () => {
  const path = await file("bad.jsonl", '{"n":1}\n\n{"n":\n{"n":"two"}\n');
  const taskset = await jsonlTaskset(path, { schema: z.strictObject({ n: z.number() }) });
  expect((await taskset.get(0)).task).toEqual({ n: 1 });
  await expect(taskset.get(1)).rejects.toMatchObject({
    code: "data.malformed",
    message: expect.stringContaining(`${path}:3`),
  });
  await expect(taskset.get(2)).rejects.toMatchObject({
    code: "data.malformed",
    message: expect.stringMatching(/:4: n: .*number/),
  });
});

test.each([
  ["lists 200,000 deep", "[".repeat(200_000) + "]".repeat(200_000), "nested more than 1000 deep"],
  ["objects 200,000 deep", `${'{"a":'.repeat(200_000)}1${"}".repeat(200_000)}`, "nested more than 1000 deep"],
  ["a number beyond any", '{"n":{"m":[1,1e999]}}', "a number is too large"],
  ["a number below any", '{"n":-1e999}', "a number is too large"],
])("a row of %s names file and line, with a schema and without", async (_, row, words) => {
  const path = await file("odd.jsonl", `{"n":1}\n\n${row}\n`);
  for (const options of [{}, { schema: z.json() }]) {
    const taskset = await jsonlTaskset(path, options);
    expect((await taskset.get(0)).task).toEqual({ n: 1 });
    await expect(taskset.get(1)).rejects.toMatchObject({
      code: "data.malformed",
      message: expect.stringContaining(`${path}:3: `),
      hint: expect.stringMatching(/\w+ \w+/),
    });
    await expect(taskset.get(1)).rejects.toThrow(words);
  }
});

test("a row may be nested as deeply as other data", async () => {
  const row = "[".repeat(900) + "]".repeat(900);
  const taskset = await jsonlTaskset(await file("deep.jsonl", row));
  expect(JSON.stringify((await taskset.get(0)).task)).toBe(row);
});

test("bytes that are not UTF-8 are refused, not replaced", async () => {
  const taskset = await jsonlTaskset(await file("latin1.jsonl", Buffer.from('"caf\xe9"\n', "latin1")));
  await expect(taskset.get(0)).rejects.toMatchObject({
    code: "data.malformed",
    message: expect.stringContaining(":1"),
  });
});

test("the output of the schema is the task, even if it validates asynchronously", async () => {
  const schema = z.object({ n: z.string().transform(async (text) => Number(text)) });
  const taskset = await jsonlTaskset(await file("typed.jsonl", '{"n":"4","other":true}\n'), { schema, name: "typed" });
  expect(taskset.name).toBe("typed");
  expect((await taskset.get(0)).task).toEqual({ n: 4 });
});

test.each([
  ["a missing file", "missing.jsonl", undefined, "data.not-found"],
  ["a file that is no gzip", "not.jsonl.gz", "{}", "data.malformed"],
  ["a cut gzip", "cut.jsonl.gz", gzipSync('{"a":1}\n'.repeat(1000)).subarray(0, 40), "data.malformed"],
])("%s is a typed error", async (_name, name, content, code) => {
  const path = content === undefined ? join(folder, name) : await file(name, content);
  await expect(jsonlTaskset(path)).rejects.toMatchObject({
    code,
    message: expect.stringContaining(path),
    hint: expect.any(String),
  });
});

test("a folder is not a file", async () => {
  await expect(jsonlTaskset(folder)).rejects.toMatchObject({ code: "data.not-found" });
});

test("a file that disappears or shrinks later is a typed error", async () => {
  const path = await file("gone.jsonl", "1\n2\n");
  const [shrunk, gone] = [await jsonlTaskset(path), await jsonlTaskset(path)];
  await writeFile(path, "1\n");
  await expect(shrunk.get(1)).rejects.toMatchObject({ code: "data.malformed" });
  await rm(path);
  await expect(gone.get(0)).rejects.toMatchObject({ code: "data.not-found" });
});

test("aborts while it indexes", async () => {
  const path = await file("abort.jsonl", "1\n");
  await expect(jsonlTaskset(path, { signal: AbortSignal.abort() })).rejects.toThrow(/abort/i);
  await expect(
    jsonlTaskset(await file("abort.jsonl.gz", gzipSync("1\n")), { signal: AbortSignal.abort() }),
  ).rejects.toThrow(/abort/i);
});
