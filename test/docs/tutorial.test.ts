import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { repository } from "../examples/run-program.ts";
import { codeBlocks } from "./code-blocks.ts";

it("the tutorial shows the environment that lyceum init writes", async () => {
  const template = await readFile(join(repository, "cli/template/environment.ts.template"), "utf8");
  const written = template.replaceAll("{{name}}", "my-env").split("\n");
  const shown = (await codeBlocks("docs/tutorial.md")).find(({ file }) => file === "environment.ts")!.code.split("\n");
  const isCode = (line: string): boolean => line.trim() !== "" && !/^\s*(\/\/|\/\*\*|\*)/.test(line);
  expect(shown.filter(isCode)).toEqual(written.filter(isCode));
});
