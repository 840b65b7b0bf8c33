import { existsSync } from "node:fs";
import { cp, mkdtemp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Json } from "../../src/contract/json.ts";
import { readManifest } from "../../src/evaluation/log/read-log.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { runInProcess } from "./run-in-process.ts";

let folder: string;
const run = (...words: readonly string[]) => runInProcess(words, { folder });
/** Set by every module here that is loaded. */
const loaded = globalThis as { codeRan?: string };
const code =
  "globalThis.codeRan = 'yes'; export const environment = 1; export const algorithm = 1; export default ['x'];";

beforeAll(async () => {
  folder = temporaryFolder();
  await writeFile(join(folder, "answers.json"), '["7"]');
  await writeFile(join(folder, "hostile.mjs"), code);
  const source = JSON.stringify(join(import.meta.dirname, "../../src/core/environment/define-environment.ts"));
  const zod = JSON.stringify(import.meta.resolve("zod"));
  await writeFile(
    join(folder, "own.ts"),
    `import { z } from ${zod};
import { defineEnvironment } from ${source};
export const entry = {
  id: "own", description: "Own.", options: z.object({ worth: z.int().default(1), judge: z.string().optional() }),
  policies: ({ judge }) => ({ judge }),
  create: ({ worth }) => defineEnvironment({
    id: "own", rewardRange: [0, 9], tasks: ["a"], reset: () => "?", step: () => ({ reward: worth }),
  }),
};
`,
  );
  expect((await run("eval", "-e", "math", "-m", "scripted:answers.json", "-n", "1", "-o", "math")).code).toBe(0);
  const own = await run(
    "eval",
    "-e",
    "./own.ts",
    "-s",
    "worth=4",
    "-m",
    "scripted:answers.json",
    "-n",
    "1",
    "-o",
    "own",
  );
  expect(own.code).toBe(0);
});
beforeEach(() => {
  delete loaded.codeRan;
});

/** Copies an evaluation, with another environment and other options in its log. */
async function changedLog(environment: { name: string; options?: Json }, from = "math"): Promise<string> {
  const path = await mkdtemp(join(folder, "log-"));
  await cp(join(folder, from), path, { recursive: true });
  const manifest = JSON.parse(await readFile(join(path, "evaluation.json"), "utf8"));
  manifest.identity.environment = { options: {}, ...environment };
  await writeFile(join(path, "evaluation.json"), JSON.stringify(manifest));
  return path;
}

describe("rescore loads no code that only the log names", () => {
  it.each([
    `data:text/javascript,${code}`,
    ` data:text/javascript;base64,${Buffer.from(code).toString("base64")}`,
    "DATA:text/javascript,x.js",
    "./hostile.mjs",
    "hostile.mjs",
    "node:fs",
    "zod",
    "zod@4",
    "file:///etc/passwd",
    "../own.ts",
  ])("an environment %j", async (name) => {
    const log = await changedLog({ name });
    const { code: status, stderr } = await run("rescore", log, "-o", `${log}-again`);
    expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringContaining("a log loads no code") });
    expect(loaded.codeRan).toBeUndefined();
  });

  it("the module of a log's own folder", async () => {
    const log = await changedLog({ name: "placeholder" });
    await writeFile(join(log, "inside.mjs"), code);
    const changed = await changedLog({ name: join(log, "inside.mjs") });
    expect((await run("rescore", changed, "-o", `${log}-again`)).code).toBe(2);
    expect(loaded.codeRan).toBeUndefined();
  });

  it.each<[string, Json]>([
    ["debate", { judge: "scripted:hostile.mjs" }],
    ["debate", { judge: { model: "scripted:hostile.mjs" } }],
    ["debate", { judge: "http://127.0.0.1:1/v1#judge" }],
    ["code", { mode: "expert_edits", expert: "scripted:./hostile.mjs" }],
    ["tools", { mcp: [{ command: "touch", args: ["started"] }] }],
    ["tools", { engine: "brave", engineUrl: "http://127.0.0.1:1" }],
  ])("an option of %s that opens a policy, a program or an address: %j", async (name, options) => {
    const log = await changedLog({ name, options });
    for (const env of [[], ["--env", name]]) {
      const { code: status, stderr } = await run("rescore", log, "-o", `${log}-again`, ...env);
      expect({ status, stderr }).toEqual({
        status: 2,
        stderr: expect.stringMatching(/The log (names the|sets the option)/),
      });
      expect(stderr).toContain("--set '");
    }
    expect(loaded.codeRan).toBeUndefined();
    expect(existsSync(join(folder, "started"))).toBe(false);
  });

  it("the options of a benchmark", async () => {
    const log = await changedLog({ name: "tools", options: { mcp: [{ command: "touch", args: ["started"] }] } });
    const manifest = JSON.parse(await readFile(join(log, "evaluation.json"), "utf8"));
    manifest.name = "tools";
    manifest.identity.prompt = { format: "chat", shots: 0 };
    await writeFile(join(log, "evaluation.json"), JSON.stringify(manifest));
    const { stderr } = await run("rescore", log, "-o", `${log}-again`);
    expect(stderr).toContain("The log sets the option mcp");
    expect(existsSync(join(folder, "started"))).toBe(false);
  });
});

describe("rescore --env", () => {
  it("keeps the recorded options, and --set replaces them", async () => {
    expect((await run("rescore", "own", "-o", "own-b", "--env", "./own.ts")).code).toBe(0);
    expect((await readManifest(join(folder, "own-b"))).identity.environment).toEqual({
      name: "./own.ts",
      options: { worth: 4 },
    });
    expect((await run("rescore", "own", "-o", "own-c", "--env", "./own.ts", "--set", "worth=7")).code).toBe(0);
    expect((await readManifest(join(folder, "own-c"))).identity.environment.options).toEqual({ worth: 7 });
  });

  it("ignores options that another environment does not have, with a warning", async () => {
    const log = await changedLog({ name: "./own.ts", options: { worth: 2, height: 3 } }, "own");
    const { code: status, stdout } = await run("rescore", log, "-o", `${log}-again`, "--env", "./own.ts");
    expect({ status, stdout }).toEqual({
      status: 0,
      stdout: expect.stringContaining("the recorded option height is ignored"),
    });
    expect((await readManifest(`${log}-again`)).identity.environment.options).toEqual({ worth: 2 });
  });

  it("opens a recorded policy of that environment only if it is named again", async () => {
    const judge = "scripted:answers.json";
    const log = await changedLog({ name: "./own.ts", options: { judge } }, "own");
    expect((await run("rescore", log, "-o", `${log}-again`, "--env", "./own.ts")).code).toBe(2);
    const again = await run("rescore", log, "-o", `${log}-again`, "--env", "./own.ts", "--set", `judge=${judge}`);
    expect(again).toMatchObject({ code: 0, stderr: "" });
  });
});

describe("code is loaded only from files", () => {
  const inline = `data:text/javascript,${code}`;
  const base64 = `data:text/javascript;base64,${Buffer.from(code).toString("base64")}`;
  it.each([
    inline,
    `${inline}//x.js`,
    base64,
    `${base64}@1.0`,
    "file:///x.mjs",
    "blob:x",
  ])("an environment %j", async (id) => {
    await writeFile(join(folder, "run.json"), JSON.stringify({ environment: { id }, algorithm: "grpo", model: "m" }));
    const mixed = { environments: [{ id: "math" }, { id }], algorithm: "grpo", model: "m" };
    await writeFile(join(folder, "mixed.json"), JSON.stringify(mixed));
    for (const words of [
      ["eval", "-e", id, "-m", "scripted:answers.json", "-o", "refused"],
      ["check", id],
      ["info", id],
      ["rescore", "math", "-o", "refused", "--env", id],
      ["collect", "-e", id, "-m", "scripted:answers.json", "-o", "refused.jsonl"],
      ["train", "--config", "run.json"],
      ["train", "--config", "mixed.json"],
    ]) {
      const { code: status, stderr } = await run(...words);
      expect({ words: words.slice(0, 1), status, stderr }).toEqual({
        words: words.slice(0, 1),
        status: 2,
        stderr: expect.stringContaining("Code is not loaded from"),
      });
    }
    expect(loaded.codeRan).toBeUndefined();
  });

  it.each([
    ["a script", ["eval", "-e", "math", "-m", `scripted:${inline}`, "-o", "refused"]],
    ["a script that ends in .js", ["eval", "-e", "math", "-m", `scripted:${inline}//x.js`, "-o", "refused"]],
    ["a model", ["eval", "-e", "math", "-m", inline, "-o", "refused"]],
    ["a judge", ["eval", "-e", "debate", "-m", "scripted:answers.json", "--judge", inline, "-o", "refused"]],
    ["a rubric", ["rescore", "math", "-o", "refused", "--rubric", inline]],
    ["a rubric that ends in .js", ["rescore", "math", "-o", "refused", "--rubric", `${inline}//x.js`]],
  ])("%s", async (_, words) => {
    expect((await run(...words)).code).not.toBe(0);
    expect(loaded.codeRan).toBeUndefined();
  });

  it.each([inline, `${inline}//x.js`])("an algorithm %j", async (id) => {
    const config = { environment: "math", algorithm: { id }, model: { scratch: {} }, training: { steps: 1 } };
    await writeFile(join(folder, "algorithm.json"), JSON.stringify(config));
    expect((await run("train", "--config", "algorithm.json", "--output", "refused")).code).not.toBe(0);
    expect(loaded.codeRan).toBeUndefined();
  });
});
