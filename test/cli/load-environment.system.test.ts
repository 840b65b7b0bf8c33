import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { withEnvironment } from "../../cli/load-environment.ts";
import { packageVersion } from "../../cli/package-version.ts";
import { defineEnvironment } from "../../src/core/environment/define-environment.ts";
import { createEnvironmentRegistry, defineEnvironmentEntry } from "../../src/core/environment/registry.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { runInProcess } from "./run-in-process.ts";
import { lyceum, tinyRunFolder } from "./run-lyceum.ts";

const riddles = defineEnvironmentEntry({
  id: "riddles",
  description: "Riddles.",
  options: z.object({}),
  create: () => defineEnvironment({ id: "riddles", tasks: ["a"], reset: () => "?", step: () => ({ reward: 1 }) }),
});
const registry = createEnvironmentRegistry([riddles, { ...riddles, id: "sums", version: "2.3.1" }]);

let folder: string;
beforeEach(async () => {
  folder = temporaryFolder();
});

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(join(folder, path)), { recursive: true });
  await writeFile(join(folder, path), text);
}

const source = (name: string): string => JSON.stringify(join(import.meta.dirname, "../../src", name));
/** Creates a module that exports an environment called `copy`, as `name`. */
const module = (name: string): string => `
import { defineEnvironment } from ${source("core/environment/define-environment.ts")};
const copy = defineEnvironment({
  id: "copy",
  tasks: ["a", "b", "c", "d"],
  reset: ({ task }) => task,
  step: ({ task, text }: { task: string; text: string }) => ({ reward: text === task ? 1 : 0 }),
  demonstrate: (task) => task,
});
${name === "default" ? "export default copy;" : `export const ${name} = copy;`}
`;
const entryModule = `
import { z } from ${JSON.stringify(import.meta.resolve("zod"))};
${module("copied")}
export const entry = {
  id: "copy", description: "Copies.", version: "1.4.0",
  options: z.object({ length: z.int().default(3) }),
  create: ({ length }) => ({ ...copied, spec: { ...copied.spec, id: "copy of " + length } }),
};`;

const load = (id: string) => withEnvironment(registry, id, { folder, project: folder });

describe("withEnvironment", () => {
  it.each(["environment", "default"])("takes the export %s of a file", async (name) => {
    await write("own/env.ts", module(name));
    const found = await load("./own/env.ts");
    expect(found.create("./own/env.ts").spec.id).toBe("copy");
    expect(found.list().map(({ id }) => id)).toEqual(["riddles", "sums", "./own/env.ts"]);
  });

  it("takes an entry with its options, and checks them", async () => {
    await write("env.ts", entryModule);
    const found = await load(join(folder, "env.ts"));
    expect(found.create(join(folder, "env.ts"), { length: 5 }).spec.id).toBe("copy of 5");
    expect(() => found.create(join(folder, "env.ts"), { size: 5 })).toThrow("cannot be created from these options");
  });

  it("accepts a package, also with an import condition, and with its version", async () => {
    const manifest = { name: "@me/copy", version: "1.2.3", type: "module", exports: { import: "./main.js" } };
    await write("node_modules/@me/copy/package.json", JSON.stringify(manifest));
    await write("node_modules/@me/copy/main.js", module("environment").replace(": { task: string; text: string }", ""));
    for (const id of ["@me/copy", "@me/copy@1", "@me/copy@1.2", "@me/copy@1.2.3"]) {
      expect((await load(id)).create(id).spec.id, id).toBe("copy");
    }
    for (const id of ["@me/copy@2", "@me/copy@1.20", "@me/copy@1.2.30"]) {
      await expect(load(id), id).rejects.toMatchObject({
        code: "config.invalid",
        message: expect.stringContaining("version 1.2.3 is installed"),
      });
    }
  });

  it("checks the version of a built-in environment: its own, or that of Lyceum", async () => {
    expect((await load("sums@2.3")).create("sums@2.3").spec.id).toBe("riddles");
    await expect(load("sums@3")).rejects.toMatchObject({ hint: expect.stringContaining('"sums@2.3.1"') });
    expect((await load(`riddles@${packageVersion()}`)).list()).toHaveLength(3);
    await expect(load("riddles@99")).rejects.toMatchObject({ code: "config.invalid" });
  });

  it.each([".", "./", "./package"])("finds what the package in folder %s exports", async (id) => {
    const inside = id === "./package" ? "package/" : "";
    await write(`${inside}package.json`, '{ "name": "copies", "type": "module", "exports": "./module.ts" }');
    await write(`${inside}module.ts`, module("environment"));
    expect((await load(id)).create(id).spec.id).toBe("copy");
  });

  it("does not change the registry for built-in names and for similar names", async () => {
    expect(await load("sums")).toBe(registry);
    expect(await load("sumz")).toBe(registry);
  });

  it.each([
    ["./nowhere.ts", "data.not-found", "There is no environment file"],
    [".", "data.not-found", "is not a file"],
    ["./", "data.not-found", "is not a file"],
    ["./broken", "environment.failed", "cannot be imported"],
    ["no-such-package", "config.unknown-name", "no package of this name is installed"],
    ["fs", "config.unknown-name", "not built in"],
    ["", "config.unknown-name", "not built in"],
    ["./throws.ts", "environment.failed", "out of luck"],
    ["./throws-nothing.ts", "environment.failed", "undefined"],
    ["./throws-bare.ts", "environment.failed", "[object Object]"],
    ["./syntax.ts", "environment.failed", "cannot be imported"],
    ["./missing-import.ts", "environment.failed", "not-there"],
    ["./nothing.ts", "environment.contract", 'exports neither "environment"'],
    ["./other-version.ts", "environment.contract", 'specificationVersion "v2" instead of "v1"'],
    ["./no-version.ts", "environment.contract", "specificationVersion undefined"],
    ["./number.ts", "environment.contract", "is not an environment definition"],
    ["./no-spec.ts", "environment.contract", "has an incomplete spec"],
    ["./no-tasks.ts", "environment.contract", "has no tasks function"],
    ["./no-schema.ts", "environment.contract", "options is not a z.object"],
    ["broken", "environment.failed", "cannot be imported"],
  ])("refuses %j with %s", async (id, code, words) => {
    await write("throws.ts", 'throw new Error("out of luck");');
    await write("throws-nothing.ts", "throw undefined;");
    await write("throws-bare.ts", "throw Object.create(null);");
    await write("syntax.ts", "const x: = 1;");
    await write("missing-import.ts", 'import "./not-there.ts";');
    await write("nothing.ts", "export const world = 1;");
    await write("other-version.ts", 'export const environment = { specificationVersion: "v2" };');
    await write("no-version.ts", "export const environment = {};");
    await write("number.ts", "export default 7;");
    await write("no-spec.ts", 'export default { specificationVersion: "v1" };');
    const spec = '{ specificationVersion: "v1", spec: { id: "x", agents: ["agent"] }, splits: ["train"] }';
    await write("no-tasks.ts", `export default ${spec};`);
    await write("no-schema.ts", 'export const entry = { id: "x", description: "", options: {}, create: () => 1 };');
    await write("broken/package.json", "{");
    await write("node_modules/broken/package.json", '{ "name": "broken", "exports": { "./other": "./x.js" } }');
    await expect(load(id)).rejects.toMatchObject({
      code,
      message: expect.stringContaining(words),
      hint: expect.stringMatching(/\S/),
    });
  });

  it("keeps the hint of a definition that Lyceum refuses", async () => {
    const tools = '{ add: { description: "", inputSchema: { type: "object" }, execute: () => "" } }';
    const definition = module("environment").replace("tasks:", `tools: ${tools}, tasks:`);
    await write("wrong-tool.ts", definition);
    await expect(load("./wrong-tool.ts")).rejects.toMatchObject({
      code: "environment.failed",
      hint: expect.stringContaining("jsonSchema() of the AI SDK"),
    });
  });
});

describe("lyceum train with the user's own environment", () => {
  const set = ["-s", "environment={id: ./env.ts}", "-s", "evaluation={}", "-s", "training.steps=1"];

  it("takes a file relative to the config, from any folder", async () => {
    const home = await tinyRunFolder();
    await writeFile(join(home, "env.ts"), module("environment"));
    const { code, stderr, stdout } = await runInProcess(["train", "-c", join(home, "tiny.yaml"), ...set], { folder });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^run: sft on copy, /);
  });

  it("uses train.yaml if no config is given, and reports if it is missing", async () => {
    const home = await tinyRunFolder();
    const { code, stderr } = await runInProcess(["train"], { folder: home });
    expect(code).toBe(2);
    expect(stderr).toContain("There is no config file train.yaml");
    await writeFile(join(home, "env.ts"), module("environment"));
    await writeFile(
      join(home, "train.yaml"),
      "environment: { id: ./env.ts }\nalgorithm: { id: sft }\nmodel: { scratch: { hiddenSize: 16, layers: 1, heads: 2 } }\ntraining: { steps: 1 }\n",
    );
    expect((await runInProcess(["train"], { folder: home })).stdout).toMatch(/^run: sft on copy, /);
  });

  it("refuses options that the environment does not take, with their line", async () => {
    const home = await tinyRunFolder();
    await writeFile(join(home, "env.ts"), entryModule);
    const config = "environment:\n  id: ./env.ts\n  lenght: 2\nalgorithm: { id: sft }\nmodel: { scratch: {} }\n";
    await writeFile(join(home, "train.yaml"), config);
    const { code, stderr } = await runInProcess(["train"], { folder: home });
    expect(stderr).toMatch(
      /^error\[config\.invalid\]: train\.yaml:3:3: unknown key "lenght".*\n {2}Did you mean "length"/,
    );
    expect(code).toBe(2);
  });

  it("says what to do with an installed package that is TypeScript", async () => {
    const home = await tinyRunFolder();
    const installed = join(home, "node_modules/typed");
    await mkdir(installed, { recursive: true });
    await writeFile(join(installed, "package.json"), '{ "name": "typed", "type": "module", "exports": "./x.ts" }');
    await writeFile(join(installed, "x.ts"), "export const x: number = 1;");
    const { code, stderr } = await lyceum(["train", "-c", "tiny.yaml", "-s", "environment.id=typed"], { folder: home });
    expect(stderr).toMatch(
      /^error\[environment\.failed\]: .*"typed" cannot be imported.*\n {2}.*Publish it as JavaScript/,
    );
    expect(code).toBe(1);
  });

  it("names the type of the package if Node reads a module as CommonJS", async () => {
    const home = await tinyRunFolder();
    await writeFile(join(home, "package.json"), '{ "type": "commonjs" }');
    await writeFile(join(home, "mine.ts"), 'import "node:path";\nexport const environment = 1;');
    const { code, stderr } = await lyceum(["play", "./mine.ts"], { folder: home });
    expect(stderr).toMatch(/error\[environment\.failed\]: .*\n {2}It is read as CommonJS, by "type": "commonjs"/);
    expect(code).toBe(1);
  });
});
