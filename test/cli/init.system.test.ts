import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { promisify } from "node:util";
import { beforeEach, describe, expect, it } from "vitest";
import { initPackage } from "../../cli/init.ts";
import { readMetrics } from "../../reports/training/index.ts";
import { runInProcess } from "./run-in-process.ts";
import { folderContents, tinyRunFolder } from "./run-lyceum.ts";

const repository = join(import.meta.dirname, "../..");
const fromSource = join(repository, "scripts/import-from-source.ts");
const main = join(repository, "cli/main.ts");

let folder: string;
beforeEach(async () => {
  folder = await tinyRunFolder();
});

/** Runs Node in the new package, where "lyceum" resolves to the sources. */
async function node(...args: string[]): Promise<string> {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const cwd = join(folder, "my-env");
  const run = promisify(execFile)(process.execPath, ["--import", fromSource, ...args], { cwd, env });
  return (await run).stdout;
}

describe("lyceum init inside another package", () => {
  it("says so, and writes nothing if a person says no", async () => {
    await writeFile(join(folder, "package.json"), "{}");
    const { code, stdout } = await runInProcess(["init", "my-env"], { folder });
    expect(code).toBe(0);
    expect(stdout).toContain("my-env is a package of its own inside the one of");
    expect(stdout).toContain("workspaces");
    const here = process.cwd();
    process.chdir(folder);
    try {
      const asked: string[] = [];
      const confirm = (answer: boolean) => (question: string) => {
        asked.push(question);
        return Promise.resolve(answer);
      };
      await expect(initPackage("other", { confirm: confirm(false) })).rejects.toMatchObject({ code: "aborted" });
      expect(await readdir(folder)).not.toContain("other");
      expect((await initPackage("other", { confirm: confirm(true) })).files).toContain("environment.ts");
      expect(asked).toEqual(Array(2).fill(expect.stringContaining(join(folder, "package.json"))));
    } finally {
      process.chdir(here);
    }
  });
});

describe("lyceum init", () => {
  it("writes a package whose tests pass and whose configs train to a learning curve, one after the other", async () => {
    const { code, stdout, stderr } = await runInProcess(["init", "my-env"], { folder });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(
      /^my-env: .*\n\nNext:\n {2}cd my-env\n {2}npm run build --prefix \.\.\S*\n {2}npm install\n/,
    );
    const files = await readdir(join(folder, "my-env"));
    for (const file of files) {
      const text = await readFile(join(folder, "my-env", file), "utf8");
      expect(text, file).not.toMatch(/\{\{\w+\}\}/);
    }
    expect(files.toSorted()).toEqual([
      ".gitignore",
      "README.md",
      "environment.test.ts",
      "environment.ts",
      "grpo.yaml",
      "package.json",
      "tasks.jsonl",
      "train.yaml",
      "tsconfig.json",
    ]);
    expect(JSON.parse(await readFile(join(folder, "my-env/package.json"), "utf8"))).toMatchObject({
      name: "my-env",
      type: "module",
      // The clone that created it.
      dependencies: { lyceum: `file:${relative(join(folder, "my-env"), repository)}` },
    });

    expect(await node("--test", "--test-reporter=tap")).toMatch(/\n# pass 6\n# fail 0\n/);

    await node(main, "train");
    const output = join(folder, "my-env/runs/train");
    expect(await readFile(join(output, "report.html"), "utf8")).toContain("sft on my-env");
    const { events } = await readMetrics(join(output, "metrics.jsonl"));
    const curve = events.flatMap((event) => (event.type === "evaluation" ? [event.metrics["reward/mean"]!] : []));
    expect(curve[0]).toBeLessThan(0.1);
    expect(curve.at(-1)).toBeGreaterThan(0.5);

    await node(main, "train", "--config", "grpo.yaml", "--set", "training.steps=1");
    const practised = await readMetrics(join(folder, "my-env/runs/grpo/metrics.jsonl"));
    const evaluations = practised.events.filter((event) => event.type === "evaluation");
    // It starts with what the model has learned.
    expect(evaluations[0]!.metrics["reward/mean"]).toBeCloseTo(curve.at(-1)!, 6);
  });

  it("asks for the compiler that the package itself is checked with", async () => {
    await runInProcess(["init", "my-env"], { folder });
    const read = async (path: string) =>
      JSON.parse(await readFile(path, "utf8")) as { readonly devDependencies: Readonly<Record<string, string>> };
    const own = (await read(join(folder, "my-env/package.json"))).devDependencies;
    const ours = (await read(join(repository, "package.json"))).devDependencies;
    expect(own.typescript).toBe(`^${ours.typescript}`);
    expect(own["@types/node"]).toBe(`^${ours["@types/node"]!.split(".")[0]}.0.0`);
  });

  it("detects a broken environment with the generated tests", async () => {
    await runInProcess(["init", "my-env"], { folder });
    const path = join(folder, "my-env/environment.ts");
    const text = await readFile(path, "utf8");
    for (const [sound, broken] of [
      ["right ? 1 / task.word.length : 0", "right ? 1 : 0"],
      ["right ? 1 / task.word.length : 0", "1 / task.word.length"],
      ["[...word].reverse()", "[...word]"],
    ] as const) {
      expect(text).toContain(sound);
      await writeFile(path, text.replace(sound, broken));
      await expect(node("--test"), broken).rejects.toThrow();
    }
  });

  it("names a scoped package's folder by its last part", async () => {
    expect((await runInProcess(["init", "@me/my-env"], { folder })).code).toBe(0);
    expect(await readFile(join(folder, "my-env/package.json"), "utf8")).toContain('"@me/my-env"');
  });

  it.each([
    "My-Env",
    "my env",
    "../my-env",
    "a/b",
    ".hidden",
    "@me",
    "@/x",
    "lyceum",
    "node_modules",
    "fs",
    "",
    "..",
    "a".repeat(215),
  ])("refuses the name %j and writes nothing", async (name) => {
    const before = await folderContents(folder);
    const { code, stderr } = await runInProcess(["init", name], { folder });
    expect(stderr).toMatch(/^error\[config\.invalid\]: .*\n {2}\S/);
    expect(code).toBe(2);
    expect(await folderContents(folder)).toEqual(before);
  });

  it("refuses a folder that is not empty, and a file; accepts an empty folder", async () => {
    await mkdir(join(folder, "full"));
    await writeFile(join(folder, "full/mine.txt"), "mine");
    await writeFile(join(folder, "file"), "mine");
    const before = await folderContents(folder);
    for (const name of ["full", "file"]) {
      const { code, stderr } = await runInProcess(["init", name], { folder });
      expect(stderr).toMatch(/^error\[config\.invalid\]: .*\n {2}Choose another name/);
      expect(code).toBe(2);
    }
    expect(await folderContents(folder)).toEqual(before);
    await mkdir(join(folder, "empty"));
    expect((await runInProcess(["init", "empty"], { folder })).code).toBe(0);
  });
});
