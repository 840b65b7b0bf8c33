import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createMcpHandler } from "@modelcontextprotocol/server";
import { afterEach, beforeAll, expect, test, vi } from "vitest";
import { environments } from "../../../environments/index.ts";
import type { ToolsOptions } from "../../../environments/tools/tools-options.ts";
import { answerText, type ToolsTask } from "../../../environments/tools/tools-task.ts";
import type { EnvironmentDefinition } from "../../../src/contract/environment.ts";
import { isAlive } from "../../sandbox/isolated-vm-sandbox.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { wordServer } from "./mcp-server.ts";
import { callText, play, replyOf, rewardOf } from "./play.ts";
import { serve } from "./serve.ts";

const command = { command: process.execPath, args: [join(import.meta.dirname, "mcp-server.ts")] };
const count = callText("count_letters", { word: "strawberry", letter: "r" });
let folder = "";
beforeAll(async () => {
  folder = temporaryFolder();
  const task = { question: "How many r are in strawberry?", answer: 3, tools: ["count_letters"] };
  await writeFile(join(folder, "tasks.jsonl"), JSON.stringify(task));
});
afterEach(() => {
  vi.unstubAllEnvs();
});

const made = (mcp: unknown, options: Partial<ToolsOptions> = {}): EnvironmentDefinition<ToolsTask> =>
  environments.create("tools", {
    tools: [],
    path: join(folder, "tasks.jsonl"),
    ...options,
    mcp,
  }) as EnvironmentDefinition<ToolsTask>;

test("the key of a server does not follow a redirect, and no error contains it", async () => {
  const seen: string[] = [];
  await using other = await serve((request) => {
    seen.push(JSON.stringify([...request.headers]));
    return Response.json({});
  });
  for (const status of [302, 307, 308]) {
    await using http = await serve(() => new Response(null, { status, headers: { location: other.url } }));
    vi.stubEnv("WORDS_TOKEN", "planted-key-1");
    const environment = made([{ url: `${http.url}/mcp?t=planted-query-1`, headers: { "x-key": "$WORDS_TOKEN" } }]);
    const error: unknown = await Promise.resolve(environment.tasks("train")).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "data.unavailable", hint: expect.stringContaining("redirects") });
    expect(`${(error as Error).message}`).not.toContain("planted");
  }
  expect(seen).toEqual([]);
});

test("a config's servers, over stdio and HTTP, offer their tools to the model", async () => {
  const handler = createMcpHandler(wordServer);
  const headers: (string | null)[] = [];
  await using http = await serve((request) => {
    headers.push(request.headers.get("authorization"));
    return handler.fetch(request);
  });
  vi.stubEnv("WORDS_TOKEN", "Bearer secret");
  const environment = made([
    { url: `${http.url}/mcp`, headers: { authorization: "$WORDS_TOKEN" }, tools: ["count_letters"] },
    { ...command, env: { WORDS_KEY: "$WORDS_TOKEN" }, tools: ["key"] },
  ]);
  const { task } = await (await environment.tasks("train")).get(0);
  const instance = await environment.create();
  const first = await instance.reset({ task, seed: 0 });
  expect(JSON.stringify(first.agent!.messages)).toContain("count_letters");
  expect(first.agent!.tools).toBe(undefined);
  await instance.close();
  const results = await play(environment, task, [callText("key", {}), callText("fails", {}), count, answerText("3")]);
  expect(replyOf(results[0])).toContain("key: Bearer secret");
  expect(replyOf(results[1])).toContain('Unknown tool "fails"');
  expect(rewardOf(results)).toBeGreaterThan(0.9);
  expect(new Set(headers)).toEqual(new Set(["Bearer secret"]));
  expect(environment.spec.deterministic).toBe(false);
});

test("the native protocol has the servers' tools in each observation", async () => {
  const environment = made([{ ...command, tools: ["count_letters"] }], { protocol: "native", tools: ["calculator"] });
  const { task } = await (await environment.tasks("train")).get(0);
  await using instance = await opened(environment);
  const first = await instance.reset({ task, seed: 0 });
  expect(first.agent!.tools!.map(({ name }) => name)).toEqual(["calculator", "count_letters"]);
});

test("instances share a server, which ends with the last of them", async () => {
  const environment = made([command]);
  const { task } = await (await environment.tasks("train")).get(0);
  const ids = new Set<string>();
  const identify = async (): Promise<void> => {
    ids.add(/id (\d+)/.exec(replyOf((await play(environment, task, [callText("key", {})]))[0]))![1]!);
  };
  {
    await using _held = await opened(environment);
    await Promise.all([identify(), identify()]);
  }
  expect(ids.size).toBe(1);
  await expect.poll(() => isAlive(Number([...ids][0]))).toBe(false);
  await identify();
  expect(ids.size).toBe(2);
});

test("a call under way is repeated once only if its tool may run twice", async () => {
  const folder = temporaryFolder();
  const log = join(folder, "calls");
  vi.stubEnv("WORDS_LOG", log);
  const environment = made([{ ...command, env: { WORDS_LOG: "$WORDS_LOG" } }]);
  const { task } = await (await environment.tasks("train")).get(0);
  await using instance = await opened(environment);
  await instance.reset({ task, seed: 0 });
  for (const name of ["crash", "crash_idempotent", "crash_read_only"]) {
    const [step] = await play(environment, task, [callText(name, {})]);
    const { reward } = step!.agents.agent!;
    expect(reward).toMatchObject({ status: "unscored", error: { code: "data.unavailable" } });
    expect(JSON.stringify(reward).includes("may have run")).toBe(name === "crash");
  }
  const calls = (await readFile(log, "utf8")).trim().split("\n");
  expect(calls).toEqual(["crash", "crash_idempotent", "crash_idempotent", "crash_read_only", "crash_read_only"]);
  // The next call connects again.
  expect(rewardOf(await play(environment, task, [count, answerText("3")]))).toBeCloseTo(1, 12);
});

test("a server that dies is restarted, and one that dies at every call leaves the episode unscored", async () => {
  const environment = made([command]);
  const { task } = await (await environment.tasks("train")).get(0);
  await using instance = await opened(environment);
  await instance.reset({ task, seed: 0 });
  const results = await play(environment, task, [callText("crash", {})]);
  expect(results[0]!.agents.agent!.reward).toMatchObject({
    status: "unscored",
    error: { code: "data.unavailable", message: expect.stringContaining("the disk of the server is gone") },
  });
  const after = await play(environment, task, [count, answerText("3")]);
  expect(rewardOf(after)).toBeCloseTo(1, 12);
});

test.each<[string, unknown, string]>([
  ["neither command nor url", {}, "give either command or url"],
  ["both", { command: "x", url: "http://localhost" }, "give either command or url"],
  ["headers of a command", { command: "x", headers: {} }, "headers"],
  ["arguments of an address", { url: "http://localhost", args: [] }, "args"],
  ["an unknown key", { command: "x", argv: [] }, "argv"],
  ["an address of another protocol", { url: "ftp://localhost" }, "url"],
])("%s is rejected", (_, server, message) => {
  expect(() => made([server])).toThrow(
    expect.objectContaining({ code: "config.invalid", message: expect.stringContaining(message) }),
  );
});

test("a problem that only the server knows is reported when it connects", async () => {
  const message = (text: string) => ({ message: expect.stringContaining(text) });
  await expect(made([{ ...command, env: { A: "$NOT_SET_HERE" } }]).create()).rejects.toMatchObject(
    message("NOT_SET_HERE"),
  );
  await expect(made([{ ...command, tools: ["count_lettres"] }]).create()).rejects.toMatchObject({
    code: "config.unknown-name",
    hint: expect.stringContaining("count_letters"),
  });
  await expect(made([command, command]).create()).rejects.toMatchObject(message('"count_letters"'));
  await expect(made([{ command: "/no/such/program" }]).create()).rejects.toMatchObject({ code: "data.unavailable" });
  const tasks = await made([{ ...command, tools: ["key"] }]).tasks("train");
  await expect(tasks.get(0)).rejects.toMatchObject({ code: "data.malformed" });
});

async function opened(environment: EnvironmentDefinition<ToolsTask>) {
  const instance = await environment.create();
  return Object.assign(instance, { [Symbol.asyncDispose]: () => instance.close() });
}
