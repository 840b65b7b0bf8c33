import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { environments } from "../../environments/index.ts";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import { type Protocol, type ServerUnderTest, serveUnderTest } from "../server/client/server-under-test.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { runInProcess } from "./run-in-process.ts";

let folder: string;
const servers: Partial<Record<Protocol, ServerUnderTest>> = {};
const token = "a-secret-token-of-the-test";
const run = (...words: readonly string[]) => runInProcess(words, { folder });

beforeAll(async () => {
  folder = temporaryFolder();
  await writeFile(join(folder, "answers.json"), '["7"]');
  const definition: EnvironmentDefinition = environments.create("math", { tasks: "arithmetic" });
  for (const protocol of ["openenv", "grpc"] as const) {
    servers[protocol] = await serveUnderTest(definition, { protocol, token });
  }
});
afterEach(() => vi.unstubAllEnvs());
afterAll(async () => {
  for (const server of Object.values(servers)) await server[Symbol.asyncDispose]();
});

describe.each(["openenv", "grpc"] as const)("an environment on a server over %s", (protocol) => {
  it("is evaluated, and the log has no token", async () => {
    vi.stubEnv("LYCEUM_SERVER_TOKEN", token);
    const { url } = servers[protocol]!;
    const log = `eval-${protocol}`;
    const words = ["-m", "scripted:answers.json", "-n", "8", "--seed", "3"];
    const remote = await run("eval", "-e", url, ...words, "-o", log);
    expect(remote).toMatchObject({ code: 0, stderr: "" });
    const local = await run("eval", "-e", "math", "-s", "tasks=arithmetic", ...words, "-o", `local-${protocol}`);
    const accuracy = ({ stdout }: typeof remote) => /accuracy\s+[\d.]+ ?%?/.exec(stdout)?.[0];
    expect(accuracy(remote)).toBeDefined();
    expect(accuracy(remote)).toBe(accuracy(local));
    const manifest = await readFile(join(folder, log, "evaluation.json"), "utf8");
    expect(JSON.parse(manifest).identity.environment.name).toBe(url);
    expect(manifest).not.toContain(token);
    expect(remote.stdout).not.toContain(token);
  });

  it("is rescored only if the command line names it", async () => {
    vi.stubEnv("LYCEUM_SERVER_TOKEN", token);
    const { url, host } = servers[protocol]!;
    const log = `rescored-${protocol}`;
    expect((await run("eval", "-e", url, "-m", "scripted:answers.json", "-n", "2", "-o", log)).code).toBe(0);
    const open = vi.spyOn(host, "open");
    const refused = await run("rescore", log, "-o", `${log}-no`);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain("a log contacts no server");
    expect(open).not.toHaveBeenCalled();
    const again = await run("rescore", log, "-o", `${log}-again`, "--env", url);
    expect(again).toMatchObject({ code: 0, stderr: "" });
    open.mockRestore();
  });

  it("is checked, and read from the variable that an option names", async () => {
    vi.stubEnv("ANOTHER_TOKEN", token);
    const { url } = servers[protocol]!;
    const refused = await run("check", url, "-n", "1", "--episodes", "2");
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toContain("LYCEUM_SERVER_TOKEN");
    const words = ["-s", "tokenVariable=ANOTHER_TOKEN", "-n", "1", "--episodes", "2"];
    expect(await run("check", url, ...words)).toMatchObject({ code: 0, stderr: "" });
  });

  it("gives data and trains from a config by its url", async () => {
    vi.stubEnv("LYCEUM_SERVER_TOKEN", token);
    const { url } = servers[protocol]!;
    const data = `data-${protocol}.jsonl`;
    expect(await run("collect", "-e", url, "-m", "scripted:answers.json", "-n", "3", "-o", data)).toMatchObject({
      code: 0,
    });
    const config = {
      environment: { url, callSeconds: 60 },
      algorithm: { id: "grpo", groupSize: 2 },
      model: { scratch: { layers: 1, hiddenSize: 32, heads: 2 } },
      sampling: { maxTokens: 4 },
      training: { steps: 1, batchSize: 2 },
    };
    await writeFile(join(folder, `${protocol}.json`), JSON.stringify(config));
    const trained = await run("train", "-c", `${protocol}.json`, "-o", `run-${protocol}`);
    expect(trained).toMatchObject({ code: 0, stderr: "" });
    const written = await readFile(join(folder, `run-${protocol}`, "config.yaml"), "utf8");
    expect(written).toContain(`id: ${url}`);
    expect(written).not.toContain(token);
  });
});

it("an address with a password or of another protocol is refused", async () => {
  const password = await run("check", "http://user:secret-password@127.0.0.1:1");
  expect(password.code).toBe(2);
  expect(password.stderr).toContain("contains a password");
  expect(password.stderr).not.toContain("secret-password");
  expect((await run("check", "ftp://127.0.0.1:1")).stderr).toContain("Code is not loaded from ftp: URLs");
});
