import { execFile } from "node:child_process";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { repository, runProgram } from "../examples/run-program.ts";
import { createTinyHub, type TinyHub } from "../examples/tiny-hub.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { blocksOf, type CodeBlock } from "./code-blocks.ts";
import { documentedExamples, writeExamples } from "./export-examples.ts";

const blocks = await blocksOf("ts");
let project: string;
let hub: TinyHub;

/** Blocks of one document share a folder, so that one can import another. */
function pathOf({ document, file, line }: CodeBlock): string {
  return join(project, document.replace(/\W/g, "-"), file ?? `line-${line}.ts`);
}

beforeAll(async () => {
  project = temporaryFolder();
  hub = await createTinyHub();
  await symlink(join(repository, "node_modules"), join(project, "node_modules"), "junction");
  await writeFile(join(project, "package.json"), '{ "type": "module" }');
  const tsconfig = {
    extends: join(repository, "tsconfig.json"),
    compilerOptions: { declaration: false },
    include: ["."],
  };
  await writeFile(join(project, "tsconfig.json"), JSON.stringify(tsconfig));
  for (const block of blocks) {
    await mkdir(dirname(pathOf(block)), { recursive: true });
    await writeFile(pathOf(block), block.code);
  }
  const { ofRoot, ofSuites, ofServer } = await documentedExamples();
  await writeExamples(project, [...ofRoot, ...ofSuites, ...ofServer]);
});

afterAll(async () => {
  await hub[Symbol.asyncDispose]();
});

describe("the TypeScript of the documents", () => {
  it("has the example of the README as the README shows it", async () => {
    expect(blocks.length).toBeGreaterThan(10);
    const inReadme = blocks.filter(({ document }) => document === "README.md");
    const example = await readFile(join(repository, "examples/sums/sums.ts"), "utf8");
    expect(inReadme.map(({ code }) => code)).toEqual([`// sums.ts\n${example}`]);
  });

  // The compiler spends its time on what they import, so it reads both at once.
  it("has no type errors under the repository's own rules, and that of doc comments has none", async () => {
    const compiler = join(repository, "node_modules/typescript/bin/tsc");
    const { stdout } = await promisify(execFile)(process.execPath, [compiler, "-p", project]).catch(
      (error: { stdout: string }) => error,
    );
    expect(stdout).toBe("");
  });

  // All blocks share a process, whose start takes longer than most of them.
  it("runs, each document in a folder of its own", async () => {
    const lines = blocks.map((block) => {
      const path = pathOf(block);
      return `process.chdir(${JSON.stringify(dirname(path))});
await import(${JSON.stringify(pathToFileURL(path).href)}).catch((error) => failed.push([${JSON.stringify(path)}, error]));
`;
    });
    const script = join(project, "every-block.mjs");
    await writeFile(
      script,
      `const failed = [];\n${lines.join("")}for (const failure of failed) console.error(failure);\n`,
    );
    const { code, stderr } = await runProgram(script, { folder: project, environment: hub.environment });
    expect(stderr).toBe("");
    expect(code).toBe(0);
  });
});
