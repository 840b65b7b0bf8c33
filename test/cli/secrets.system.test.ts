import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, it, onTestFinished, vi } from "vitest";
import { type ChatServer, chatServer, completion } from "../core/policy/chat-server.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { runInProcess } from "./run-in-process.ts";

const key = "sk-planted/secret+0123456789";

let folder: string;
beforeEach(async () => {
  folder = temporaryFolder();
  vi.stubEnv("LYCEUM_API_KEY", key);
  onTestFinished(() => void vi.unstubAllEnvs());
});

const run = (...words: readonly string[]) => runInProcess(words, { folder });

/** Returns everything that was written under a folder. */
async function written(): Promise<string> {
  const files = await readdir(folder, { recursive: true, withFileTypes: true });
  const texts = files.filter((file) => file.isFile()).map((file) => readFile(join(file.parentPath, file.name), "utf8"));
  return (await Promise.all(texts)).join("\n");
}

/** A server that refuses requests with a text made from the key. */
async function refusing(text: (secret: string) => unknown, status = 401): Promise<ChatServer> {
  const server = await chatServer(() => ({ status, body: text(key) }));
  onTestFinished(() => server[Symbol.asyncDispose]());
  return server;
}

it.each<[string, (secret: string) => unknown]>([
  ["as it is", (secret) => ({ error: { message: `no such key: ${secret}` } })],
  ["with its scheme", (secret) => `Bearer ${secret}`],
  ["encoded for an address", (secret) => ({ detail: encodeURIComponent(secret) })],
  ["cut off", (secret) => `${"x".repeat(385)}${secret}`],
  ["twice", (secret) => ({ error: `${secret} ${secret}` })],
])("a server that lists no models and repeats the key %s does not get it printed", async (_, text) => {
  const { baseUrl } = await refusing(text);
  for (const flags of [[], ["--debug"]]) {
    const { code, stdout, stderr } = await run(...flags, "eval", "-e", "math", "-m", baseUrl, "-n", "1", "-o", "out");
    expect(code).not.toBe(0);
    expect(stderr).toContain("answered with status 401");
    expect(stdout + stderr + (await written())).not.toContain("planted");
    expect(stdout + stderr).not.toContain("sk-pla");
  }
});

it("keys in headers of a policy file are in no error, complete or without their scheme", async () => {
  const { baseUrl } = await refusing(() => ({ error: { message: "token hidden-value-99 of Basic hidden-value-99" } }));
  const policy = { model: "m", baseUrl, headers: { "x-token": "Basic hidden-value-99" } };
  await writeFile(join(folder, "policy.json"), JSON.stringify(policy));
  const { stdout, stderr } = await run("eval", "-e", "math", "-m", "policy.json", "-n", "1", "-o", "out");
  expect(stderr).toContain("answered with status 401");
  await rm(join(folder, "policy.json"));
  expect(stdout + stderr + (await written())).not.toContain("hidden-value");
});

it("a secret in a URL's query is in no file and not on the terminal", async () => {
  const server = await chatServer(({ messages }) =>
    messages === undefined ? { body: { data: [{ id: "m" }] } } : completion("7"),
  );
  onTestFinished(() => server[Symbol.asyncDispose]());
  const address = `${server.baseUrl}?key=query-secret-1#m`;
  const played = await run("eval", "-e", "math", "-m", address, "-n", "1", "-o", "out");
  expect(played).toMatchObject({ code: 0, stderr: "" });
  expect(played.stdout).toContain("?key=***#m");
  const again = await run("eval", "-e", "math", "-m", address, "-n", "2", "-o", "out", "--resume", "--json");
  expect(again).toMatchObject({ code: 0, stderr: "" });
  const collected = await run("collect", "-e", "math", "-m", address, "--episodes", "1", "-o", "rows.jsonl");
  expect(collected).toMatchObject({ code: 0, stderr: "" });
  expect(played.stdout + again.stdout + collected.stdout + (await written())).not.toContain("query-secret");
});

it("a failing server's address is shown without the secret of its query", async () => {
  const server = await chatServer(({ messages }) =>
    messages === undefined ? { body: { data: [] } } : { status: 400, body: "bad query-secret-2" },
  );
  onTestFinished(() => server[Symbol.asyncDispose]());
  const nothing = await run("eval", "-e", "math", "-m", `${server.baseUrl}?key=query-secret-2`, "-n", "1", "-o", "a");
  expect(nothing.stderr).toContain("serves no model");
  const refused = await run("eval", "-e", "math", "-m", `${server.baseUrl}?key=query-secret-2#m`, "-n", "1", "-o", "b");
  expect(refused.stderr + refused.stdout).toContain("status 400");
  const all = [nothing, refused].map(({ stdout, stderr }) => stdout + stderr).join("") + (await written());
  expect(all).not.toContain("query-secret");
});

it("literal keys among the options of an environment are not recorded", async () => {
  await writeFile(join(folder, "answers.mjs"), 'export default () => "<answer>7</answer>";');
  const options = ["engine=searxng", "engineUrl=http://127.0.0.1:1/?token=option-secret", "tools=[calculator]"];
  const words = ["-e", "tools", ...options.flatMap((option) => ["-s", option]), "-m", "scripted:answers.mjs"];
  const { code } = await run("eval", ...words, "-n", "1", "-o", "out");
  expect(code).toBe(0);
  expect((await run("collect", ...words, "--episodes", "1", "-o", "rows.jsonl")).code).toBe(0);
  expect(await written()).not.toContain("option-secret");
});

it("secrets in additional request fields and in a URL's path are in no file and in no error", async () => {
  const server = await chatServer(({ api_key }, index) =>
    index === 1 ? { status: 401, body: `bad ${String(api_key)} at hidden0path1value2345` } : completion("7"),
  );
  onTestFinished(() => server[Symbol.asyncDispose]());
  const policy = {
    model: "m",
    baseUrl: server.baseUrl.replace("/v1", "/hidden0path1value2345/v1"),
    extraBody: { api_key: "hidden-body-value-1", top_a: 0.5 },
  };
  await writeFile(join(folder, "policy.json"), JSON.stringify(policy));
  const played = await run("eval", "-e", "math", "-m", "policy.json", "-n", "2", "--concurrency", "1", "-o", "out");
  expect(server.requests.at(-1)!.body).toMatchObject({ api_key: "hidden-body-value-1", top_a: 0.5 });
  await rm(join(folder, "policy.json"));
  const all = played.stdout + played.stderr + (await written());
  expect(all).toContain('"top_a"');
  expect(all).not.toMatch(/hidden-body|hidden0path/);
});

it("secrets of a training config are in no checkpoint, report or log", async () => {
  const config = `
environment:
  id: tools
  tools: [calculator]
  engine: searxng
  engineUrl: "http://u:planted-password@127.0.0.1:1/planted0path1value2345/?token=planted-query"
  mcp: []
model: { scratch: { hiddenSize: 8, layers: 1, heads: 1, maxLength: 256 }, device: cpu, threads: 1 }
algorithm: { id: sft }
data: { overlong: truncate }
training: { steps: 1, batchSize: 1 }
rollout: { trace: true }
output: out
`;
  await writeFile(join(folder, "train.yaml"), config);
  const { code, stdout, stderr } = await run("train", "-c", "train.yaml");
  await rm(join(folder, "train.yaml"));
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const all = stdout + (await written());
  expect(all).toContain("searxng");
  expect(all).not.toContain("planted");
});
