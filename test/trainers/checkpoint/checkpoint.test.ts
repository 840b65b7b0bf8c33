import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Json } from "../../../src/contract/json.ts";
import type { Model } from "../../../trainers/backend/training-backend.ts";
import type { CheckpointManifest } from "../../../trainers/checkpoint/checkpoint-manifest.ts";
import {
  listCheckpoints,
  newestCheckpoint,
  removePartialCheckpoints,
} from "../../../trainers/checkpoint/find-checkpoints.ts";
import { checkSameRun, configHash, runIdentity } from "../../../trainers/checkpoint/run-identity.ts";
import { writeCheckpoint } from "../../../trainers/checkpoint/write-checkpoint.ts";
import { checkConfig, type TrainingConfigInput } from "../../../trainers/config/training-config.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { createBigramBackend } from "../bigram-backend.ts";

function manifest(step: number): CheckpointManifest {
  return {
    step,
    taskCursor: 3 * step,
    environment: "letters",
    configHash: "0",
    config: {},
    metrics: { "reward/mean": 0.1 + 0.2, "loss/total": 1e-320 },
  };
}

const openModel = (): Promise<Model> =>
  createBigramBackend().openModel({
    source: { type: "scratch", config: {}, seed: 0 },
    trainable: { type: "full" },
  });

async function write(folder: string, step: number, options: { keep?: number; model?: Model } = {}): Promise<string> {
  const { keep = 10, model = await openModel() } = options;
  return writeCheckpoint({ folder, models: new Map([["model", model]]), manifest: manifest(step), keep });
}

describe("checkpoints", () => {
  it("are read back with all their content", async () => {
    const folder = join(temporaryFolder(), "deep", "checkpoints");
    const path = await write(folder, 12);
    expect(path).toBe(join(folder, "step-000012"));
    const models = { model: { valueHead: false } };
    const files = {
      "model/bigram.json": { bytes: expect.any(Number), sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
    };
    expect(await newestCheckpoint(folder)).toEqual({ path, manifest: { ...manifest(12), models, files } });
    expect(await readdir(path)).toEqual(["manifest.json", "model"]);
  });

  it("are ordered by step, also beyond a million", async () => {
    const folder = temporaryFolder();
    for (const step of [1_000_000, 9, 10, 999_999]) await write(folder, step);
    expect(await listCheckpoints(folder)).toEqual(
      ["step-000009", "step-000010", "step-999999", "step-1000000"].map((name) => join(folder, name)),
    );
    expect((await newestCheckpoint(folder))!.manifest.step).toBe(1_000_000);
  });

  it("are deleted except the newest", async () => {
    const folder = temporaryFolder();
    for (const step of [1, 2, 3, 4]) await write(folder, step, { keep: 2 });
    expect(await readdir(folder)).toEqual(["step-000003", "step-000004"]);
    await write(folder, 5, { keep: 1 });
    expect(await readdir(folder)).toEqual(["step-000005"]);
  });

  it("ignore and remove only the remains of interrupted writes", async () => {
    const folder = temporaryFolder();
    await write(folder, 2);
    await mkdir(join(folder, "step-000004.partial", "model"), { recursive: true });
    await writeFile(join(folder, "step-000004.partial", "manifest.json"), JSON.stringify(manifest(4)));
    await writeFile(join(folder, "notes.partial"), "mine");
    expect((await newestCheckpoint(folder))!.manifest.step).toBe(2);
    await removePartialCheckpoints(folder);
    expect(await readdir(folder)).toEqual(["notes.partial", "step-000002"]);
  });

  it.each([
    ["empty", ""],
    ["torn", '{"schemaVersion": 2, "step": 4'],
    ["of another version", JSON.stringify({ ...manifest(4), schemaVersion: 1 })],
    ["without a cursor", JSON.stringify({ ...manifest(4), taskCursor: undefined })],
  ])("skip and overwrite one whose manifest is %s", async (_, text) => {
    const folder = temporaryFolder();
    await write(folder, 2);
    const broken = await write(folder, 4);
    await writeFile(join(broken, "manifest.json"), text);
    expect((await newestCheckpoint(folder))!.manifest.step).toBe(2);
    await write(folder, 4);
    expect((await newestCheckpoint(folder))!.manifest.step).toBe(4);
    expect(await readdir(folder)).toEqual(["step-000002", "step-000004"]);
  });

  it("are an empty list for a folder that does not exist", async () => {
    const folder = join(temporaryFolder(), "missing");
    expect(await listCheckpoints(folder)).toEqual([]);
    expect(await newestCheckpoint(folder)).toBeUndefined();
    await removePartialCheckpoints(folder);
  });

  it("are complete or absent, whichever step of a write fails", async () => {
    for (const [code, reason] of [
      ["ENOSPC", "the disk is full"],
      ["EDQUOT", "the disk quota is used up"],
      ["EIO", "the disk reports an error"],
    ]) {
      const folder = temporaryFolder();
      const first = await write(folder, 1);
      const before = await readFile(join(first, "manifest.json"), "utf8");
      const model = await openModel();
      model.save = async (path) => {
        await mkdir(path, { recursive: true });
        await writeFile(join(path, "half"), "half");
        throw Object.assign(new Error(`${code}: write`), { code });
      };
      await expect(write(folder, 2, { model, keep: 1 })).rejects.toMatchObject({
        code: "checkpoint.write-failed",
        message: expect.stringContaining(`${reason} (${code}).`),
        hint: expect.stringContaining(`${first} is intact`),
        data: { code, previous: first },
      });
      expect(await readdir(folder)).toEqual(["step-000001"]);
      expect(await readFile(join(first, "manifest.json"), "utf8")).toBe(before);
    }
  });

  it("throw a typed error if the folder cannot be created", async () => {
    const file = join(temporaryFolder(), "file");
    await writeFile(file, "");
    await expect(write(join(file, "checkpoints"), 1)).rejects.toMatchObject({
      code: "checkpoint.write-failed",
      hint: expect.stringContaining("There is no earlier checkpoint"),
    });
  });
});

describe("run identity", () => {
  const config: TrainingConfigInput = { algorithm: { id: "grpo" }, model: { scratch: { layers: 2 } } };
  const identity = (changes: Partial<TrainingConfigInput> = {}, environmentOptions: Record<string, unknown> = {}) =>
    runIdentity({ config: checkConfig({ ...config, ...changes }), environment: "math", environmentOptions });
  const checkpointOf = (of: ReturnType<typeof identity>) => ({
    path: "runs/a/checkpoints/step-000001",
    manifest: { ...manifest(1), config: of, configHash: configHash(of) },
  });

  it.each<[string, Partial<TrainingConfigInput>, RegExp]>([
    ["seed", { seed: 3 }, /seed \(was 0, is 3\)/],
    ["a setting of the algorithm", { algorithm: { id: "grpo", groupSize: 4 } }, /algorithm\.groupSize \(was 8, is 4\)/],
    [
      "the model",
      { model: { path: "x" } },
      /model\.scratch\.layers \(was 2, is absent\).*model\.path \(was absent, is "x"\)/,
    ],
    ["sampling", { sampling: { topK: 5 } }, /sampling\.topK \(was absent, is 5\)/],
    ["a limit", { rollout: { limits: { turns: 2 } } }, /rollout\.limits\.turns/],
  ])("another %s is another run", (_, changes, message) => {
    expect(() => checkSameRun(checkpointOf(identity()), identity(changes))).toThrow(
      expect.objectContaining({ code: "checkpoint.unusable", message: expect.stringMatching(message) }),
    );
    expect(configHash(identity(changes))).not.toBe(configHash(identity()));
  });

  it("differs with another environment or other options", () => {
    const other = identity({}, { digits: 3 });
    expect(() => checkSameRun(checkpointOf(identity({}, { digits: 2 })), other)).toThrow(
      "environment.digits (was 2, is 3)",
    );
  });

  it("differs for an old run whose weight decay included biases and norms, but not for one without decay", () => {
    const decayed = identity({ training: { weightDecay: 0.1 } }) as {
      readonly training: Readonly<Record<string, Json>>;
    };
    const { notDecayed: _, ...training } = decayed.training;
    const earlier = { ...decayed, training };
    expect(() => checkSameRun(checkpointOf(earlier), decayed)).toThrow(
      'training.notDecayed (was absent, is ["biases","norms"])',
    );
    expect((identity() as { readonly training: object }).training).not.toHaveProperty("notDecayed");
  });

  it("does not depend on reports, output, hardware and length", () => {
    const changes: Partial<TrainingConfigInput> = {
      model: { ...config.model, device: "cpu", threads: 1 },
      rollout: { concurrency: 3, trace: true },
      evaluation: { split: "test", every: 3 },
      checkpoint: { every: 1, keep: 1 },
      export: { format: "none" },
      training: { steps: 7, sampleEvery: 0 },
    };
    expect(() => checkSameRun(checkpointOf(identity()), identity(changes))).not.toThrow();
    expect(configHash(identity(changes))).toBe(configHash(identity()));
  });
});
