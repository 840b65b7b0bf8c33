import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SchemaTree } from "hyparquet";
import { parquetWriteBuffer } from "hyparquet-writer";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { exactDecimals } from "../../../src/core/taskset/parquet-decimals.ts";
import { parquetTaskset } from "../../../src/core/taskset/parquet-taskset.ts";

let folder = "";
let path = "";
const question = (i: number): string => `What is ${i} + ${i}?`;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "lyceum-parquet-"));
  path = await write("rows.parquet", 250, 0);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function write(name: string, count: number, first: number): Promise<string> {
  const numbers = Array.from({ length: count }, (_, i) => first + i);
  const buffer = parquetWriteBuffer({
    columnData: [
      { name: "question", data: numbers.map(question), type: "STRING" },
      { name: "answer", data: numbers.map((i) => BigInt(2 * i)), type: "INT64" },
      { name: "meta", data: numbers.map((i) => ({ tags: [`t${i % 3}`], level: i % 5 })), type: "JSON" },
    ],
    rowGroupSize: 100,
  });
  const file = join(folder, name);
  await writeFile(file, new Uint8Array(buffer));
  return file;
}

test("returns rows from any row group in any order", async () => {
  const taskset = await parquetTaskset(path);
  expect([taskset.name, taskset.length]).toEqual(["rows.parquet", 250]);
  for (const i of [0, 249, 99, 100, 199, 200, 5, 150]) {
    expect((await taskset.get(i)).task).toEqual({
      question: question(i),
      answer: 2 * i,
      meta: { tags: [`t${i % 3}`], level: i % 5 },
    });
  }
  await expect(taskset.get(250)).rejects.toMatchObject({ code: "data.out-of-range" });
});

test("shards are concatenated, including empty ones and many groups", async () => {
  const shards = [await write("a.parquet", 130, 0), await write("b.parquet", 0, 0), await write("c.parquet", 420, 130)];
  const taskset = await parquetTaskset<{ question: string }>(shards, { name: "shards", columns: ["question"] });
  expect(taskset.length).toBe(550);
  for (let i = 0; i < 550; i++) expect((await taskset.get(i)).task).toEqual({ question: question(i) });
});

test("a row has the same hash as the same row from another source", async () => {
  const { contentHash } = await import("../../../src/core/taskset/content-hash.ts");
  const entry = await (await parquetTaskset(path, { columns: ["answer"] })).get(7);
  expect(entry.hash).toBe(contentHash({ answer: 14 }));
});

test("values that JSON cannot represent are converted as documented", async () => {
  const buffer = parquetWriteBuffer({
    columnData: [
      { name: "big", data: [2n ** 60n], type: "INT64" },
      { name: "float", data: [Number.NaN], type: "DOUBLE" },
      { name: "when", data: [new Date(1000)], type: "TIMESTAMP" },
      { name: "bytes", data: [new Uint8Array([1, 2, 255])], type: "BYTE_ARRAY" },
    ],
  });
  const file = join(folder, "odd.parquet");
  await writeFile(file, new Uint8Array(buffer));
  const { task } = await (await parquetTaskset(file)).get(0);
  expect(task).toMatchObject({ big: "1152921504606846976", float: null, when: "1970-01-01T00:00:01.000Z" });
});

test("the schema types rows and names file:row", async () => {
  const schema = z.object({ question: z.string(), answer: z.number().max(10) });
  const taskset = await parquetTaskset([path], { schema });
  expect((await taskset.get(3)).task).toEqual({ question: question(3), answer: 6 });
  await expect(taskset.get(120)).rejects.toMatchObject({
    code: "data.malformed",
    message: expect.stringContaining(`${path}:121: answer`),
  });
});

test.each([
  ["nothing", new Uint8Array(0)],
  ["text", new TextEncoder().encode("this is no parquet file at all")],
])("a file of %s is malformed", async (_name, bytes) => {
  const file = join(folder, "bad.parquet");
  await writeFile(file, bytes);
  await expect(parquetTaskset(file)).rejects.toMatchObject({
    code: "data.malformed",
    message: expect.stringContaining(file),
  });
});

test("damaged pages and missing columns are typed errors", async () => {
  const bytes = await readFile(path);
  bytes.fill(0xff, 4, 400);
  const file = join(folder, "damaged.parquet");
  await writeFile(file, bytes);
  const damaged = await parquetTaskset(file);
  await expect(damaged.get(0)).rejects.toMatchObject({ code: "data.malformed" });
  await expect(damaged.get(0)).rejects.toMatchObject({ code: "data.malformed" });
  const lacking = await parquetTaskset(path, { columns: ["nothing"] });
  await expect(lacking.get(0)).rejects.toMatchObject({
    code: "data.malformed",
    message: expect.stringContaining("nothing"),
  });
});

test("a missing file is not found", async () => {
  await expect(parquetTaskset(join(folder, "no.parquet"))).rejects.toMatchObject({ code: "data.not-found" });
});

test.each([
  ["INT32", {}],
  ["INT64", {}],
  ["FIXED_LEN_BYTE_ARRAY", { type_length: 16 }],
  ["BYTE_ARRAY", {}],
] as const)("decimals of type %s are exact", async (type, more) => {
  const write = async (scale: number, integers: readonly bigint[]): Promise<unknown[]> => {
    const bytesOf = (value: bigint): Uint8Array =>
      Buffer.from(BigInt.asUintN(128, value).toString(16).padStart(32, "0"), "hex");
    const stored = (value: bigint): unknown =>
      type === "INT32" ? Number(value) : type === "INT64" ? value : bytesOf(value);
    const buffer = parquetWriteBuffer({
      // The writer would scale what it knows to be a decimal.
      columnData: [{ name: "d", data: integers.map(stored) }],
      schema: [
        { name: "root", num_children: 1 },
        {
          name: "d",
          type,
          ...more,
          repetition_type: "REQUIRED",
          logical_type: { type: "DECIMAL", precision: 38, scale },
        },
      ],
    });
    const file = join(folder, `decimal-${type}-${scale}.parquet`);
    await writeFile(file, new Uint8Array(buffer));
    const taskset = await parquetTaskset<{ d: unknown }>(file);
    return Promise.all(integers.map(async (_, i) => (await taskset.get(i)).task.d));
  };
  // A number times a power of ten would be 0.30000000000000004 and 1234567.8900000001.
  expect(await write(1, [3n, -7n, 0n, 12n, -10n])).toEqual([0.3, -0.7, 0, 1.2, -1]);
  expect(await write(2, [123_456_789n, 5n, -1n])).toEqual([1_234_567.89, 0.05, -0.01]);
  if (type === "INT32") return;
  const large = 2n ** 53n + 1n;
  if (type === "BYTE_ARRAY") {
    await expect(write(0, [large])).rejects.toMatchObject({
      code: "data.malformed",
      message: expect.stringContaining("column d"),
    });
    return;
  }
  expect(await write(0, [large, -large])).toEqual(["9007199254740993", "-9007199254740993"]);
  expect(await write(4, [999_999_999_999_999_999n])).toEqual(["99999999999999.9999"]);
  expect(await write(18, [1_500_000_000_000_000_000n])).toEqual([1.5]);
});

test("decimals in lists, structures and maps are exact", async () => {
  const decimal = { type: "INT64", converted_type: "DECIMAL", scale: 1, precision: 18 } as const;
  const schema = {
    element: { name: "root" },
    children: [
      {
        element: { name: "list", converted_type: "LIST" },
        children: [
          {
            element: { name: "list", repetition_type: "REPEATED" },
            children: [{ element: { name: "element", ...decimal }, children: [] }],
          },
        ],
      },
      { element: { name: "repeated", repetition_type: "REPEATED", ...decimal }, children: [] },
      {
        element: { name: "struct" },
        children: [
          { element: { name: "a", ...decimal }, children: [] },
          { element: { name: "b", type: "INT64" }, children: [] },
        ],
      },
      {
        element: { name: "map", converted_type: "MAP" },
        children: [
          {
            element: { name: "key_value" },
            children: [
              { element: { name: "key" }, children: [] },
              { element: { name: "value", ...decimal }, children: [] },
            ],
          },
        ],
      },
    ],
  } as unknown as SchemaTree;
  const row = { list: [3n, null], repeated: [3n], struct: { a: 3n, b: 3n }, map: { a: 3n, b: null } };
  expect(exactDecimals(row, schema)).toEqual({
    list: [0.3, null],
    repeated: [0.3],
    struct: { a: 0.3, b: 3n },
    map: { a: 0.3, b: null },
  });
});
