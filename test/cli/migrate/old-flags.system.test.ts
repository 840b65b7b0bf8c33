import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { oldFlags } from "../../../cli/migrate/old-flags.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { runInProcess } from "../run-in-process.ts";
import { tinyRunFolder } from "../run-lyceum.ts";

async function emptyFolder(): Promise<string> {
  const folder = temporaryFolder();
  return folder;
}

/** Runs a command line as it is printed, without the name of the program. */
async function run(line: string, folder: string): Promise<{ code: number | null; stdout: string; stderr: string }> {
  return runInProcess(line.split(" "), { folder });
}

describe("mrlm eval", () => {
  it("needs no output: each evaluation gets its own folder", async () => {
    const folder = await emptyFolder();
    for (const kept of ["runs/eval/math-demonstration", "runs/eval/math-demonstration-2"]) {
      const { code, stdout } = await run("eval --model demonstration --environment math --num-episodes 2", folder);
      expect(code).toBe(0);
      expect(stdout).toContain(`  ${kept}\n`);
      expect(existsSync(join(folder, kept, "summary.json"))).toBe(true);
    }
  });

  it("with a JSON file also writes the summary there", async () => {
    const folder = await emptyFolder();
    const line = "eval --model demonstration --environment tool --num-episodes 2 --output results/tool.json";
    const { code, stdout } = await run(line, folder);
    expect(code).toBe(0);
    expect(stdout).toContain("  results/tool\n");
    const [written] = JSON.parse(await readFile(join(folder, "results/tool.json"), "utf8"));
    expect(written).toMatchObject({ folder: "results/tool", counts: { played: 2 } });
  });

  it("resumes a run that is given", async () => {
    const { code, stderr } = await run("eval --model demonstration --env math --resume", await emptyFolder());
    expect(code).toBe(2);
    expect(stderr).toContain("--resume needs --output");
  });
});

describe("mrlm collect", () => {
  it("accepts its flags, and a model without --policy", async () => {
    const folder = await emptyFolder();
    const flags = "--environment math --num-episodes 5 --filter-reward 0.5";
    const { code, stdout } = await run(`collect --model demonstration ${flags} --output data/t.json`, folder);
    expect(code).toBe(0);
    expect(stdout).toContain("5 conversations written");
    expect((await readFile(join(folder, "data/t.json"), "utf8")).trim().split("\n")).toHaveLength(5);
    const short = await run("collect --model ./nowhere -e math -n 5 -o data/u.jsonl", folder);
    expect(short.stderr).toContain("nowhere");
  });
});

describe("mrlm train --resume CHECKPOINT", () => {
  it("resumes the run of the checkpoint, and refuses other paths", async () => {
    const folder = await tinyRunFolder();
    expect((await run("train --config tiny.yaml --output out", folder)).code).toBe(0);
    const more = "train --config tiny.yaml --set training.steps=4";
    const resumed = await run(`${more} --resume out/checkpoints/step-000003`, folder);
    expect(resumed.code).toBe(0);
    expect(resumed.stdout).toMatch(/step 4\/4/);
    const whole = await run("train --config tiny.yaml --set training.steps=5 --resume out", folder);
    expect(whole.stdout).toMatch(/step 5\/5/);

    for (const [target, code, message] of [
      ["out/checkpoints/step-000003", 2, "is not the newest checkpoint of its run: step-000005 is"],
      ["out/model", 2, "is a model, not a checkpoint"],
      ["nowhere", 2, "There is no checkpoint nowhere"],
      ["out --output elsewhere", 2, "is in out, not in elsewhere"],
    ] as const) {
      const refused = await run(`train --config tiny.yaml --resume ${target}`, folder);
      expect([target, refused.code, refused.stderr]).toEqual([target, code, expect.stringContaining(message)]);
    }
  });

  it("resumes a stage of a run with several stages", async () => {
    const folder = await tinyRunFolder();
    const tiny = await readFile(join(folder, "tiny.yaml"), "utf8");
    const stages = "stages: [{ training: { steps: 2 } }, { algorithm: reinforce, training: { steps: 2 } }]\n";
    await writeFile(join(folder, "two.yaml"), tiny + stages);
    expect((await run("train --config two.yaml --output out", folder)).code).toBe(0);
    const more =
      "train --config two.yaml --set stages.1.training.steps=3 --resume out/2-reinforce/checkpoints/step-000002";
    const { code, stdout, stderr } = await run(more, folder);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(/step 3\/3/);
  });
});

it("every old flag is accepted", async () => {
  const folder = await emptyFolder();
  await mkdir(join(folder, "x"));
  for (const { command, flag } of oldFlags) {
    const [name] = flag.split(" ") as [string];
    const required = { train: "", eval: "-m x -e y", collect: "-e y -o z", serve: "-e y" }[command];
    const words = [command, ...required.split(" "), name, "1", "--no-such-flag"].filter((word) => word !== "");
    const { stderr } = await run(words.join(" "), folder);
    expect([name, stderr]).toEqual([name, expect.stringContaining("unknown option '--no-such-flag'")]);
  }
});
