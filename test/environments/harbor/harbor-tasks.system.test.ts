import { describe, expect, test, vi } from "vitest";
import type { HarborTask } from "../../../environments/harbor/harbor-task.ts";
import { installFailure } from "../../../environments/harbor/install-failure.ts";
import { readReward } from "../../../environments/harbor/reward-file.ts";
import { hasWindowsLines, withUnixLines } from "../../../environments/harbor/script-lines.ts";
import { readTaskConfig } from "../../../environments/harbor/task-config.ts";
import { harborEnvironment } from "../../../environments/index.ts";
import { fileChanges } from "../../../sandbox/docker/workspace/file-changes.ts";
import { writeTask } from "./harbor-tasks.ts";

const range = [0, 1] as const;
const json = (text: string) => readReward({ json: Buffer.from(text), text: undefined }, range);
const plain = (text: string) => readReward({ json: undefined, text: Buffer.from(text) }, range);

describe("a reward file", () => {
  test("has a number, or numbers by name", () => {
    expect(plain("0.5\n")).toMatchObject({ value: 0.5, components: { reward: 0.5 } });
    expect(json("0.5")).toMatchObject({ value: 0.5, components: { reward: 0.5 } });
    expect(json('{"score": 0.5}')).toMatchObject({ value: 0.5, components: { score: 0.5 } });
    expect(json('{"a": 0.25, "reward": 0.5}')).toMatchObject({ value: 0.5, components: { a: 0.25, reward: 0.5 } });
  });

  test("is cut to the range", () => {
    expect(plain("7")).toMatchObject({ value: 1, components: { reward: 7 } });
    expect(plain("-7")).toMatchObject({ value: 0 });
  });

  test.each([
    ["no file", readReward({ json: undefined, text: undefined }, range)],
    ["a large file", readReward({ json: "too-large", text: Buffer.from("1") }, range)],
    ["an empty file", plain("")],
    ["text", plain("good")],
    ["NaN", plain("NaN")],
    ["infinity", plain("1e999")],
    ["infinity as JSON", json('{"reward": 1e999}')],
    ["no JSON", json('{"reward": NaN}')],
    ["a text in JSON that is no number", json('{"reward": "one"}')],
    ["a list of names", json('{"a": 1, "b": 1}')],
    ["nothing named", json("{}")],
    ["null", json("null")],
  ])("that has %s earns the lowest reward", (_, reward) => {
    expect(reward).toMatchObject({ status: "scored", value: 0, failure: { name: "VerifierFailure" } });
  });
});

describe("task.toml", () => {
  const read = (text: string) => readTaskConfig(text, "task.toml");

  test("has limits, users and timeouts", () => {
    const text = `version = "1.0"
[agent]
timeout_sec = 60
user = 1000
[verifier]
timeout_sec = 30
env = { MODE = "strict" }
[environment]
cpus = 2
memory = "2G"
storage_mb = 512
workdir = "/work"`;
    expect(read(text)).toEqual({
      agent: { user: "1000", network: true, seconds: 60 },
      verifier: { network: true, seconds: 30, environment: { MODE: "strict" } },
      buildSeconds: 600,
      cpus: 2,
      memoryMb: 2048,
      storageMb: 512,
      environment: {},
      folder: "/work",
      solutionEnvironment: {},
    });
  });

  test("has the network as in Harbor: on, unless the task turns it off for all or for one phase", () => {
    const networks = (text: string) => [read(text).agent.network, read(text).verifier.network];
    expect(networks("")).toEqual([true, true]);
    expect(networks("[environment]\nallow_internet = true")).toEqual([true, true]);
    expect(networks("[environment]\nallow_internet = false")).toEqual([false, false]);
    expect(networks('[environment]\nnetwork_mode = "no-network"')).toEqual([false, false]);
    expect(networks('[environment]\nnetwork_mode = "public"\nallow_internet = false')).toEqual([true, true]);
    expect(networks('[agent]\nnetwork_mode = "no-network"')).toEqual([false, true]);
    const off = '[environment]\nnetwork_mode = "no-network"\n[verifier]\nnetwork_mode = "public"';
    expect(networks(off)).toEqual([false, true]);
  });

  test("has a health check, skills, and artifacts of a separate verifier", () => {
    const text = `artifacts = ["/app/answer.txt", { source = "/out/", destination = "kept" }]
[verifier]
environment_mode = "separate"
[environment]
skills_dir = "/skills"
mcp_servers = []
healthcheck = { command = "test -e /ready", retries = 2, start_period_sec = 1.5 }`;
    expect(read(text)).toMatchObject({
      skills: "/skills",
      artifacts: ["/app/answer.txt", "/out"],
      healthcheck: {
        command: "test -e /ready",
        retries: 2,
        startPeriod: 1.5,
        startInterval: 5,
        interval: 5,
        timeout: 30,
      },
    });
  });

  test.each([
    ["artifacts = ['/app/x']", "artifacts"],
    ["[environment]\nfuture_key = 1", "environment.future_key"],
    ["future_key = 1\n[verifier]\nother = 2", "verifier.other"],
    ["[environment.healthcheck]\ncommand = 'true'\nsometimes = 1", "environment.healthcheck.sometimes"],
  ])("%j is named in a warning", (text, key) => {
    const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    try {
      expect(read(text)).toBeTypeOf("object");
      expect(warned.mock.calls.map(([message]) => message)).toEqual([expect.stringContaining(key)]);
    } finally {
      warned.mockRestore();
    }
  });

  test("has keys of Harbor that say nothing about the game, without a warning", () => {
    const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    read(`version = "1.0"\nsource = "x"\nmulti_step_reward_strategy = "mean"\nartifacts = []
[task]\nname = "a/b"\n[metadata]\nauthor = "me"\n[environment]\ngpus = 0\ngpu_types = []`);
    expect(warned).not.toHaveBeenCalled();
    warned.mockRestore();
  });

  test.each([
    ["[environment", ""],
    ["[[steps]]\nname = 'one'", "steps"],
    ["[environment]\nos = 'windows'", "environment.os"],
    ["[environment]\ngpus = 1", "environment.gpus"],
    ["[environment]\nmemory = 'much'", "much"],
    [`[environment]\nenv = { KEY = '$${"{SECRET}"}' }`, "KEY"],
    ["[environment]\nnetwork_mode = 'allowlist'", "allowlist"],
    ["[verifier]\ntimeout_sec = -1", "verifier.timeout_sec"],
    ["[verifier.environment]\ncpus = 1", "verifier.environment"],
    ["[[verifier.collect]]\ncommand = 'true'", "verifier.collect"],
    ["[verifier]\nenvironment_mode = 'other'", "verifier.environment_mode"],
    ["[[environment.mcp_servers]]\nname = 'a'\nurl = 'http://a'", "environment.mcp_servers"],
    ["[environment]\nskills_dir = 'skills'", "environment.skills_dir"],
    ["[environment.healthcheck]\nretries = 2", "environment.healthcheck.command"],
    ["[environment.healthcheck]\ncommand = 'true'\nretries = 0", "environment.healthcheck.retries"],
    ["artifacts = ['/app/../etc/shadow']", "artifacts"],
    ["artifacts = [{ source = '/x', service = 'db' }]", "service"],
    ["artifacts = ['x']\n[verifier]\nenvironment_mode = 'separate'", "artifacts"],
    ["artifacts = [{ source = '/x', exclude = ['*'] }]\n[verifier]\nenvironment_mode = 'separate'", "exclude"],
  ])("%j is refused, with the key", (text, key) => {
    const refused = expect.objectContaining({ code: "data.malformed", message: expect.stringContaining(key) });
    expect(() => read(text)).toThrow(refused);
  });
});

test.each([
  ["Temporary failure resolving 'packages.example'", true],
  ["curl: (6) Could not resolve host: downloads.example", true],
  ["wget: unable to resolve host address 'x.org'", true],
  ["E: Unable to locate package curl", true],
  ["ERROR: No matching distribution found for pytest==8.4.1", true],
  ["ERROR: Could not find a version that satisfies the requirement pytest (from versions: none)", true],
  ["error: Failed to fetch: `https://packages.example/simple/pytest/`", true],
  ["npm error code EAI_AGAIN", true],
  ["fatal: unable to access 'https://github.com/a/b/': x", true],
  ['go: a: Get "https://proxy.example": dial tcp: lookup proxy.example: no such host', true],
  ["socket.gaierror: [Errno -3] Temporary failure in name resolution", true],
  ["npm error code ENOTFOUND", true],
  ["npm error code ENETUNREACH", true],
  ["  ├─▶ Failed to fetch: `https://packages.example/simple/x/`", true],
  ["WARNING: Max retries exceeded with url: /simple/pytest/", true],
  ["E: Could not connect to packages.example:80", true],
  ["error: failed to download from `https://index.example/config.json`", true],
  ["go: dial tcp: i/o timeout", true],
  ["Caused by: java.net.UnknownHostException: repository.example", true],
  ["curl: (7) Failed to connect to downloads.example port 443 after 12 ms: Couldn't connect to server", true],
  ["    assert 'Could not resolve host' in output", false],
  ["ok 3 - prints CondaHTTPError when offline", false],
  ["E   socket.gaierror: [Errno -3] Temporary failure in name resolution", false],
  ["expected 'dns error'", false],
  ["fatal: unable to access '/app/.git/config': Permission denied", false],
  ["fatal: unable to access 'http://localhost:8080/a/': refused", false],
  ["curl: (28) Failed to connect to localhost port 8080", false],
  ["error: Failed to fetch user 5", false],
  ["dial tcp: lookup example.invalid: no such host", false],
  ["sudo: unable to resolve host abc123", false],
  ["npm ERR! code ETIMEDOUT", true],
  ["wget: bad address 'downloads.example'", true],
  ["curl: (28) Resolving timed out after 5000 milliseconds", true],
  ["curl: (28) Failed to connect to packages.example port 443 after 130000 ms: Couldn't connect to server", true],
  ["curl: (35) OpenSSL SSL_connect: Connection reset by peer in connection to downloads.example:443", true],
  ["  × Failed to download `pytest==8.4.1`", true],
  ["  Caused by: Failed to fetch: `https://packages.example/simple/pytest/`", true],
  ["CondaHTTPError: HTTP 000 CONNECTION FAILED for url <https://channel.example/x>", true],
  ["Error: Failed to download metadata for repo 'fedora': Cannot prepare internal mirrorlist", true],
  ["Error: Unable to find a match: jq", true],
  ["WARNING: fetching https://mirror.example/x: temporary error (try again later)", true],
  ["warning: spurious network error: [6] Couldn't resolve host name", true],
  ["ERROR:  Could not find a valid gem 'rspec' (>= 0), here is why:", true],
  ["curl: (28) Operation timed out after 5000 milliseconds with 0 bytes received", false],
  ["curl: (35) error:0A00010B:SSL routines::wrong version number", false],
  ["curl: (7) Failed to connect to localhost port 8080: Connection refused", false],
  ["npm error code ELIFECYCLE", false],
  ["Error: Unable to find the answer", false],
  ["Error: Failed to fetch", false],
  ["bash: pytest: command not found", false],
  ["ModuleNotFoundError: No module named 'solution'", false],
  ["AssertionError: expected 42", false],
  ["", false],
])("%j says that an installation failed: %s", (line, expected) => {
  expect(installFailure(`one\n${line}\nlast`)).toBe(expected ? line : undefined);
});

describe("task folders", () => {
  test("are tasks of any split, without undefined values", async () => {
    const environment = harborEnvironment({ path: writeTask() });
    const { task } = await (await environment.tasks("test")).get(0);
    expect(task).toMatchObject({ path: "", instruction: "Write the number 42 to /app/answer.txt.\n" });
    expect(task).toEqual(JSON.parse(JSON.stringify(task)));
  });

  test("need their files", async () => {
    const tasksOf = (path?: string) => harborEnvironment(path === undefined ? {} : { path }).tasks("train");
    await expect(tasksOf()).rejects.toMatchObject({ code: "config.invalid" });
    await expect(tasksOf("/nowhere")).rejects.toMatchObject({ code: "data.not-found" });
    const folder = writeTask({ "tests/test.sh": undefined });
    await expect(tasksOf(folder)).rejects.toMatchObject({ code: "data.malformed" });
    const separate = { "task.toml": '[verifier]\nenvironment_mode = "separate"' };
    for (const [files, named] of [
      [{ "environment/docker-compose.yaml": "" }, "docker-compose.yaml"],
      [{ ...separate, "tests/Dockerfile": "FROM x" }, "environment_mode"],
    ] as const) {
      const refused = { code: "data.malformed", message: expect.stringContaining(named) };
      await expect(tasksOf(writeTask(files))).rejects.toMatchObject(refused);
    }
    // Without an image of its own, the file is one of the tests'.
    await expect(tasksOf(writeTask({ "tests/Dockerfile": "FROM x" }))).resolves.toBeDefined();
  });

  test("have a demonstration of their solution", async () => {
    const messages = async (files: Parameters<typeof writeTask>[0]) => {
      const environment = harborEnvironment({ path: writeTask(files) });
      const { task } = await (await environment.tasks("train")).get(0);
      const turns = environment.demonstrate!(task) ?? [];
      return turns.map(({ agent }) => (typeof agent === "string" ? agent : agent!.toolCalls![0]!.arguments));
    };
    const alone = { command: "#!/bin/bash\necho 42 > /app/answer.txt\n" };
    expect(await messages({})).toEqual([alone, "Done."]);
    expect(await messages({ "solution/solve.sh": undefined })).toEqual([]);
    expect(await messages({ "solution/solve.sh": "cat $(dirname $0)/x", "solution/x": "42" })).toEqual([
      { path: "/solution/solve.sh", content: "cat $(dirname $0)/x" },
      { path: "/solution/x", content: "42" },
      { command: "bash /solution/solve.sh" },
      "Done.",
    ]);
  });
});

test("changed files are the fewest paths outside of the protected folders", () => {
  const listed = [
    ["/app", 0],
    ["/app/new", 1],
    ["/app/new/deep", 1],
    ["/app/new-2", 1],
    ["/app/old", 2],
    ["/app/same", 0],
    ["/logs", 1],
    ["/logs/verifier", 1],
    ["/logsheet", 1],
    ["/usr/bin/cat", 0],
  ].map(([Path, Kind]) => ({ Path: Path as string, Kind: Kind as number }));
  const protectedFolders = ["/logs", "/usr"];
  expect(fileChanges(listed, { protectedFolders })).toEqual({
    copied: ["/app/new", "/app/new-2", "/app/same", "/logsheet"],
    deleted: ["/app/old"],
  });
  expect(fileChanges(listed, { protectedFolders, within: ["/app/new", "/app/old", "/logs/verifier"] })).toEqual({
    copied: ["/app/new"],
    deleted: ["/app/old"],
  });
  expect(fileChanges(listed, { protectedFolders, within: ["/app/new/deep"] }).copied).toEqual(["/app/new/deep"]);
  expect(fileChanges(listed, { protectedFolders, within: [] })).toEqual({ copied: [], deleted: [] });
  const artifacts = [
    ["/logs/artifacts", 1],
    ["/logs/artifacts/a", 1],
    ["/logs/artifacts/a/b", 1],
    ["/logs/artifacts-2", 1],
  ].map(([Path, Kind]) => ({ Path: Path as string, Kind: Kind as number }));
  for (const within of [undefined, []]) {
    const { copied } = fileChanges([...artifacts, ...listed.slice(6)], {
      protectedFolders,
      within,
      open: ["/logs/artifacts"],
    });
    expect(copied.filter((path) => path.startsWith("/logs/"))).toEqual(["/logs/artifacts/a"]);
  }
});

describe("scripts with the line ends of Windows", () => {
  const windows = (text: string) => Buffer.from(text.replaceAll("\n", "\r\n"));
  const bytes = Buffer.from([0xff, 0x0d, 0x0a]);

  test.each([
    ["Windows", windows("#!/bin/bash\necho 1\n"), true],
    ["Windows, in its first line", Buffer.from("#!/bin/bash\r\necho 1\n"), true],
    ["Windows, without a last line end", windows("a\nb"), true],
    ["Linux", Buffer.from("#!/bin/bash\necho 1\n"), false],
    ["Linux, with CRLF in a later line", Buffer.from("#!/bin/bash\nprintf 'a\r\n'\n"), false],
    ["one line", Buffer.from("echo 1"), false],
    ["one line that ends in CR", Buffer.from("echo 1\r"), false],
    ["an empty first line", Buffer.from("\necho 1\r\n"), false],
    ["an empty first line of Windows", Buffer.from("\r\necho 1\r\n"), true],
    ["nothing", Buffer.from(""), false],
  ])("%s", (_, script, isWindows) => {
    expect(hasWindowsLines(script)).toBe(isWindows);
    const files = [
      ["test.sh", script],
      ["a/b.py", bytes],
      ["data.txt", bytes],
    ] as const;
    const changed = isWindows
      ? [
          ["test.sh", Buffer.from(script.toString().replaceAll("\r\n", "\n"))],
          ["a/b.py", Buffer.from([0xff, 0x0a])],
          files[2],
        ]
      : files;
    expect(withUnixLines(files, "test.sh")).toEqual(changed);
  });

  test("are named in a warning, and a solution runs with those of Linux", async () => {
    const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    const path = writeTask({ "tests/test.sh": "#!/bin/bash\r\n", "solution/solve.sh": "echo 42\r\necho 43\r\n" });
    const { task } = await (await harborEnvironment({ path }).tasks("test")).get(0);
    expect((task as HarborTask).solution).toEqual({ "solve.sh": "echo 42\necho 43\n" });
    expect(warned.mock.calls.map(([message]) => message)).toEqual([
      expect.stringMatching(/test\.sh has the line ends of Windows\..*On Linux, Harbor cannot run it\.$/),
    ]);
    warned.mockRestore();
  });
});
