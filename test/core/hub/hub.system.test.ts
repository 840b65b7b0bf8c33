import { readdir, readFile, realpath } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { downloadHubFile, type HubOptions, listHubFiles, resolveHubRevision } from "../../../src/core/hub/hub.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { type FakeHub, type FakeRepository, startFakeHub } from "./fake-hub.ts";

const first = "a".repeat(40);
const second = "b".repeat(40);
const weights = Buffer.from(Array.from({ length: 300_000 }, (_, i) => (i * 7 + (i >> 8)) % 256));

const model: FakeRepository = {
  type: "model",
  name: "owner/small",
  branches: { main: first, "refs/pr/1": second },
  commits: {
    [first]: { "config.json": "{}", "weights/model #1.bin": weights, empty: "" },
    [second]: { "config.json": '{"v":2}' },
  },
  large: ["weights/model #1.bin"],
};
const secret: FakeRepository = {
  type: "dataset",
  name: "owner/secret",
  branches: { main: first },
  commits: { [first]: { "rows.jsonl": "1\n" } },
  token: "hf_secret",
};

let hub: FakeHub;
let cacheFolder: string;
let options: HubOptions;

beforeEach(async () => {
  for (const name of ["HF_TOKEN", "HF_ENDPOINT", "HF_HOME", "HF_HUB_CACHE", "HF_HUB_OFFLINE"]) vi.stubEnv(name, "");
  hub = await startFakeHub([{ ...model, branches: { ...model.branches } }, secret]);
  cacheFolder = temporaryFolder();
  options = { hubUrl: hub.url, cacheFolder };
});
afterEach(async () => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  await hub[Symbol.asyncDispose]();
});

const config = { repository: "owner/small", type: "model", path: "config.json" } as const;
const big = { ...config, path: "weights/model #1.bin" } as const;
const closed: typeof fetch = () =>
  Promise.reject(new TypeError("fetch failed", { cause: new Error("getaddrinfo ENOTFOUND") }));

test("downloads into the cache layout of Python's tools, and prints nothing", async () => {
  const spies = [vi.spyOn(console, "debug"), vi.spyOn(console, "log"), vi.spyOn(console, "info")];
  const path = await downloadHubFile(big, options);
  expect(path).toBe(join(cacheFolder, "models--owner--small", "snapshots", first, "weights", "model #1.bin"));
  expect(Buffer.compare(await readFile(path), weights)).toBe(0);
  expect(await realpath(path)).toContain(join("models--owner--small", "blobs"));
  expect(await readFile(join(cacheFolder, "models--owner--small", "refs", "main"), "utf8")).toBe(first);
  for (const spy of spies) expect(spy).not.toHaveBeenCalled();
});

test("files of one revision are in one folder, whichever commit changed each last", async () => {
  const paths = await Promise.all(
    ["config.json", "empty"].map((path) => downloadHubFile({ ...config, path }, options)),
  );
  expect(new Set(paths.map((path) => path.slice(0, path.lastIndexOf(first) + 40))).size).toBe(1);
  expect(await readFile(paths[1]!, "utf8")).toBe("");
});

test("a cached file is not downloaded again, and needs no request at a commit hash", async () => {
  await downloadHubFile(big, options);
  const transfers = (): number => hub.requests.filter((request) => request.includes("/resolve/")).length;
  expect(transfers()).toBe(1);
  await downloadHubFile(big, options);
  expect(transfers()).toBe(1);
  const before = hub.requests.length;
  await downloadHubFile({ ...big, revision: first }, options);
  expect(hub.requests.length).toBe(before);
});

test("a branch that moved gives the new file, and equal content is stored once", async () => {
  const before = await downloadHubFile(config, options);
  const pull = await downloadHubFile({ ...config, revision: "refs/pr/1" }, options);
  expect([await readFile(before, "utf8"), await readFile(pull, "utf8")]).toEqual(["{}", '{"v":2}']);
  expect(await readdir(join(cacheFolder, "models--owner--small", "blobs"))).toHaveLength(2);
});

test("without the hub, files come from the cache", async () => {
  const path = await downloadHubFile(config, options);
  const listing = await listHubFiles(config, options);
  const offline = { ...options, fetch: closed };
  expect(await downloadHubFile(config, offline)).toBe(path);
  expect(await listHubFiles(config, offline)).toEqual(listing);
  expect(await resolveHubRevision(config, offline)).toBe(first);
  await expect(downloadHubFile(big, offline)).rejects.toMatchObject({
    code: "data.unavailable",
    message: expect.stringMatching(/weights\/model #1\.bin of model owner\/small.*ENOTFOUND/),
    hint: expect.stringContaining("local copy"),
  });
  await expect(downloadHubFile({ ...config, revision: "other" }, offline)).rejects.toMatchObject({
    code: "data.unavailable",
  });
});

test("a listing that was never requested falls back to the cached files", async () => {
  await downloadHubFile(big, options);
  expect(await listHubFiles(config, { ...options, fetch: closed })).toEqual([big.path]);
});

test("HF_HUB_OFFLINE sends no request to the hub", async () => {
  const path = await downloadHubFile(config, options);
  vi.stubEnv("HF_HUB_OFFLINE", "1");
  const before = hub.requests.length;
  expect(await downloadHubFile(config, options)).toBe(path);
  await expect(downloadHubFile(big, options)).rejects.toMatchObject({
    code: "data.unavailable",
    message: expect.stringContaining("HF_HUB_OFFLINE"),
  });
  expect(hub.requests.length).toBe(before);
});

test("the environment sets hub, cache and token", async () => {
  vi.stubEnv("HF_ENDPOINT", `${hub.url}/`);
  vi.stubEnv("HF_HOME", cacheFolder);
  vi.stubEnv("HF_TOKEN", "hf_secret");
  const path = await downloadHubFile({ repository: "owner/secret", type: "dataset", path: "rows.jsonl" });
  expect(path).toBe(join(cacheFolder, "hub", "datasets--owner--secret", "snapshots", first, "rows.jsonl"));
});

test("lists all pages, files only, sorted", async () => {
  expect(await listHubFiles(config, options)).toEqual(["config.json", "empty", "weights/model #1.bin"]);
});

test.each([
  ["a repository", { ...config, repository: "owner/none" }],
  ["a file", { ...config, path: "none.json" }],
  ["a revision", { ...config, revision: "v9" }],
  ["a commit", { ...config, revision: "c".repeat(40) }],
] as const)("%s that does not exist is not found", async (_name, file) => {
  await expect(downloadHubFile(file, options)).rejects.toMatchObject({
    code: "data.not-found",
    hint: expect.any(String),
  });
});

test("a file that was removed from the hub's branch is not served from the cache", async () => {
  await downloadHubFile(config, options);
  const gone = await startFakeHub([]);
  await expect(downloadHubFile(config, { ...options, hubUrl: gone.url })).rejects.toMatchObject({
    code: "data.not-found",
  });
  await gone[Symbol.asyncDispose]();
});

test("a private repository requires a token and accepts one", async () => {
  const file = { repository: "owner/secret", type: "dataset", path: "rows.jsonl" } as const;
  await expect(downloadHubFile(file, options)).rejects.toMatchObject({
    code: "data.not-found",
    hint: expect.stringContaining("HF_TOKEN"),
  });
  await expect(downloadHubFile(file, { ...options, token: "hf_wrong" })).rejects.toMatchObject({
    code: "data.not-found",
  });
  await expect(downloadHubFile(file, { ...options, token: "secret" })).rejects.toMatchObject({
    code: "config.invalid",
  });
  expect(await readFile(await downloadHubFile(file, { ...options, token: "hf_secret" }), "utf8")).toBe("1\n");
});

test("an error never shows the token", async () => {
  const error = await downloadHubFile({ ...config, path: "none" }, { ...options, token: "hf_mine" }).catch(
    (thrown) => thrown,
  );
  expect(JSON.stringify(error.toData())).not.toContain("hf_mine");
});

test("an error never shows a password or a query of the hub's address", async () => {
  for (const hubUrl of ["http://u:planted-password@127.0.0.1:1", "http://127.0.0.1:1/?token=planted-query"]) {
    const error = await downloadHubFile(config, { ...options, hubUrl }).catch((thrown) => thrown);
    expect(error).toMatchObject({ code: "data.unavailable" });
    expect(JSON.stringify(error.toData())).not.toContain("planted");
  }
});

test("the token is not sent to the host of large files", async () => {
  const authorizations: (string | undefined)[] = [];
  const start = async (answer: RequestListener): Promise<string> => {
    const server = createServer(answer);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  };
  const store = await start(({ headers }, response) => {
    authorizations.push(headers.authorization);
    response.end(weights);
  });
  const front = await start(({ headers }, response) => {
    authorizations.push(headers.authorization);
    response.writeHead(302, { location: store }).end();
  });
  const redirecting: typeof fetch = (input, init) => fetch(String(input).includes("/resolve/") ? front : input, init);
  const path = await downloadHubFile(big, { ...options, token: "hf_mine", fetch: redirecting });
  expect(Buffer.compare(await readFile(path), weights)).toBe(0);
  expect(authorizations).toEqual(["Bearer hf_mine", undefined]);
});

test("a connection that keeps breaking is resumed where it stopped", async () => {
  hub.faults.breakAfter = 70_000;
  const path = await downloadHubFile(big, options);
  expect(Buffer.compare(await readFile(path), weights)).toBe(0);
  expect(hub.ranges.length).toBeGreaterThan(1);
  expect(hub.ranges.every((range) => Number(/\d+/.exec(range)![0]) > 0)).toBe(true);
});

test("a download that was cut off is resumed in the next call", async () => {
  let transfers = 0;
  const cut: typeof fetch = async (input, init) => {
    if (String(input).includes("/resolve/") && ++transfers > 1) throw new TypeError("fetch failed");
    return fetch(input, init);
  };
  hub.faults.breakAfter = 100_000;
  await expect(downloadHubFile(big, { ...options, fetch: cut })).rejects.toMatchObject({ code: "data.unavailable" });
  delete hub.faults.breakAfter;
  const path = await downloadHubFile(big, options);
  expect(Buffer.compare(await readFile(path), weights)).toBe(0);
  expect(hub.ranges).toHaveLength(1);
  expect(await readdir(join(cacheFolder, "models--owner--small", "blobs"))).toHaveLength(1);
});

test("with a server that ignores ranges, the download starts again and the file is correct", async () => {
  let broken = false;
  const once: typeof fetch = (input, init) => {
    if (broken) delete hub.faults.breakAfter;
    if (String(input).includes("/resolve/")) broken = true;
    return fetch(input, init);
  };
  Object.assign(hub.faults, { breakAfter: 50_000, ignoreRange: true });
  const path = await downloadHubFile(big, { ...options, fetch: once });
  expect(Buffer.compare(await readFile(path), weights)).toBe(0);
});

test.each([
  ["corrupt", "checksum"],
  ["excess", "more bytes"],
] as const)("%s content is refused and leaves nothing behind", async (fault, reason) => {
  hub.faults[fault] = true;
  for (const file of [big, config]) {
    await expect(downloadHubFile(file, options)).rejects.toMatchObject({
      code: "data.unavailable",
      message: expect.stringContaining(reason),
    });
  }
  delete hub.faults[fault];
  expect(Buffer.compare(await readFile(await downloadHubFile(big, options)), weights)).toBe(0);
  expect(await readFile(await downloadHubFile(config, options), "utf8")).toBe("{}");
});

test("a busy hub is retried, and one that stays down is unavailable", async () => {
  hub.faults.failures = { status: 503, count: 1 };
  expect(await readFile(await downloadHubFile(config, options), "utf8")).toBe("{}");
  hub.faults.failures = { status: 500, count: 99 };
  await expect(downloadHubFile(big, options)).rejects.toMatchObject({ code: "data.unavailable" });
});

test("a hub that stops answering is given up", async () => {
  hub.faults.silent = true;
  await expect(downloadHubFile(config, { ...options, timeoutMs: 50 })).rejects.toMatchObject({
    code: "data.unavailable",
  });
});

test("an abort ends the download with the caller's reason", async () => {
  hub.faults.silent = true;
  const controller = new AbortController();
  const download = downloadHubFile(big, { ...options, signal: controller.signal });
  const watch = setInterval(() => {
    if (hub.requests.some((request) => request.includes("/resolve/"))) controller.abort(new Error("enough"));
  }, 5);
  await expect(download).rejects.toThrow("enough");
  clearInterval(watch);
});

test("concurrent downloads give complete files", async () => {
  const paths = await Promise.all(Array.from({ length: 8 }, () => downloadHubFile(big, options)));
  expect(new Set(paths).size).toBe(1);
  expect(Buffer.compare(await readFile(paths[0]!), weights)).toBe(0);
  expect(await readdir(join(cacheFolder, "models--owner--small", "blobs"))).toHaveLength(1);
  expect(await readdir(join(paths[0]!, ".."))).toEqual(["model #1.bin"]);
});

test.each([
  { ...config, path: "../outside" },
  { ...config, path: "/etc/passwd" },
  { ...config, path: "a//b" },
  { ...config, path: "a\\..\\b" },
  { ...config, repository: "../../etc" },
  { ...config, repository: "a/b/c" },
  { ...config, repository: "" },
  { ...config, revision: "../main" },
  { ...config, revision: "a b" },
])("refuses names that would leave the cache: %o", async (file) => {
  await expect(downloadHubFile(file, options)).rejects.toMatchObject({ code: "config.invalid" });
  expect(hub.requests).toEqual([]);
});
