import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readTrace } from "../../src/core/trace/read-trace.ts";
import { train } from "../../trainers/training/train.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { createBigramBackend } from "./bigram-backend.ts";
import { letterEnvironment } from "./letter-environment.ts";
import { letterConfig, runEnd, runTraining } from "./run-training.ts";

const config = letterConfig({ checkpoint: { every: 1 }, rollout: { trace: true } });
const busy = { code: "config.invalid", message: expect.stringContaining("is being written by process") };
const locks = (names: readonly string[]): string[] => names.filter((name) => name.includes(".lock"));

describe("the folder of a training", () => {
  it("is locked: a second run in it, new or resumed, is refused before it changes anything", async () => {
    const output = join(temporaryFolder(), "out");
    const first = train({ environment: letterEnvironment(), backend: createBigramBackend(), config, output });
    let refused = 0;
    for await (const event of first) {
      if (event.type !== "step" || event.step > 3) continue;
      for (const resume of [true, false]) {
        const { events, error } = await runTraining({ config, output, resume });
        expect(error).toMatchObject(busy);
        expect(events).toEqual([]);
        refused += 1;
      }
    }
    expect(refused).toBe(6);
    expect(locks(await readdir(output))).toEqual([]);
    const played = await Array.fromAsync(readTrace(join(output, "trace.jsonl")));
    expect(new Set(played.map(({ id }) => id)).size).toBe(played.length);
    expect(runEnd(await runTraining({ config, output, resume: true })).reason).toBe("completed");
  });

  it("is unlocked after a run was refused or closed, and is not created for a run that cannot begin", async () => {
    const folder = temporaryFolder();
    const output = join(folder, "deep", "out");
    expect((await runTraining({ config, output, resume: true })).error).toMatchObject({ code: "checkpoint.unusable" });
    expect(existsSync(join(folder, "deep"))).toBe(false);
    const left = train({ environment: letterEnvironment(), backend: createBigramBackend(), config, output });
    for await (const event of left) if (event.type === "step") break;
    expect(locks(await readdir(output))).toEqual([]);
  });
});
