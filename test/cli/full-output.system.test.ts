import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { tinyRunFolder } from "./run-lyceum.ts";

const main = join(import.meta.dirname, "../../cli/main.ts");

/** Runs a command whose output goes to a full disk. */
async function withFullOutput(words: readonly string[], folder: string): Promise<{ code: number; stderr: string }> {
  await using full = await open("/dev/full", "w");
  const child = spawn(process.execPath, [main, ...words], { cwd: folder, stdio: ["ignore", full.fd, "pipe"] });
  let stderr = "";
  child.stderr!.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const [code] = await once(child, "close");
  return { code, stderr };
}

const why = "The output could not be written: the disk is full (ENOSPC).\n";

describe.runIf(existsSync("/dev/full"))("output to a full disk", () => {
  it("does not end a training, which keeps its files", async () => {
    const folder = await tinyRunFolder();
    expect(await withFullOutput(["train", "-c", "tiny.yaml", "-o", "out"], folder)).toEqual({ code: 0, stderr: why });
    for (const name of ["metrics.jsonl", "report.html", "model/config.json", "checkpoints/step-000003/manifest.json"]) {
      expect(existsSync(join(folder, "out", name)), name).toBe(true);
    }
  });

  it("fails a command whose result is only its output", async () => {
    const folder = await tinyRunFolder();
    expect(await withFullOutput(["info", "--json"], folder)).toEqual({ code: 1, stderr: why });
  });
});
