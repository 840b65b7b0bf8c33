import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { catalogue } from "./catalogue.ts";
import { letterConfig, runEnd, runTraining, temporaryFolder } from "./run-training.ts";

/** Returns all files of the models in a run's last checkpoint. */
async function models(output: string): Promise<Record<string, string>> {
  const folder = join(output, "checkpoints", "step-000003");
  const files: Record<string, string> = {};
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || entry.name === "manifest.json") continue;
    const path = join(entry.parentPath, entry.name);
    files[path.slice(folder.length)] = await readFile(path, "utf8");
  }
  return files;
}

it.each(
  catalogue.map((entry) => ({ name: `${entry.id} ${JSON.stringify(entry.settings ?? {})}`, entry })),
)("$name, resumed in the middle, ends in the same weights", async ({ entry }) => {
  const config = letterConfig({
    algorithm: { id: entry.id, ...entry.settings },
    checkpoint: { every: 1 },
    training: { steps: 3, batchSize: 4 },
  });
  const whole = await temporaryFolder();
  expect((await runTraining({ output: whole, config, environment: entry.environment() })).error).toBeUndefined();

  const output = await temporaryFolder();
  const stop = new AbortController();
  const first = await runTraining({
    output,
    config,
    environment: entry.environment(),
    signal: stop.signal,
    onEvent: (event) => {
      if (event.type === "step" && event.step === 2) stop.abort();
    },
  });
  expect(runEnd(first).reason).toBe("aborted");
  const second = await runTraining({ output, config, environment: entry.environment(), resume: true });
  expect(runEnd(second).reason).toBe("completed");
  const found = await models(output);
  expect(Object.keys(found).length).toBeGreaterThan(0);
  expect(found).toEqual(await models(whole));
});
