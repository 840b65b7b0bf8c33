import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { locateModel } from "../../trainers/models/model-location.ts";
import { temporaryFolder } from "../temporary-folder.ts";

/** Creates a folder with these non-empty files. */
async function folderWith(...files: readonly string[]): Promise<string> {
  const folder = temporaryFolder();
  for (const file of files) {
    await mkdir(join(folder, dirname(file)), { recursive: true });
    await writeFile(join(folder, file), file.endsWith("manifest.json") ? manifest : "{}");
  }
  return folder;
}

const manifest = JSON.stringify({
  schemaVersion: 1,
  step: 2,
  taskCursor: 0,
  environment: "math",
  configHash: "0",
  config: {},
  metrics: {},
});

it("leaves a hub id and a path that does not exist to the backend", async () => {
  expect(await locateModel("owner/name")).toEqual({ type: "model", path: "owner/name" });
});

it("recognises model and adapter folders", async () => {
  for (const name of ["config.json", "adapter_config.json"]) {
    const folder = await folderWith(name);
    expect(await locateModel(folder)).toEqual({ type: "model", path: folder });
  }
});

it("recognises a checkpoint", async () => {
  const folder = await folderWith("manifest.json", "model/state.json");
  expect(await locateModel(folder)).toEqual({ type: "checkpoint", folder });
});

it("recognises a team by its model folders, and ignores incomplete and other folders", async () => {
  const folder = await folderWith(
    "aux/adapter_config.json",
    "agent%201/config.json",
    "main.partial/config.json",
    "notes/a.txt",
  );
  expect(await locateModel(folder)).toEqual({
    type: "team",
    folder,
    agents: { aux: join(folder, "aux"), "agent 1": join(folder, "agent%201") },
  });
});

it("resolves a run's folder to its exported model", async () => {
  const single = await folderWith("metrics.jsonl", "model/config.json", "checkpoints/step-000002/manifest.json");
  expect(await locateModel(single)).toEqual({ type: "model", path: join(single, "model") });
  const team = await folderWith("metrics.jsonl", "model/aux/config.json", "model/main/config.json");
  expect(await locateModel(team)).toMatchObject({ type: "team", folder: join(team, "model") });
});

it("resolves a run's folder without an exported model to its newest checkpoint", async () => {
  const folder = await folderWith("checkpoints/step-000001/manifest.json", "checkpoints/step-000002/manifest.json");
  const newest = join(folder, "checkpoints", "step-000002");
  expect(await locateModel(folder)).toEqual({ type: "checkpoint", folder: newest });
});

it("leaves an empty folder to the backend", async () => {
  const folder = await folderWith();
  expect(await locateModel(folder)).toEqual({ type: "model", path: folder });
});
