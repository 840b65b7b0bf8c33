import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { mathProblemTask } from "../../../environments/math-problems/math-problem-row.ts";
import { mathProblemsEnvironment } from "../../../environments/math-problems/math-problems.ts";
import { scriptedPolicy } from "../../../src/core/policy/scripted-policy.ts";
import { rolloutEpisode } from "../../../src/core/rollout/rollout-episode.ts";
import { checkEnvironment } from "../../../src/entry-points/testing.ts";
import { temporaryFolder } from "../../temporary-folder.ts";

const rows = [
  { problem: "What is the length?", solution: "It is $\\boxed{2\\sqrt{3}}$.", level: "Level 3", type: "Algebra" },
  { question: "Which?", answer: ["x+1", "\\text{none}"] },
  { question: "How many?", answer: "Two and one.\n#### 3" },
];
let path = "";
beforeAll(async () => {
  path = join(temporaryFolder(), "train.jsonl");
  await writeFile(path, rows.map((row) => JSON.stringify(row)).join("\n"));
});
afterAll(() => rm(join(path, ".."), { recursive: true, force: true }));

test("rows become tasks with the answers that they state", () => {
  expect(mathProblemTask(rows[0]!)).toEqual({
    question: "What is the length?",
    answers: ["2\\sqrt{3}"],
    kind: "Algebra",
    difficulty: 3,
    solution: "It is $\\boxed{2\\sqrt{3}}$.\n#### 2\\sqrt{3}",
  });
  expect(mathProblemTask(rows[1]!).answers).toEqual(["x+1", "\\text{none}"]);
  expect(mathProblemTask(rows[2]!).answers).toEqual(["3"]);
  expect(() => mathProblemTask({ problem: "?", solution: "It is 3." })).toThrow(
    expect.objectContaining({ code: "data.malformed" }),
  );
});

test("passes the conformance suite", async () => {
  expect((await checkEnvironment(mathProblemsEnvironment({ path }))).problems).toEqual([]);
  expect((await checkEnvironment(mathProblemsEnvironment({ path, maxTurns: 3, formatReward: 0.1 }))).problems).toEqual(
    [],
  );
});

test("demonstrations and equal forms get the reward, others do not, and feedback does not contain the answer", async () => {
  const environment = mathProblemsEnvironment({ path, maxTurns: 2 });
  const tasks = await environment.tasks("train");
  const rewardOf = async (index: number, texts: readonly string[]): Promise<unknown> => {
    const replies = [...texts];
    const task = await tasks.get(index);
    const episode = await rolloutEpisode({
      environment,
      task,
      policies: scriptedPolicy(() => replies.shift() ?? ""),
      seed: 1,
    });
    const seen = JSON.stringify(episode.agents.agent);
    return { reward: episode.agents.agent!.reward, tells: seen.includes("2\\\\sqrt{3}") };
  };
  for (let i = 0; i < rows.length; i++) {
    const [{ agent }] = environment.demonstrate!((await tasks.get(i)).task)! as [{ agent: string }];
    expect(await rewardOf(i, [agent])).toMatchObject({ reward: { value: 1 } });
  }
  expect(await rewardOf(0, ["\\boxed{5}", "#### \\sqrt{12}"])).toMatchObject({ reward: { value: 1 }, tells: false });
  expect(await rewardOf(0, ["\\boxed{5}", "\\boxed{3\\sqrt2}"])).toMatchObject({ reward: { value: 0 }, tells: false });
});
