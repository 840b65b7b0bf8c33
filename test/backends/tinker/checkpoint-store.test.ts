import { mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { CheckpointStore } from "../../../trainers/tinker/service/checkpoint-store.ts";

const own = {
  modelId: "m",
  kind: "sampler_weights",
  name: "a",
  overwrite: false,
  shape: { rank: 2, attention: true, mlp: true },
} as const;
const write = async (folder: string): Promise<void> => void (await mkdir(folder));

test("a name cannot be that of another checkpoint's description", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "lyceum-store-"));
  const store = new CheckpointStore(folder.path);
  const path = await store.save(own, write);
  const other = store.save({ ...own, name: "a.json", overwrite: true }, write);
  await expect(other).rejects.toMatchObject({ status: 400 });
  expect(await store.find(path)).toMatchObject({ path });
});

test("a checkpoint that failed can be saved again, and one that exists cannot", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "lyceum-store-"));
  const store = new CheckpointStore(folder.path);
  const failed = store.save(own, async (place) => {
    await write(place);
    throw new Error("The disk is full");
  });
  await expect(failed).rejects.toThrow("full");
  const path = await store.save(own, write);
  expect(await store.list()).toMatchObject([{ path }]);
  await expect(store.save(own, write)).rejects.toMatchObject({ status: 409 });
});

test("a description that was cut off does not hide the other checkpoints", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "lyceum-store-"));
  const store = new CheckpointStore(folder.path);
  const path = await store.save(own, write);
  const broken = await store.save({ ...own, name: "b" }, write);
  await writeFile(join(folder.path, "m", "sampler_weights", "b.json"), '{"path": "tink');
  expect(await store.list()).toMatchObject([{ path }]);
  await expect(store.find(broken)).rejects.toMatchObject({ status: 404 });
});
