import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createRandom } from "../../src/core/random/random.ts";
import { listCheckpoints, newestCheckpoint } from "../../trainers/checkpoint/find-checkpoints.ts";
import { folderContents, lyceum, tinyRunFolder } from "../cli/run-lyceum.ts";

const keep = 2;
const kills = 40;
const settings = {
  "training.steps": "400",
  "training.schedule": "cosine",
  "checkpoint.every": "1",
  "checkpoint.keep": `${keep}`,
  "evaluation.every": "100",
};

const trainWords = (output: string): string[] => [
  ...["train", "-c", "tiny.yaml", "-o", output],
  ...Object.entries(settings).flatMap(([key, value]) => ["-s", `${key}=${value}`]),
];

/** The hashes of the files of models and checkpoints, except manifests, which contain times. */
async function weights(output: string): Promise<[string, string][]> {
  const files = Object.entries(await folderContents(output));
  return files.filter(([name]) => /\bmodel\//.test(name)).toSorted();
}

test("a run that is killed many times ends with the weights of an uninterrupted run", async () => {
  const folder = await tinyRunFolder();
  const [straight, killed] = [join(folder, "straight"), join(folder, "killed")];
  expect((await lyceum(trainWords(straight), { folder })).code).toBe(0);

  const random = createRandom(1);
  const checkpoints = join(killed, "checkpoints");
  let step = 0;
  let died = 0;
  let tornCheckpoints = 0;
  for (;;) {
    const words = step === 0 ? trainWords(killed) : [...trainWords(killed), "--resume"];
    // Every fourth process is killed during its start, the others some time after their first step, most of them while
    // they write a checkpoint, because checkpoints follow each other directly. The last process runs to its end.
    const atStart = random.next() < 0.25;
    const afterMs = atStart ? random.integer(0, 900) : random.integer(0, 120);
    let doomed = died < kills;
    const { code, stderr } = await lyceum(words, {
      folder,
      onOutput: (output, child) => {
        if (!doomed || output.includes("\nstep ") === atStart) return;
        doomed = false;
        setTimeout(() => child.kill("SIGKILL"), afterMs);
      },
    });
    expect(stderr).toBe("");
    const names = await readdir(checkpoints).catch(() => []);
    tornCheckpoints += names.filter((name) => name.endsWith(".partial")).length;
    // One more than the kept ones, if the kill came between a new checkpoint and the removal of the oldest.
    expect((await listCheckpoints(checkpoints)).length).toBeLessThanOrEqual(keep + 1);
    const newest = (await newestCheckpoint(checkpoints))?.manifest.step ?? 0;
    expect(newest).toBeGreaterThanOrEqual(step);
    step = newest;
    if (code === 0) break;
    expect(code).toBeNull();
    died += 1;
  }
  expect(died).toBeGreaterThan(20);
  expect(tornCheckpoints).toBeGreaterThan(0);
  expect(await listCheckpoints(checkpoints)).toHaveLength(keep);
  expect(await weights(killed)).toEqual(await weights(straight));
  expect(Object.keys(await folderContents(killed)).toSorted()).toEqual(
    Object.keys(await folderContents(straight)).toSorted(),
  );
});
