import { symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { repository, runProgram } from "../examples/run-program.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { documentedExamples, writeExamples } from "./export-examples.ts";

const { ofRoot, ofSuites, ofServer } = await documentedExamples();
const examples = [...ofRoot, ...ofSuites, ...ofServer];
let folder: string;

beforeAll(async () => {
  folder = temporaryFolder();
  await symlink(join(repository, "node_modules"), join(folder, "node_modules"), "junction");
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
  await writeExamples(folder, examples);
});

describe("the examples of the root's exports, the conformance suites and the server", () => {
  it("are in every doc comment, and use the export", () => {
    const used = ({ name, code = "" }: (typeof examples)[number]): boolean =>
      new RegExp(`import .*\\b${name}\\b.* from "lyceum(?:/(?:(?:sandbox/|trainers/)?testing|server))?";`).test(code);
    expect(ofRoot.length).toBeGreaterThan(50);
    expect(ofSuites.length).toBe(10);
    expect(ofServer.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["agentProgram", "captureServer", "workerRunner"]),
    );
    expect(examples.filter((example) => !used(example)).map(({ name }) => name)).toEqual([]);
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
