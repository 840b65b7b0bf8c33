import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Commands, createProgram, type TrainArguments } from "../../src/cli/create-program.ts";
import { openRooms } from "../../src/cli/rooms.ts";
import { runConfigSchema } from "../../src/cli/run-config.ts";
import { loadConfig } from "../../src/config/index.ts";
import { repository, runProgram } from "../examples/run-program.ts";
import { blocksOf, type CodeBlock, codeBlocks } from "./code-blocks.ts";

const manifest = JSON.parse(await readFile(join(repository, "package.json"), "utf8")) as {
  readonly name: string;
  readonly version: string;
  readonly scripts: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
};
const blocks = await blocksOf("sh");
const commands = blocks.flatMap((block) =>
  block.code
    .trim()
    .split(/\n| && /)
    .map((text) => ({ block, text })),
);

describe("the commands of the documents", () => {
  it("are there", () => {
    expect(commands.length).toBeGreaterThan(10);
  });

  it.each(
    commands.map(({ block, text }) => [`${block.document}:${block.line}`, text, block] as const),
  )("%s: %s", async (_, text, block) => {
    const words = wordsOf(text);
    const program = programOf(words);
    if (program !== undefined) await checkLyceum(program, block);
    else if (words[0] === "docker") checkImage(words);
    else checkNpm(words);
  });
});

/** The arguments of `lyceum`, however it is started; undefined for another program. */
function programOf(words: readonly string[]): readonly string[] | undefined {
  if (words[0] === "lyceum") return words.slice(1);
  if (words[0] === "npx" && words[1] === "lyceum") return words.slice(2);
  if (words.slice(0, 4).join(" ") === "npm run lyceum --") return words.slice(4);
  return undefined;
}

async function checkLyceum(args: readonly string[], block: CodeBlock): Promise<void> {
  let trained: TrainArguments | undefined;
  let informed = false;
  const stubs: Commands = {
    train: async (given) => {
      trained = given;
    },
    report: async () => {},
    init: async () => {},
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

/** A config is a file of the repository, or a block of the same document. */
async function checkConfig({ config, set }: TrainArguments, block: CodeBlock): Promise<void> {
  const { environments, algorithms } = await openRooms();
  const schema = runConfigSchema({ environments: environments.entries, algorithms });
  const inDocument = (await codeBlocks(block.document)).find(({ file }) => file === config);
  const source = inDocument === undefined ? { path: join(repository, config) } : { text: inDocument.code };
  await expect(loadConfig({ ...source, schema, overrides: set })).resolves.toBeDefined();
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
  else if (command === "rebuild") expect(Object.keys(manifest.dependencies)).toContain(target);
  else if (command === "install") expect(target).toMatch(new RegExp(`${manifest.name}-${manifest.version}\\.tgz$`));
  else expect(["ci", "pack"]).toContain(command);
}

/** The words of a line without expansions, quotes taken off. */
function wordsOf(text: string): string[] {
  return [...text.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain!);
}
