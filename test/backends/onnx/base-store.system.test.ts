import { cp, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { beforeAll, expect, it } from "vitest";
import { BaseStore } from "../../../trainers/backends/onnx/engine/base-store.ts";
import { createOnnxBackend } from "../../../trainers/backends/onnx/index.ts";
import { modelChecksumsFile } from "../../../trainers/model-folders/weights/model-checksums.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { tinyConfig } from "./tiny-config.ts";

let folder: string;
const copies = ["a", "b"].map((name) => () => ({ type: "folder", folder: path.join(folder, name) }) as const);

beforeAll(async () => {
  folder = temporaryFolder();
  await using backend = await createOnnxBackend({ device: "cpu", threads: 1 });
  const source = { type: "scratch", config: tinyConfig, seed: 1 } as const;
  const model = await backend.openModel({ source, trainable: { type: "full" } });
  await model.export(path.join(folder, "a"), "huggingface");
  await rm(path.join(folder, "a", modelChecksumsFile));
  await cp(path.join(folder, "a"), path.join(folder, "b"), { recursive: true });
});

it("keeps equal weights in memory once, also from several folders, until the last user releases them", async () => {
  const store = new BaseStore();
  const [a, b] = copies as [() => Parameters<BaseStore["share"]>[0], () => Parameters<BaseStore["share"]>[0]];
  const first = await store.share(a());
  expect(await store.share(a())).toBe(first);
  expect(await store.share(b())).toBe(first);
  expect([store.release(a()), store.release(a())]).toEqual([false, false]);
  expect(await store.share(b())).toBe(first);
  expect([store.release(b()), store.release(b()), store.release(b())]).toEqual([false, true, false]);
  expect(await store.share(b())).not.toBe(first);
});

it("reads a folder again after its users are gone, even if another user has its earlier weights", async () => {
  const store = new BaseStore();
  const changing = path.join(folder, "d");
  await cp(path.join(folder, "a"), changing, { recursive: true });
  const source = { type: "folder", folder: changing } as const;
  const first = await store.share(copies[0]!());
  expect(await store.share(source)).toBe(first);
  expect(store.release(source)).toBe(false);
  const config = path.join(changing, "config.json");
  const json = JSON.parse(await readFile(config, "utf8")) as Record<string, unknown>;
  await writeFile(config, JSON.stringify({ ...json, rope_theta: 77 }));
  const second = await store.share(source);
  expect(second).not.toBe(first);
  expect(second.config.rope?.theta).toBe(77);
});

it("keeps weights apart that differ only in a value that the hash does not cover", async () => {
  const other = path.join(folder, "c");
  await cp(path.join(folder, "a"), other, { recursive: true });
  const file = path.join(other, "model.safetensors");
  const bytes = await readFile(file);
  // The second value of the last tensor, of two or four bytes. Only every 997th value is hashed.
  bytes[bytes.length - 6]! ^= 1;
  await writeFile(file, bytes);
  const store = new BaseStore();
  const first = await store.share({ type: "folder", folder: path.join(folder, "a") });
  expect(await store.share({ type: "folder", folder: other })).not.toBe(first);
});
