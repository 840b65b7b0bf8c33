import { existsSync } from "node:fs";
import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { gsm8kEnvironment } from "../../../environments/gsm8k/gsm8k.ts";
import { gsm8kTask } from "../../../environments/gsm8k/gsm8k-answer.ts";
import { environments } from "../../../environments/index.ts";
import type { MathTask } from "../../../environments/math/math-problem.ts";
import { verifyAnswer } from "../../../environments/math/verify-answer.ts";
import { createRandom } from "../../../src/core/random/random.ts";
import { checkDisjoint } from "../../../src/core/taskset/disjoint.ts";
import { checkEnvironment } from "../../../src/entry-points/testing.ts";
import { startFakeHub } from "../../core/hub/fake-hub.ts";
import { temporaryFolder } from "../../temporary-folder.ts";

const data = process.env.LYCEUM_TEST_DATA ?? join(import.meta.dirname, "../../../../shared/data");
const hasData = existsSync(join(data, "gsm8k-train.jsonl"));

const rows = [
  { question: "Two and three?", answer: "Add: 2+3 = <<2+3=5>>5\nSo it is <<5=5>>five.\n#### 5" },
  { question: "A lot? ", answer: "1,000 * 1 = 1,000\n#### 1,000" },
];
const jsonl = rows.map((row) => JSON.stringify(row)).join("\n");

let folder = "";
beforeAll(async () => {
  folder = temporaryFolder();
  await writeFile(join(folder, "gsm8k-train.jsonl"), jsonl);
  await writeFile(join(folder, "gsm8k-test.jsonl"), JSON.stringify({ question: "One?", answer: "#### 1" }));
});

test("a row becomes a task with a clean answer and solution", () => {
  expect(gsm8kTask(rows[0]!, { calculatorAnnotations: false })).toEqual({
    question: "Two and three?",
    answer: "5",
    kind: "gsm8k",
    difficulty: 2,
    solution: "Add: 2+3 = 5\nSo it is five.\n#### 5",
  });
  expect(gsm8kTask(rows[0]!, { calculatorAnnotations: true }).solution).toBe(rows[0]!.answer);
  expect(gsm8kTask(rows[1]!, { calculatorAnnotations: false })).toMatchObject({ answer: "1000", question: "A lot?" });
});

test.each(["no line", "#### ", "#### five", "5 ####", "#### 5 or 6"])("rejects the answer %j", (answer) => {
  expect(() => gsm8kTask({ question: "?", answer }, { calculatorAnnotations: false })).toThrow(
    expect.objectContaining({ code: "data.malformed" }),
  );
});

test("passes the conformance suite, with and without feedback", async () => {
  expect((await checkEnvironment(gsm8kEnvironment({ path: folder }))).problems).toEqual([]);
  expect(
    (await checkEnvironment(gsm8kEnvironment({ path: folder, maxTurns: 3, formatReward: 0.1 }), { split: "test" }))
      .problems,
  ).toEqual([]);
});

test("reads a folder, a pattern, and a single file as any split", async () => {
  const patterned = gsm8kEnvironment({ path: join(folder, "gsm8k-{split}.jsonl") });
  const single = gsm8kEnvironment({ path: join(folder, "gsm8k-train.jsonl") });
  expect((await patterned.tasks("test")).length).toBe(1);
  expect((await single.tasks("train[-1:]")).length).toBe(1);
  expect(single.splits).toEqual(["train"]);
  const all = (await single.tasks("train")).length!;
  expect((await single.tasks("test")).length).toBe(all);
  expect((await single.tasks("test[:1]")).length).toBe(1);
  await expect(patterned.tasks("dev")).rejects.toMatchObject({ code: "data.out-of-range" });
});

test("a missing path is a missing file, not a hub data set", async () => {
  await expect(gsm8kEnvironment({ path: "no/folder" }).tasks("train")).rejects.toMatchObject({
    code: "data.not-found",
  });
});

test("an error in a row names the file and the line", async () => {
  const path = join(folder, "bad.jsonl");
  await writeFile(path, `${jsonl}\n{"question":"?"}\n`);
  const taskset = await gsm8kEnvironment({ path }).tasks("train");
  await expect(taskset.get(2)).rejects.toMatchObject({
    code: "data.malformed",
    message: expect.stringContaining(`${path}:3: answer`),
  });
});

test("comes from the hub by default", async () => {
  const commit = "d".repeat(40);
  await using hub = await startFakeHub([
    {
      type: "dataset",
      name: "openai/gsm8k",
      branches: { main: commit },
      commits: { [commit]: { "main/train.jsonl": jsonl, "socratic/train.jsonl": "{}" } },
    },
  ]);
  const environment = gsm8kEnvironment({}, { hub: { hubUrl: hub.url, cacheFolder: join(folder, "cache") } });
  const taskset = await environment.tasks("train");
  expect([taskset.name, taskset.length, (await taskset.get(0)).task.answer]).toEqual(["gsm8k/train", 2, "5"]);
});

test("a download stops if the signal aborts", async () => {
  const commit = "e".repeat(40);
  await using hub = await startFakeHub([
    {
      type: "dataset",
      name: "openai/gsm8k",
      branches: { main: commit },
      commits: { [commit]: { "main/train.jsonl": jsonl } },
    },
  ]);
  hub.faults.silent = true;
  const environment = gsm8kEnvironment({}, { hub: { hubUrl: hub.url, cacheFolder: join(folder, "aborted") } });
  const controller = new AbortController();
  const loading = environment.tasks("train", { signal: controller.signal });
  await expect.poll(() => hub.requests.some((request) => request.includes("train.jsonl"))).toBe(true);
  controller.abort(new Error("enough"));
  await expect(loading).rejects.toThrow("enough");
});

test("the registry creates it and rejects unknown options", () => {
  expect(environments.create("gsm8k", { path: folder }).spec).toMatchObject({
    id: "gsm8k",
    agents: ["agent"],
    rewardRange: [0, 1],
  });
  expect(() => environments.create("gsm8k", { pth: folder })).toThrow(
    expect.objectContaining({ code: "config.invalid", hint: expect.stringContaining("path") }),
  );
});

describe.skipIf(!hasData)("on the real data (skipped if it is missing: set LYCEUM_TEST_DATA)", () => {
  async function all(split: string): Promise<MathTask[]> {
    const taskset = await gsm8kEnvironment({ path: data }).tasks(split);
    const tasks: MathTask[] = [];
    for (let i = 0; i < (taskset.length as number); i++) tasks.push((await taskset.get(i)).task);
    return tasks;
  }

  test("all 8792 answers parse, are accepted, and are rejected for another question", async () => {
    const tasks = [...(await all("train")), ...(await all("test"))];
    expect(tasks.length).toBe(7473 + 1319);
    const random = createRandom(1);
    for (const task of tasks) {
      expect(verifyAnswer(task.solution, task.answer), task.question).toMatchObject({ correct: true });
      const other = random.pick(tasks);
      expect(verifyAnswer(other.solution, task.answer).correct, `${task.question} | ${other.question}`).toBe(
        Number(other.answer) === Number(task.answer),
      );
      expect(task.solution).not.toContain("<<");
    }
  });

  test("without its mark, a solution still mostly ends in its answer", async () => {
    const tasks = await all("test");
    const right = tasks.filter(
      ({ solution, answer }) => verifyAnswer(solution.replace(/\n####.*$/, ""), answer).correct,
    );
    expect(right.length / tasks.length).toBeGreaterThan(0.8);
  });

  test("train and test have no common question", async () => {
    const environment = gsm8kEnvironment({ path: data });
    await checkDisjoint(await environment.tasks("train"), await environment.tasks("test"));
  });

  test("files are read in place, also compressed ones", async () => {
    const { gzipSync } = await import("node:zlib");
    const copy = join(folder, "copy");
    await cp(join(data, "gsm8k-test.jsonl"), join(copy, "test.jsonl"));
    await writeFile(join(copy, "train.jsonl.gz"), gzipSync(await readFile(join(data, "gsm8k-train.jsonl"))));
    const environment = gsm8kEnvironment({ path: copy });
    expect([(await environment.tasks("train[:10%]")).length, (await environment.tasks("test")).length]).toEqual([
      747, 1319,
    ]);
  });
});
