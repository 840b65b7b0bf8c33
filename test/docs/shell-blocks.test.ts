import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openCatalog } from "../../cli/catalog.ts";
import type { Commands } from "../../cli/create-program.ts";
import { createProgram, type TrainArguments } from "../../cli/create-program.ts";
import { loadStages } from "../../cli/load-stages.ts";
import { repository } from "../examples/run-program.ts";
import { runnerOf, shellCommands, slowDocuments } from "./shell-commands.ts";

const manifest = JSON.parse(await readFile(join(repository, "package.json"), "utf8")) as {
  readonly scripts: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
};
const commands = await shellCommands();
const marked = commands.filter(({ block }) => block.notRun !== undefined);
/** Commands of which only the slow tier runs all. */
const slow = commands.filter((command) => {
  const runner = runnerOf(command);
  return runner === "models" || (runner === "document" && slowDocuments.includes(command.block.document));
});

describe("the commands of the documents", () => {
  it("are run, or a comment explains why not", () => {
    const others = commands.filter((command) => command.block.notRun === undefined && runnerOf(command) === undefined);
    expect(others.map(({ place, text }) => `${place}: ${text}`)).toEqual([]);
    expect(commands.length - marked.length).toBeGreaterThan(100);
  });

  // A command that does not run, or not for each change, must be valid.
  it.each(
    [...marked, ...slow].map((command) => [`${command.place}: ${command.text}`, command] as const),
  )("%s is valid", async (_, command) => {
    const words = command.words.filter((word) => !/^[A-Z_]+=/.test(word));
    const [program, name, target = ""] = words;
    if (command.lyceum !== undefined) await checkLyceum(command.lyceum);
    else if (command.place.startsWith("docs/deploy.md")) checkRecipe(words);
    else if (program === "docker") checkImage(words);
    else if (name === "run") expect(Object.keys(manifest.scripts)).toContain(target);
    else if (name === "rebuild") expect(Object.keys(manifest.optionalDependencies)).toContain(target);
    else expect(command.text).toMatch(/^(npm install --save-dev node@24|grpcurl -plaintext .*)$/);
  });
});

async function checkLyceum(words: readonly string[]): Promise<void> {
  let trained: TrainArguments | undefined;
  const done = async (): Promise<void> => {};
  const stubs: Commands = {
    train: async (given) => {
      trained = given;
    },
    report: done,
    init: done,
    check: done,
    play: done,
    collect: done,
    export: done,
    eval: done,
    compare: done,
    rescore: done,
    view: done,
    capture: done,
    exportPython: done,
    exportHarbor: done,
    serve: done,
    serveModel: done,
    plan: done,
    migrate: done,
    info: done,
    setupTorch: done,
    torchNode: done,
  };
  await createProgram(stubs, { version: "0" }).parseAsync([...words], { from: "user" });
  if (trained === undefined) return;
  const { config, set } = trained;
  const path = join(repository, config);
  // The document writes its config itself. That is tested with its block.
  if (!existsSync(path)) return;
  const stages = await loadStages({ path, overrides: set, catalog: await openCatalog() });
  expect(stages.length).toBeGreaterThan(0);
}

/** The image is built from a folder of the package. The build copies it from the same folder here. */
function checkImage(words: readonly string[]): void {
  expect(words.slice(0, 3)).toEqual(["docker", "build", "-t"]);
  const folder = words[4]!.replace("node_modules/lyceum/dist/", "");
  expect(existsSync(join(repository, folder, "Dockerfile")), folder).toBe(true);
}

/** A command on the files of examples/serving. */
function checkRecipe(words: readonly string[]): void {
  expect(["cd", "export", "docker", "kubectl"]).toContain(words[0]);
  const paths = words.filter((word) => word.startsWith("examples/"));
  for (const path of paths) expect(existsSync(join(repository, path)), path).toBe(true);
}
