import { randomUUID } from "node:crypto";
import { chmodSync, cpSync, mkdirSync, readlinkSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { harborEnvironment } from "../../environments/index.ts";
import { demonstrationPolicy } from "../../src/core/policy/demonstration-policy.ts";
import { scriptedPolicy } from "../../src/core/policy/scripted-policy.ts";
import { EnvironmentPool } from "../../src/core/rollout/environment-pool.ts";
import { rolloutEpisode } from "../../src/core/rollout/rollout-episode.ts";
import { missing, shellImage, writeTask } from "../environments/harbor/harbor-tasks.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { runInProcess } from "./run-in-process.ts";

const root = temporaryFolder();
const newFolder = (): string => join(root, randomUUID());
/** Runs `lyceum export-harbor`. */
const run = (...words: readonly string[]) => runInProcess(["export-harbor", ...words], { folder: root });

const problem = {
  prompt: "def twice(x):\n    '''Twice x.'''\n",
  entryPoint: "twice",
  tests: ["assert twice(1) == 2", "assert twice(5) == 10"],
  solution: "def twice(x):\n    return 2 * x\n",
};
const own = join(root, "own.jsonl");
writeFileSync(own, [problem, problem].map((row) => JSON.stringify(row)).join("\n"));
const code = ["code", "--set", "dataset=jsonl", "--set", `path=${own}`, "--image", shellImage];

async function tasksOf(path: string) {
  const taskset = await harborEnvironment({ path }).tasks("train");
  return Promise.all(Array.from({ length: taskset.length as number }, async (_, index) => taskset.get(index)));
}

/** The rewards of the solution and of an idle agent, task by task. */
async function rewardsOf(path: string) {
  const environment = harborEnvironment({ path });
  await using pool = new EnvironmentPool(environment);
  const rewards = [];
  for (const task of await tasksOf(path)) {
    for (const policies of [demonstrationPolicy({ environment }), scriptedPolicy(["Done."])]) {
      const { reward } = (await rolloutEpisode({ environment: pool, task, policies, seed: 1 })).agents.agent!;
      rewards.push(reward.status === "scored" ? reward.value : reward.reason);
    }
  }
  return rewards;
}

describe("lyceum export-harbor", () => {
  test("copies Harbor tasks, so that an import gives the same tasks", async () => {
    const path = writeTask({ "task.toml": '[verifier]\nenv = { MODE = "strict" }\n' }, "first");
    mkdirSync(join(path, "more"));
    symlinkSync("start.txt", join(path, "first/environment/link"));
    chmodSync(join(path, "first/tests/test.sh"), 0o755);
    const other = writeTask({ "solution/solve.sh": undefined, "instruction.md": "Another.\n" });
    cpSync(other, join(path, "more/second"), { recursive: true });
    const output = newFolder();
    const { code: exit, stdout } = await run("harbor", "-s", `path=${path}`, "-o", output);
    expect([exit, stdout]).toEqual([0, `${output}: 2 tasks\n`]);
    expect(await tasksOf(output)).toEqual(await tasksOf(path));
    expect((await tasksOf(output)).map(({ task }) => task.name)).toEqual(["first", "more/second"]);
    expect(statSync(join(output, "first/tests/test.sh")).mode & 0o777).toBe(0o755);
    expect(readlinkSync(join(output, "first/environment/link"))).toBe("start.txt");
    // One task folder has a folder too.
    const single = newFolder();
    await run("harbor", "-s", `path=${join(path, "first")}`, "-o", single);
    expect((await tasksOf(join(single, "first")))[0]).toEqual((await tasksOf(join(path, "first")))[0]);
  });

  test("writes problems of a file that share a name to folders of their own", async () => {
    const output = newFolder();
    expect(await run(...code, "-o", output)).toMatchObject({ code: 0 });
    expect((await tasksOf(output)).map(({ task }) => task.name)).toEqual(["twice", "twice-2"]);
    expect(statSync(join(output, "twice/solution/solve.sh")).mode & 0o777).toBe(0o755);
  });

  test("selects tasks by a split", async () => {
    const output = newFolder();
    await run(...code, "--split", "train[1:]", "-o", output);
    expect(await tasksOf(output)).toHaveLength(1);
  });

  test.each([
    ["an environment whose rewards are its own", ["math"], "cannot be exported as Harbor tasks"],
    ["options that cannot be exported", [...code, "-s", "agents=2"], "Task twice: The environment"],
    ["a file that is missing", ["harbor", "-s", "path=/nowhere"], "There is no Harbor task"],
  ])("refuses %s, and writes nothing", async (_, args, message) => {
    const output = newFolder();
    const { code: exit, stderr } = await run(...args, "-o", output);
    expect(exit).not.toBe(0);
    expect(stderr).toContain(message);
    expect(() => statSync(output)).toThrow();
  });

  test("refuses a folder with files", async () => {
    const { stderr } = await run(...code, "-o", root);
    expect(stderr).toContain("an export needs a new folder");
  });
});

describe.skipIf(missing !== undefined)(`exported tasks ${missing ?? ""}`, { timeout: 60_000 }, () => {
  test("give solutions 1 and an idle agent 0, as the tasks that they are copied from", async () => {
    const [copied, problems] = [newFolder(), newFolder()];
    const path = writeTask();
    await run("harbor", "-s", `path=${path}`, "-o", copied);
    await run(...code, "--split", "train[:1]", "-o", problems);
    expect(await rewardsOf(copied)).toEqual([1, 0]);
    expect(await rewardsOf(path)).toEqual([1, 0]);
    expect(await rewardsOf(problems)).toEqual([1, 0]);
  });
});
