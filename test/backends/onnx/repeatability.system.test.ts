import { execFile } from "node:child_process";
import { mkdir } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it } from "vitest";
import { temporaryFolder } from "../../temporary-folder.ts";

const program = path.join(import.meta.dirname, "training-process.ts");

describe("training in a separate process", () => {
  let folder: string;
  beforeAll(async () => {
    folder = temporaryFolder();
  });

  /** Trains from step to step. The digest covers weights, optimizer states and samples, full and LoRA. */
  async function train(name: string, steps: { first: number; last: number; resumed?: string }): Promise<string> {
    const target = path.join(folder, name);
    await mkdir(target);
    const { first, last, resumed } = steps;
    const values = ["--first", String(first), "--last", String(last), "--folder", target];
    if (resumed !== undefined) values.push("--resumed", path.join(folder, resumed));
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [program, ...values]);
    expect(stderr).toBe("");
    expect(stdout).toMatch(/^[0-9a-f]{64}\n$/);
    return stdout;
  }

  it("ends with the same bits each time, also after a stop and a resume", async () => {
    const whole = await train("whole", { first: 1, last: 2 });
    expect(await train("again", { first: 1, last: 2 })).toBe(whole);
    const half = await train("half", { first: 1, last: 1 });
    expect(half).not.toBe(whole);
    expect(await train("resumed", { first: 2, last: 2, resumed: "half" })).toBe(whole);
  });
});
