import { execFile } from "node:child_process";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { repository, runProgram } from "../examples/run-program.ts";
import { exportExamples } from "./export-examples.ts";

const rootExamples = await exportExamples(join(repository, "src/index.ts"));
const suites = ["src/entry-points/testing.ts", "sandbox/testing/index.ts", "trainers/testing/index.ts"];
const suiteExamples = (await Promise.all(suites.map((path) => exportExamples(join(repository, path)))))
  .flat()
  .filter(({ name }) => name.endsWith("Conformance"));
const serverExamples = (await exportExamples(join(repository, "server/index.ts"))).filter(
  ({ code }) => code !== undefined,
);
const examples = [...rootExamples, ...suiteExamples, ...serverExamples];
let folder: string;

/** The example with an assertion for each line `EXPRESSION; // => VALUE`. */
function asserted(code: string): string {
  const lines = code.replaceAll(/^(\S.*); \/\/ => (.+)$/gm, "assert.deepStrictEqual($1, $2);");
  return `import assert from "node:assert/strict";\n${lines}`;
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "lyceum-examples-"));
  await symlink(join(repository, "node_modules"), join(folder, "node_modules"), "junction");
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
  const tsconfig = {
    extends: join(repository, "tsconfig.json"),
    compilerOptions: { declaration: false },
    include: ["."],
  };
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify(tsconfig));
  // Numbered, because some file systems ignore case.
  for (const [index, { code = "" }] of examples.entries()) {
    await writeFile(join(folder, `example-${index}.ts`), asserted(code));
  }
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe("the examples of the root's exports, the conformance suites and the server", () => {
  it("are in every doc comment, and use the export", () => {
    const used = ({ name, code = "" }: (typeof examples)[number]): boolean =>
      new RegExp(`import .*\\b${name}\\b.* from "lyceum(?:/(?:(?:sandbox/|trainers/)?testing|server))?";`).test(code);
    expect(rootExamples.length).toBeGreaterThan(50);
    expect(suiteExamples.length).toBe(10);
    expect(serverExamples.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["agentProgram", "captureServer", "workerRunner"]),
    );
    expect(examples.filter((example) => !used(example)).map(({ name }) => name)).toEqual([]);
  });

  it("have no type errors", async () => {
    const compiler = join(repository, "node_modules/typescript/bin/tsc");
    const compiled = await promisify(execFile)(process.execPath, [compiler, "-p", folder]).catch(
      (error: { stdout: string }) => error,
    );
    expect(compiled.stdout).toBe("");
  });

  it("run, with the values that they show", async () => {
    const names = examples.map(({ name }) => name);
    const main = `const failed = [];
for (const [index, name] of ${JSON.stringify(names)}.entries()) {
  await import(\`./example-\${index}.ts\`).catch((error) => failed.push(\`\${name}: \${error.stack}\`));
}
console.log(failed.join("\\n"));
`;
    await writeFile(join(folder, "main.mjs"), main);
    const { code, stdout, stderr } = await runProgram(join(folder, "main.mjs"), { folder });
    expect(stderr).toBe("");
    expect(stdout).toBe("\n");
    expect(code).toBe(0);
  });
});
