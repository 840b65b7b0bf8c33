import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { countdownEnvironment } from "../../../environments/countdown/countdown.ts";
import type { CountdownTask } from "../../../environments/countdown/countdown-task.ts";
import { readExpression } from "../../../environments/countdown/expression.ts";
import { demonstrationPolicy } from "../../../src/core/policy/demonstration-policy.ts";
import { scriptedPolicy } from "../../../src/core/policy/scripted-policy.ts";
import { rolloutEpisode } from "../../../src/core/rollout/rollout-episode.ts";
import { checkDisjoint } from "../../../src/core/taskset/disjoint.ts";
import { taskEntry } from "../../../src/core/taskset/task-entry.ts";
import { checkEnvironment } from "../../../src/entry-points/testing.ts";
import { climb } from "../hill-climber.ts";

const task: CountdownTask = { numbers: [3, 7, 5], target: 26, solution: "3 * 7 + 5" };

async function rewardOf(reply: string, played: CountdownTask = task): Promise<unknown> {
  const environment = countdownEnvironment();
  const episode = await rolloutEpisode({
    environment,
    task: taskEntry(played, 0),
    policies: scriptedPolicy([reply]),
    seed: 1,
  });
  const { reward } = episode.agents.agent!;
  expect(episode.correct).toBe(reward.status === "scored" && reward.value === 1);
  return reward.status === "scored" ? reward.value : reward.status;
}

test("passes the conformance suite", async () => {
  for (const options of [{}, { maximum: 10, maximumTarget: 20, limit: 200 }, { numbers: 6, maximum: 1_000 }]) {
    for (const split of ["train", "test"]) {
      expect((await checkEnvironment(countdownEnvironment({ limit: 20, ...options }), { split })).problems).toEqual([]);
    }
  }
});

test("its solutions are right, use every number, and have whole positive numbers in between", async () => {
  const environment = countdownEnvironment({ numbers: 4, limit: 300 });
  const tasks = await environment.tasks("train");
  for (let i = 0; i < 300; i++) {
    const entry = await tasks.get(i);
    const { numbers, target, solution } = entry.task;
    expect(numbers).not.toContain(target);
    expect(readExpression(solution)!.numbers.toSorted()).toEqual(numbers.toSorted());
    const played = await rolloutEpisode({
      environment,
      task: entry,
      policies: demonstrationPolicy({ environment }),
      seed: i,
    });
    expect(played.correct).toBe(true);
  }
});

test("train and test have no common task", async () => {
  const environment = countdownEnvironment({ maximum: 10, limit: 300 });
  await checkDisjoint(await environment.tasks("train"), await environment.tasks("test"));
});

describe("right answers", () => {
  test.each([
    "3 * 7 + 5",
    "5+3*7",
    "(3*7)+5 = 26",
    "3 × 7 + 5.",
    "3 x 7 + 5",
    "（3＊7）＋5",
    "First I try 3 + 7.\nAnswer: 3*7+5",
    "The expression is 3*7 + 5",
    "**3 * 7 + 5**",
    "3\\times7+5",
    "3\\cdot7+5",
    "```\n3 * 7 + 5\n```",
    "\\[\n3 \\times 7 + 5\n\\]",
    "$3 \\times 7 + 5$",
    "\\boxed{3 \\cdot 7 + 5}",
    "#### 3*7+5",
    "- 3 * 7 + 5\n\n",
    "I guess\n<answer>3 * 7 + 5</answer> I hope.",
    "5 - (0 - 0) + 3 * 7".replace("(0 - 0) ", "").replace("- ", ""),
  ])("%s", async (reply) => {
    expect(await rewardOf(reply)).toBe(1);
  });

  test("are exact, whatever the fractions in between", async () => {
    expect(await rewardOf("7 / 3 * 3 + 5", { numbers: [3, 7, 3, 5], target: 12, solution: "7 + 5" })).toBe(1);
    expect(await rewardOf("1 / (1 - 48 / 49)", { numbers: [1, 1, 48, 49], target: 49, solution: "49 * 1" })).toBe(1);
  });

  test("may leave numbers out", async () => {
    expect(await rewardOf("3 + 7", { numbers: [3, 7, 5], target: 10, solution: "3 + 7" })).toBe(1);
  });
});

describe("answers that do not pay", () => {
  test.each([
    ["no expression", ""],
    ["the target itself", "26"],
    ["another value", "3 + 7 + 5"],
    ["a number that is used twice", "3 * 7 + 5 + 5 - 5"],
    ["a number that is not given", "13 * 2"],
    ["digits that are put together", "35 - 9"],
    ["a claimed value", "3 + 7 = 26"],
    ["an equation the other way round", "26 = 3 + 7"],
    ["a power", "3^7"],
    ["a power as **", "3 ** 7 + 5"],
    ["digits around marks", "3 * 7 + 2**$3"],
    ["digits around several marks", "3 * 7 + 1$$2"],
    ["a division by a colon", "20 : 3 * 7 + 5"],
    ["a superscript", "3 * 7 + 5²"],
    ["a decimal", "3.0 * 7 + 5"],
    ["a sign", "-3 * -7 + 5"],
    ["two expressions", "3 + 7, 3 * 7 + 5"],
    ["two expressions in one line", "3 + 7 or 3 * 7 + 5"],
    ["an open parenthesis", "(3 * 7 + 5"],
    ["code", "process.exit(0) || 3 * 7 + 5"],
    ["an expression that is not last", "3 * 7 + 5\nThat is it."],
    ["a division by 0", "7 / (5 - 5) + 3"],
    ["exponents of numbers", "3e0 * 7 + 5"],
    ["hexadecimal numbers", "0x3 * 7 + 5"],
    ["a function", "max(26, 3)"],
  ])("%s", async (_, reply) => {
    expect(await rewardOf(reply)).toBe(0);
  });

  test("long nests do not exhaust the stack or the time", async () => {
    for (const length of [100, 100_000]) {
      expect(await rewardOf(`${"(".repeat(length)}26${")".repeat(length)}`)).toBe(0);
      expect(await rewardOf(`26${"+0".repeat(length)}`)).toBe(0);
    }
  });

  test("a reply of any text earns 1 only with the given numbers", async () => {
    const sign = fc.constantFrom(..."0123456789+-*/() =.x".split(""));
    await fc.assert(
      fc.asyncProperty(fc.array(sign, { maxLength: 12 }), async (signs) => {
        const reply = signs.join("");
        if ((await rewardOf(reply)) === 0) return;
        const stated = reply.replace(/=.*/, "");
        expect((stated.match(/\d+/g) ?? []).toSorted()).toEqual(["3", "5", "7"]);
      }),
      { numRuns: 300 },
    );
  });

  test("a blind climb over signs and numbers of other tasks earns nothing", async () => {
    const environment = countdownEnvironment({ limit: 20 });
    const entry = await (await environment.tasks("test")).get(3);
    const others = [101, 102, 103].filter((number) => !entry.task.numbers.includes(number));
    const words = [...others.map(String), String(entry.task.target), "+", "-", "*", "/", "(", ")", "="];
    expect((await climb({ environment, task: entry, words, episodes: 500 })).best).toBe(0);
  });
});
