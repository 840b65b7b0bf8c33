import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openCatalog } from "../../src/cli/catalog.ts";
import { type Commands, createProgram, type TrainArguments } from "../../src/cli/create-program.ts";
import { spelledOut } from "../../src/cli/load-run-config.ts";
import { runConfigSchema } from "../../src/cli/run-config.ts";
import { loadConfig } from "../../src/core/config/index.ts";
import { repository, runProgram } from "../examples/run-program.ts";
import { type CodeBlock, codeBlocks } from "./code-blocks.ts";
import { shellCommands } from "./shell-commands.ts";

const manifest = JSON.parse(await readFile(join(repository, "package.json"), "utf8")) as {
  readonly name: string;
  readonly version: string;
  readonly scripts: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
};
const commands = await shellCommands();

describe("the commands of the documents", () => {
  it("are there", () => {
    expect(commands.length).toBeGreaterThan(10);
  });

  it.each(
    commands.map((command) => [`${command.place}: ${command.text}`, command] as const),
  )("%s", async (_, command) => {
    const { words, lyceum, block } = command;
    if (lyceum !== undefined) await checkLyceum(lyceum, block);
    else if (words[0] === "docker") checkImage(words);
    else if (words[0] === "npx") expect(["tsc", "changeset"]).toContain(words[1]);
    else if (words[0] === "cd") expect(block.code).toContain(`lyceum init ${words[1]}`);
    else checkNpm(words);
  });
});

async function checkLyceum(args: readonly string[], block: CodeBlock): Promise<void> {
  let trained: TrainArguments | undefined;
  let informed = false;
  const stubs: Commands = {
    train: async (given) => {
      trained = given;
    },
    report: async () => {},
    init: async () => {},
    check: async () => {},
    play: async () => {},
    collect: async () => {},
    export: async () => {},
    eval: async () => {},
    compare: async () => {},
    rescore: async () => {},
    view: async () => {},
    migrate: async () => {},
    info: async () => {
      informed = true;
    },
  };
  await createProgram(stubs, { version: "0" }).parseAsync([...args], { from: "user" });
  if (trained !== undefined) await checkConfig(trained, block);
  if (!informed) return;
  const { code, stdout } = await runProgram(join(repository, "src/cli/main.ts"), {
    arguments: args,
    folder: repository,
  });
  expect(code).toBe(0);
  expect(stdout).toContain(manifest.version);
}

/** A config is a file of the repository, a block of the same document, or what `lyceum init` writes there. */
async function checkConfig({ config, set }: TrainArguments, block: CodeBlock): Promise<void> {
  const { environments, algorithms } = await openCatalog();
  const schema = runConfigSchema({ environments: environments.entries, algorithms });
  const blocks = await codeBlocks(block.document);
  const inDocument = blocks.find(({ file }) => file === config);
  const path = join(repository, `src/cli/template/${config}.template`);
  const inPackage = existsSync(path) && blocks.some(({ code }) => code.includes("lyceum init"));
  const template = inPackage ? await readFile(path, "utf8") : "";
  // The environment of a new package is a file that is not here.
  const text = inPackage ? template.replace("./environment.ts", "math") : inDocument?.code;
  const source = text === undefined ? { path: join(repository, config) } : { text };
  await expect(loadConfig({ ...source, schema, overrides: set, spellOut: spelledOut })).resolves.toBeDefined();
}

/** What would change the machine or take long is not run; it must name scripts and packages that exist. */
/** An image is built from a folder of the package, which the build copies from the same place here. */
function checkImage(words: readonly string[]): void {
  expect(words.slice(0, 3)).toEqual(["docker", "build", "-t"]);
  const folder = words[4]!.replace(`node_modules/${manifest.name}/dist/`, "");
  expect(existsSync(join(repository, folder, "Dockerfile")), folder).toBe(true);
}

function checkNpm(words: readonly string[]): void {
  const [program, command, target = ""] = words.filter((word) => !/^[A-Z_]+=/.test(word));
  expect(program).toBe("npm");
  if (command === "run") expect(Object.keys(manifest.scripts)).toContain(target);
  else if (command === "test") expect(manifest.scripts.test).toBeDefined();
  else if (command === "rebuild") expect(Object.keys(manifest.optionalDependencies)).toContain(target);
  else if (command === "install" && words.includes("--save-dev")) expect(target).toBe("--save-dev");
  else if (command === "install" && target !== "")
    expect(target).toMatch(new RegExp(`${manifest.name}-${manifest.version}\\.tgz$`));
  else expect(["ci", "init", "install", "pack", "pkg"]).toContain(command);
}
