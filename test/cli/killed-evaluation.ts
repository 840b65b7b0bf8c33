import { statSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { createRandom } from "../../src/core/random/random.ts";
import { readTrace } from "../../src/core/trace/read-trace.ts";
import { readSummary } from "../../src/evaluation/log/read-log.ts";
import { evalFolder, timeless } from "./eval-folder.ts";
import { lyceum } from "./run-lyceum.ts";

const words = (output: string): string[] =>
  `eval --env ./uneven.ts -m demonstration --samples 4 --k 1,2,4 --concurrency 3 -o ${output}`.split(" ");

/**
 * Kills an evaluation many times, each time after its index has grown by a random share, and resumes it. The final
 * result must equal that of an uninterrupted one, with every episode once.
 */
export async function killEvaluation(options: { readonly kills: number; readonly seed: number }): Promise<void> {
  const { kills, seed } = options;
  const folder = await evalFolder();
  expect(await lyceum(words("straight"), { folder })).toMatchObject({ code: 0, stderr: "" });
  const straight = await readSummary(join(folder, "straight"));
  const sizeOf = (run: string): number =>
    statSync(join(folder, run, "index.jsonl"), { throwIfNoEntry: false })?.size ?? 0;
  const whole = sizeOf("straight");

  const random = createRandom(seed);
  let died = 0;
  for (let kill = 0; kill < kills; kill++) {
    const done = sizeOf("killed");
    const due = done + random.next() * ((whole - done) / (kills - kill));
    const { code, stderr } = await lyceum([...words("killed"), ...(kill === 0 ? [] : ["--resume"])], {
      folder,
      onOutput: (output, child) => {
        if (output !== "" || child.listenerCount("exit") > 0) return;
        const timer = setInterval(() => {
          if (sizeOf("killed") > due) child.kill("SIGKILL");
        }, 1);
        child.once("exit", () => clearInterval(timer));
      },
    });
    expect(stderr).toBe("");
    if (code === null) died += 1;
  }
  expect(died).toBeGreaterThanOrEqual(Math.ceil(kills / 2));
  expect(await lyceum([...words("killed"), "--resume"], { folder })).toMatchObject({ code: 0, stderr: "" });
  expect(timeless(await readSummary(join(folder, "killed")))).toEqual(timeless(straight));
  for (const file of ["episodes.jsonl", "failures.jsonl"]) {
    const ids = async (run: string): Promise<string[]> => {
      const episodes = await Array.fromAsync(readTrace(join(folder, run, file)));
      return episodes.map(({ id }) => id).sort();
    };
    expect(await ids("killed")).toEqual(await ids("straight"));
  }
}
