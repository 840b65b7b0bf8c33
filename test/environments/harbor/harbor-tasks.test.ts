import { describe, expect, test } from "vitest";
import { readReward } from "../../../environments/harbor/reward-file.ts";
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
    ["a text in JSON", json('{"reward": "1"}')],
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
      agent: { user: "1000", network: false, seconds: 60 },
      verifier: { network: false, seconds: 30, environment: { MODE: "strict" } },
      buildSeconds: 600,
      cpus: 2,
      memoryMb: 2048,
      storageMb: 512,
      environment: {},
      folder: "/work",
      solutionEnvironment: {},
    });
  });

  test("turns the network on, for all or for one phase", () => {
    expect(read("").agent.network).toBe(false);
    expect(read("[environment]\nallow_internet = true").agent.network).toBe(true);
    const { agent, verifier } = read('[environment]\nnetwork_mode = "public"\n[agent]\nnetwork_mode = "no-network"');
    expect([agent.network, verifier.network]).toEqual([false, true]);
  });

  test.each([
    "[environment",
    "[[steps]]\nname = 'one'",
    "[environment]\nos = 'windows'",
    "[environment]\ngpus = 1",
    "[environment]\nmemory = 'much'",
    `[environment]\nenv = { KEY = '$${"{SECRET}"}' }`,
    "[environment]\nnetwork_mode = 'allowlist'",
    "[verifier]\ntimeout_sec = -1",
    "[verifier.environment]\ncpus = 1",
  ])("%j is refused", (text) => {
    expect(() => read(text)).toThrow(expect.objectContaining({ code: "data.malformed" }));
  });
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
  expect(fileChanges(listed, ["/logs", "/usr"])).toEqual({
    copied: ["/app/new", "/app/new-2", "/app/same", "/logsheet"],
    deleted: ["/app/old"],
  });
});
