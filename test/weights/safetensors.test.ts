import { readdir, readFile, rm, symlink, truncate, writeFile } from "node:fs/promises";
import path from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { openWeights } from "../../trainers/model-folders/weights/safetensors.ts";
import { type TensorToWrite, writeSafetensors } from "../../trainers/model-folders/weights/safetensors-writer.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { writeRawFile } from "./weights-folder.ts";

const dtype = fc.constantFrom("F32", "F16", "BF16");
/** Values that every type represents exactly. */
const exactValue = fc.integer({ min: -128, max: 128 }).map((n) => n / 16);
const tensor = fc
  .record({ shape: fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 3 }), dtype })
  .chain(({ shape, dtype }) => {
    const count = shape.reduce((product, size) => product * size, 1);
    return fc
      .array(exactValue, { minLength: count, maxLength: count })
      .map((values) => ({ shape, dtype: dtype as "F32", data: Float32Array.from(values) }));
  });
const tensors = fc
  .dictionary(fc.string({ unit: "grapheme", minLength: 1, maxLength: 8 }), tensor, { maxKeys: 6 })
  .map((entries) => Object.entries(entries).map(([name, rest]): TensorToWrite => ({ name, ...rest })));

const one = (values: number[], name = "a"): TensorToWrite => ({
  name,
  shape: [values.length],
  data: Float32Array.from(values),
});

describe("writing and reading again", () => {
  it("gives the same tensors, in one file or in shards", async () => {
    await fc.assert(
      fc.asyncProperty(tensors, fc.constantFrom(1, 16, 1e9), async (written, maximumShardBytes) => {
        const folder = temporaryFolder();
        await writeSafetensors(path.join(folder, "model.safetensors"), written, { maximumShardBytes });
        await using weights = await openWeights(folder);
        expect(weights.names).toEqual(written.map((t) => t.name).toSorted());
        for (const { name, shape, data, dtype } of written) {
          expect(weights.info(name)).toMatchObject({ shape, dtype });
          expect(weights.info(name).byteOffset % (dtype === "F32" ? 4 : 2)).toBe(0);
          expect(await weights.read(name)).toEqual(data);
        }
        expect((await readdir(folder)).filter((name) => name.endsWith(".partial"))).toEqual([]);
      }),
      { numRuns: 60 },
    );
  });

  it("writes an aligned header with the format", async () => {
    const folder = temporaryFolder();
    const file = path.join(folder, "x.safetensors");
    expect(await writeSafetensors(file, [one([1])])).toEqual([file]);
    const bytes = await readFile(file);
    const length = Number(bytes.readBigUInt64LE());
    expect(length % 8).toBe(0);
    expect(JSON.parse(bytes.subarray(8, 8 + length).toString())).toEqual({
      __metadata__: { format: "pt" },
      a: { dtype: "F32", shape: [1], data_offsets: [0, 4] },
    });
  });

  it("names and indexes shards like transformers", async () => {
    const folder = temporaryFolder();
    const written = [one([1, 2], "b"), one([3], "a"), one([4], "c")];
    await writeSafetensors(path.join(folder, "model.safetensors"), written, { maximumShardBytes: 8 });
    expect((await readdir(folder)).toSorted()).toEqual([
      "model-00001-of-00003.safetensors",
      "model-00002-of-00003.safetensors",
      "model-00003-of-00003.safetensors",
      "model.safetensors.index.json",
    ]);
    expect(JSON.parse(await readFile(path.join(folder, "model.safetensors.index.json"), "utf8"))).toEqual({
      metadata: { total_size: 16 },
      weight_map: {
        a: "model-00001-of-00003.safetensors",
        b: "model-00002-of-00003.safetensors",
        c: "model-00003-of-00003.safetensors",
      },
    });
  });

  it("keeps tensors larger than a chunk in every type, also in shared memory", async () => {
    const folder = temporaryFolder();
    const data = Float32Array.from({ length: 5_000_001 }, (_, i) => (i % 255) - 127);
    const types = ["F32", "F16", "BF16"] as const;
    await writeSafetensors(
      path.join(folder, "model.safetensors"),
      types.map((dtype) => ({ name: dtype, shape: [data.length], dtype, data })),
    );
    await using weights = await openWeights(folder);
    const shared = new Float32Array(new SharedArrayBuffer(4 * (data.length + 2)));
    for (const dtype of types) {
      const into = shared.subarray(1, data.length + 1);
      into.fill(0);
      expect(await weights.read(dtype, into)).toBe(into);
      expect(Buffer.compare(Buffer.from(into.slice().buffer), Buffer.from(data.buffer))).toBe(0);
      expect([shared[0], shared.at(-1)]).toEqual([0, 0]);
    }
  });

  it("calls data functions one at a time", async () => {
    const folder = temporaryFolder();
    const made: string[] = [];
    const lazy = (name: string): TensorToWrite => ({
      name,
      shape: [2],
      data: async () => {
        made.push(name);
        return Float32Array.of(1, 2);
      },
    });
    await writeSafetensors(path.join(folder, "model.safetensors"), [lazy("b"), lazy("a")]);
    expect(made).toEqual(["a", "b"]);
  });
});

describe("reading", () => {
  it("accepts the path of a file", async () => {
    const folder = temporaryFolder();
    const file = path.join(folder, "adapter_model.safetensors");
    await writeRawFile(file, { a: { dtype: "BF16", shape: [1], data_offsets: [0, 2] } }, Uint8Array.of(0x80, 0x3f));
    await using weights = await openWeights(file);
    expect(await weights.read("a")).toEqual(Float32Array.of(1));
    expect(weights.has("a")).toBe(true);
    expect(weights.has("b")).toBe(false);
  });

  it.each(["I64", "U8", "BOOL", "F8_E4M3", "F4"])("refuses %s if floats are needed", async (type) => {
    const folder = temporaryFolder();
    const length = { I64: 16, F4: 1 }[type] ?? 2;
    const header = { a: { dtype: type, shape: [2], data_offsets: [0, length] } };
    await writeRawFile(path.join(folder, "model.safetensors"), header, new Uint8Array(length));
    await using weights = await openWeights(folder);
    expect(weights.info("a").dtype).toBe(type);
    await expect(weights.read("a")).rejects.toMatchObject({
      code: "model.unsupported",
      message: expect.stringContaining(type),
    });
  });

  it("refuses an array of another length, and an unknown name", async () => {
    const folder = temporaryFolder();
    await writeSafetensors(path.join(folder, "model.safetensors"), [one([1, 2])]);
    await using weights = await openWeights(folder);
    await expect(weights.read("a", new Float32Array(3))).rejects.toThrow(RangeError);
    await expect(weights.read("b")).rejects.toMatchObject({ code: "model.missing", data: { name: "b" } });
  });

  it("lists missing files", async () => {
    const folder = temporaryFolder();
    await expect(openWeights(folder)).rejects.toMatchObject({
      code: "model.missing",
      message: expect.stringContaining("model.safetensors"),
    });
    await writeSafetensors(path.join(folder, "model.safetensors"), [one([1], "a"), one([2], "b")], {
      maximumShardBytes: 4,
    });
    await rm(path.join(folder, "model-00002-of-00002.safetensors"));
    await expect(openWeights(folder)).rejects.toMatchObject({
      code: "model.missing",
      message: expect.stringContaining("model-00002-of-00002.safetensors"),
    });
  });

  it.each([
    ["no weight map", {}],
    ["a shard outside the folder", { weight_map: { a: "../model.safetensors" } }],
    ["a shard by its whole path", { weight_map: { a: "/etc/model.safetensors" } }],
    ["a shard that is no name", { weight_map: { a: 1 } }],
    ["a tensor that is not in its shard", { weight_map: { a: "one.safetensors", b: "one.safetensors" } }],
    ["a tensor that is in two shards", { weight_map: { a: "one.safetensors", b: "two.safetensors" } }],
  ])("refuses an index with %s", async (_, index) => {
    const folder = temporaryFolder();
    await writeSafetensors(path.join(folder, "one.safetensors"), [one([1], "a")]);
    await writeSafetensors(path.join(folder, "two.safetensors"), [one([1], "a"), one([1], "b")]);
    await writeFile(path.join(folder, "model.safetensors.index.json"), JSON.stringify(index));
    await expect(openWeights(folder)).rejects.toMatchObject({ code: "model.malformed" });
  });

  it("reports a file that was cut after it was opened", async () => {
    const folder = temporaryFolder();
    const file = path.join(folder, "model.safetensors");
    await writeSafetensors(file, [one([1, 2, 3])]);
    await using weights = await openWeights(folder);
    await truncate(file, (await readFile(file)).length - 4);
    await expect(weights.read("a")).rejects.toMatchObject({ code: "model.malformed" });
  });

  it("refuses a folder in place of a file", async () => {
    const folder = temporaryFolder();
    const inner = temporaryFolder();
    await symlink(inner, path.join(folder, "model.safetensors"));
    await expect(openWeights(folder)).rejects.toMatchObject({ code: expect.stringMatching(/^model\./) });
  });

  it("can be closed twice", async () => {
    const folder = temporaryFolder();
    await writeSafetensors(path.join(folder, "model.safetensors"), [one([1])]);
    const weights = await openWeights(folder);
    await weights.close();
    await weights.close();
  });
});

describe("writing that fails", () => {
  it("refuses data of another shape, and a name used twice", async () => {
    const folder = temporaryFolder();
    const file = path.join(folder, "model.safetensors");
    await expect(writeSafetensors(file, [{ ...one([1, 2]), shape: [3] }])).rejects.toThrow(RangeError);
    await expect(writeSafetensors(file, [one([1]), one([2])])).rejects.toThrow(RangeError);
  });
});
