import { statSync } from "node:fs";
import { appendFile, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { conversationsEnvironment } from "../../environments/index.ts";
import { lockFile } from "../../src/core/files/run-lock.ts";
import { runInProcess } from "./run-in-process.ts";
import { folderContents, type LyceumResult, lyceum, tinyRunFolder } from "./run-lyceum.ts";

const source = (name: string): string => JSON.stringify(join(import.meta.dirname, "../../src", name));

/**
 * Task n has a reward of n tenths per turn for a right answer. Every fourth task is unscored, task 6 throws, 7 has no
 * demonstration.
 */
const uneven = `
import { defineEnvironment } from ${source("core/environment/define-environment.ts")};
import { unscored } from ${source("contract/reward.ts")};
export const environment = defineEnvironment({
  id: "uneven", maxTurns: 2, tasks: [0, 1, 2, 3, 4, 5, 6, 7],
  reset: ({ task }) => "q" + task,
  step: async ({ task, text, turn, signal }) => {
    if (task === 6) throw new Error("six is broken");
    // The first tasks are the last to end.
    await new Promise((resolve) => setTimeout(resolve, 40 - 5 * task));
    if (task === 3) return { reward: unscored("nobody looked") };
    const components = { right: text === "a" + task ? task / 10 : 0, long: 0 };
    return turn === 0 ? { components, reply: "more" } : { components };
  },
  demonstrate: (task) => task === 7 ? undefined : ["a" + task, "a" + task],
});
`;
const endless = `
import { defineEnvironment } from ${source("core/environment/define-environment.ts")};
import { generatedTaskset } from ${source("core/taskset/generated-taskset.ts")};
export const environment = defineEnvironment({
  id: "endless", tasks: generatedTaskset({ name: "numbers", seed: 1, length: "unbounded", generate: (random) => random.integer(1, 1e9) }),
  reset: ({ task }) => String(task),
  step: async () => {
    await new Promise((resolve) => setTimeout(resolve, 5));
    return { reward: 1 };
  },
  demonstrate: String,
});
`;
const fresh = `
import { defineEnvironment } from ${source("core/environment/define-environment.ts")};
import { textMessage } from ${source("contract/message.ts")};
export const environment = defineEnvironment({
  id: "fresh", tasks: ["x"], maxTurns: 3,
  reset: () => [textMessage("system", "be brief"), textMessage("user", "one")],
  step: ({ turn }) => turn === 2 ? { reward: 1 }
    : { reply: turn === 0 ? "two" : "three", context: turn === 1 ? "replace" : "append" },
  demonstrate: () => ["1", "2", "3"],
});
`;

/**
 * An environment with few tasks that repeat, half of them random by the rollout's seed. Its process is killed when the
 * file `cut.jsonl` has LYCEUM_TEST_BYTES bytes.
 */
const again = `
import { statSync } from "node:fs";
import { defineEnvironment } from ${source("core/environment/define-environment.ts")};
import { generatedTaskset } from ${source("core/taskset/generated-taskset.ts")};
export const environment = defineEnvironment({
  id: "again", tasks: generatedTaskset({ name: "few", seed: 1, length: "unbounded", generate: (random) => random.integer(1, 3) }),
  reset: ({ task, random }) => ({ prompt: String(task) + random.integer(0, 1e6), state: random.integer(0, 1) }),
  step: async ({ state }) => {
    await new Promise((resolve) => setTimeout(resolve, 5));
    const size = statSync("cut.jsonl", { throwIfNoEntry: false })?.size ?? 0;
    if (size >= Number(process.env.LYCEUM_TEST_BYTES)) process.kill(process.pid, "SIGKILL");
    return { reward: state };
  },
  demonstrate: String,
});
`;

let folder: string;
beforeEach(async () => {
  folder = await tinyRunFolder();
  await writeFile(join(folder, "uneven.ts"), uneven);
  await writeFile(join(folder, "endless.ts"), endless);
  await writeFile(join(folder, "fresh.ts"), fresh);
  await writeFile(join(folder, "again.ts"), again);
});

const collect = (words: string): Promise<LyceumResult> =>
  runInProcess(["collect", "-o", "out/good.jsonl", ...words.split(" ")], { folder });

async function rows(): Promise<Record<string, unknown>[]> {
  const text = await readFile(join(folder, "out/good.jsonl"), "utf8");
  expect(text).toMatch(/^$|\n$/);
  return text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

describe("lyceum collect", () => {
  it("writes the conversations with a sufficient reward in the order of the tasks, and counts the rest", async () => {
    const { code, stdout, stderr } = await collect("-e ./uneven.ts --min-reward 0.4");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toBe(
      "out/good.jsonl: 8 episodes, 3 conversations written, 2 below 0.4, 1 episodes unscored, 2 episodes failed, the first: " +
        'Task "6", turn 0: Environment "uneven" threw in step: Error: six is broken (uneven.ts:8:27)\n' +
        'warning: Task "6", turn 0: Environment "uneven" threw in step: Error: six is broken (uneven.ts:8:27). The demonstration of the task fails in the same way, so the task is at fault and not the answer: its episodes are unscored. Correct the environment or the task, or leave the task out. This warning is shown once for each place.\n',
    );
    const written = await rows();
    expect(written.map(({ task }) => task)).toEqual(["2", "4", "5"]);
    expect(written[1]).toEqual({
      messages: [
        { role: "user", content: "q4" },
        { role: "assistant", content: "a4" },
        { role: "user", content: "more" },
        { role: "assistant", content: "a4" },
      ],
      reward: 0.8,
      components: { right: 0.8, long: 0 },
      task: "4",
      agent: "agent",
    });
  });

  it("writes only what can be read as data, whatever the name of the file", async () => {
    const endings = [".jsonl", ".JSON", ".txt", "", ".jsonl.bak"];
    const refused = [".parquet", ".jsonl.gz", ".json.GZ", "-{split}.jsonl"];
    const others = fc.sample(fc.stringMatching(/^(\.[a-z0-9]{1,5}){1,2}$/), 2);
    for (const [place, ending] of [...endings, ...refused, ...others].entries()) {
      const path = join(folder, `out/data-${place}${ending}`);
      const words = ["collect", "-e", "./uneven.ts", "-n", "3", "-o", path];
      const { code, stderr } = await runInProcess(words, { folder });
      if (refused.some((other) => ending.toLowerCase().endsWith(other.toLowerCase()))) {
        expect([ending, code]).toEqual([ending, 2]);
        expect(stderr).toContain("Choose an --output such as good.jsonl");
        await expect(readFile(path)).rejects.toThrow("ENOENT");
        continue;
      }
      expect([ending, code, stderr]).toEqual([ending, 0, ""]);
      const environment = conversationsEnvironment({ path });
      expect(environment.splits).toEqual(["train"]);
      const tasks = await environment.tasks("train");
      expect(tasks.length).toBe(3);
      expect((await tasks.get(2)).task.messages[0]).toMatchObject({ content: [{ text: "q2" }] });
    }
  });

  it("locks its output: a second one is refused, new or resumed, and changes nothing", async () => {
    const path = join(folder, "out/good.jsonl");
    const words = ["collect", "-e", "./uneven.ts", "-o", "out/good.jsonl"];
    {
      await using _other = await lockFile(path);
      for (const more of [[], ["--resume"]]) {
        const { code, stderr } = await runInProcess([...words, ...more], { folder });
        expect(code).toBe(2);
        expect(stderr).toMatch(/^error\[config\.invalid\]: The file out\/good\.jsonl is being written by process \d+/);
      }
      expect(await readdir(join(folder, "out"))).toEqual(["good.jsonl.lock"]);
    }
    expect((await runInProcess(words, { folder })).code).toBe(0);
    expect((await readdir(join(folder, "out"))).toSorted()).toEqual(["good.jsonl", "good.jsonl.progress"]);
  });

  it("plays the requested number of episodes, in complete groups, of the requested split", async () => {
    const { stdout } = await collect("-e ./uneven.ts --split train[1:3] -g 3 -n 5");
    expect(stdout).toBe("out/good.jsonl: 3 episodes, 3 conversations written\n");
    const tooFew = "collect -o out/none.jsonl -e ./uneven.ts --split train[1:3] -g 3 -n 2".split(" ");
    const none = await runInProcess(tooFew, { folder });
    expect(none).toMatchObject({ code: 2, stdout: "" });
    expect(none.stderr).toMatch(/--episodes 2 is fewer than the 3 episodes of one task \(--group\)/);
    expect((await rows()).map(({ task }) => task)).toEqual(["1", "1", "1"]);
    const words = "collect -o out/few.jsonl -e ./uneven.ts --split train[1:3] -g 2 -n 9".split(" ");
    expect((await runInProcess(words, { folder })).stdout).toBe(
      "out/few.jsonl: 4 episodes, 4 conversations written\n" +
        'warning: The split "train[1:3]" has 2 tasks, which is fewer than the episodes asked for. --group 5 plays each 5 times.\n',
    );
  });

  it("writes a row for each new conversation of an episode", async () => {
    expect((await collect("-e ./fresh.ts")).code).toBe(0);
    expect(
      (await rows()).map(({ messages }) => (messages as { content: string }[]).map(({ content }) => content)),
    ).toEqual([
      ["be brief", "one", "1", "two", "2"],
      ["three", "3"],
    ]);
  });

  it("collects from a trained model's folder and from its checkpoint, the same each time", async () => {
    const train = [
      "train",
      "-c",
      "tiny.yaml",
      "-o",
      "run",
      "-s",
      "environment={id: ./endless.ts}",
      "-s",
      "evaluation={}",
    ];
    expect((await runInProcess(train, { folder })).code).toBe(0);
    const files: string[] = [];
    for (const [index, model] of ["run/model", "run/model", "run/checkpoints/step-000003"].entries()) {
      const words = `collect -e ./endless.ts -p model -m ${model} -n 4 -g 2 --max-tokens 4 --device cpu -o ${index}.jsonl`;
      const { code, stderr, stdout } = await runInProcess(words.split(" "), { folder });
      expect({ code, stderr, stdout }).toEqual({
        code: 0,
        stderr: "",
        stdout: `${index}.jsonl: 4 episodes, 4 conversations written\n`,
      });
      files.push(await readFile(join(folder, `${index}.jsonl`), "utf8"));
    }
    expect(files[1]).toBe(files[0]);
    expect(files[2]).toBe(files[0]);
    expect(new Set(files[0]!.split("\n")).size).toBeGreaterThan(3);
  });

  it("leaves complete lines at Ctrl-C, and prints the counts", async () => {
    let sent = false;
    const { code, stdout, stderr } = await lyceum(
      ["collect", "-e", "./endless.ts", "-n", "1000000", "-o", "out/good.jsonl"],
      {
        folder,
        onOutput: (_, child) => {
          if (sent) return;
          sent = true;
          const timer = setInterval(() => {
            const size = statSync(join(folder, "out/good.jsonl"), { throwIfNoEntry: false })?.size ?? 0;
            if (size === 0) return;
            clearInterval(timer);
            child.kill("SIGINT");
          }, 20);
          onTestFinished(() => clearInterval(timer));
        },
      },
    );
    expect({ code, stderr: stderr.trim() }).toEqual({ code: 130, stderr: "Interrupted." });
    const { length } = await rows();
    expect(stdout).toBe(`out/good.jsonl: ${length} episodes, ${length} conversations written\n`);
    expect(length).toBeGreaterThan(0);
  });

  it("fails if every episode fails", async () => {
    const { code, stderr } = await collect("-e ./uneven.ts --split train[6:]");
    expect(stderr).toMatch(/^error\[environment\.failed\]: All 2 episodes failed\. The first error: /);
    expect(code).toBe(1);
  });

  it.each([
    ["-e ./endless.ts", 2, "has no end"],
    ["-e ./uneven.ts -p model", 2, "--policy model needs --model"],
    ["-e ./uneven.ts -p demonstration -m run/model", 2, "--model needs --policy model"],
    ["-e ./uneven.ts -p model -m ./nowhere", 1, "There is no folder ./nowhere"],
    ["-e mathh", 2, 'Did you mean "math"?'],
    ["-e ./uneven.ts --split tests", 1, "tests"],
  ])("refuses %j with exit code %i and writes nothing", async (words, exit, text) => {
    const before = await folderContents(folder);
    const { code, stderr } = await collect(words);
    expect(stderr).toContain(text);
    expect(stderr).not.toMatch(/\n\s+at /);
    expect(code).toBe(exit);
    expect(await folderContents(folder)).toEqual(before);
  });

  it("resumes after a kill with the same result as without it", async () => {
    const words = ["collect", "-e", "./again.ts", "-n", "600", "-g", "2", "--min-reward", "0.5", "--concurrency", "4"];
    const whole = await runInProcess([...words, "-o", "whole.jsonl"], { folder });
    expect(whole.stdout).toMatch(/^whole.jsonl: 600 episodes, 2\d\d conversations written, 3\d\d below 0.5\n$/);
    const path = join(folder, "cut.jsonl");
    for (const bytes of ["1", "9000"]) {
      const variables = { LYCEUM_TEST_BYTES: bytes };
      const killed = await lyceum([...words, "--resume", "-o", "cut.jsonl"], { folder, variables });
      expect(killed).toMatchObject({ signal: "SIGKILL" });
      // Simulates a crash in the middle of a line.
      await appendFile(path, '{"messages":[{"ro');
    }
    const last = await runInProcess([...words, "--resume", "-o", "cut.jsonl"], { folder });
    expect(last).toEqual({ ...whole, stdout: whole.stdout.replace("whole", "cut") });
    expect(await readFile(path, "utf8")).toBe(await readFile(join(folder, "whole.jsonl"), "utf8"));
    const more = await runInProcess([...words, "-n", "604", "--resume", "-o", "cut.jsonl"], { folder });
    expect(more.stdout).toMatch(/^cut.jsonl: 604 episodes, /);
  });

  it("resumes only its own files", async () => {
    const again = (words: string) => collect(`-e ./uneven.ts --split train[:3] ${words}`);
    expect((await again("--resume")).code).toBe(0);
    const other = await again("--resume --seed 3 --min-reward 1");
    expect(other.stderr).toContain("seed was 0");
    expect(other.stderr).toContain("minReward was null");
    expect(other.code).toBe(2);
    await writeFile(join(folder, "out/good.jsonl"), "");
    expect((await again("--resume")).stderr).toContain("0 of");
    await writeFile(join(folder, "out/good.jsonl.progress"), "{");
    expect((await again("--resume")).stderr).toContain("The collection cannot be resumed");
  });

  it("does not overwrite a file", async () => {
    await collect("-e ./fresh.ts");
    const before = await folderContents(folder);
    const { code, stderr } = await collect("-e ./uneven.ts");
    expect(stderr).toContain("exists already");
    expect(code).toBe(2);
    expect(await folderContents(folder)).toEqual(before);
  });
});
