import { describe, expect, test } from "vitest";
import { environments, mathEnvironment } from "../../../environments/index.ts";
import type { MathOptions } from "../../../environments/math/math-options.ts";
import type { MathTask } from "../../../environments/math/math-problem.ts";
import type { StepResult } from "../../../src/contract/environment.ts";
import { textMessage, textOf } from "../../../src/contract/message.ts";
import type { Taskset } from "../../../src/contract/taskset.ts";
import { checkDisjoint } from "../../../src/core/taskset/disjoint.ts";
import { sliceTaskset } from "../../../src/core/taskset/slice-taskset.ts";
import { checkEnvironment } from "../../../src/entry-points/testing.ts";

const kinds: readonly Partial<MathOptions>[] = [
  { tasks: "arithmetic" },
  { tasks: "equations" },
  { tasks: "word-problems" },
  { tasks: "multi-step" },
  { tasks: "mixed" },
  { tasks: "mixed", answerOnly: true },
  { tasks: "arithmetic", operations: ["addition"], digits: [1, 2], answerOnly: true },
];

async function take(taskset: Taskset<MathTask>, count: number): Promise<MathTask[]> {
  return Promise.all(Array.from({ length: count }, async (_, index) => (await taskset.get(index)).task));
}

describe.each(kinds)("with %o", (options) => {
  test("passes the conformance suite", async () => {
    expect((await checkEnvironment(mathEnvironment(options), { tasks: 8 })).problems).toEqual([]);
    expect(
      (await checkEnvironment(mathEnvironment({ ...options, maxTurns: 3, formatReward: 0.2 }), { split: "test" }))
        .problems,
    ).toEqual([]);
  });

  test("holds out 500 distinct problems that are in no training split", async () => {
    const environment = mathEnvironment(options);
    const held = await environment.tasks("test");
    expect(held.length).toBe(500);
    const questions = (await take(held, 500)).map(({ question }) => question);
    expect(new Set(questions).size).toBe(500);
    await checkDisjoint(await environment.tasks("train"), held, { sample: 3000 });
    const otherSeed = sliceTaskset(await mathEnvironment({ ...options, seed: 9 }).tasks("train"), {
      to: { value: 3000, unit: "tasks" },
    });
    const trained = new Set((await take(otherSeed, 3000)).map(({ question }) => question));
    expect(questions.filter((question) => trained.has(question))).toEqual([]);
  });

  test("demonstrations get the maximum reward", async () => {
    const environment = mathEnvironment(options);
    for (const task of await take(await environment.tasks("train"), 30)) {
      const [demonstration] = environment.demonstrate!(task)!;
      expect(await play(options, task, [demonstration!.agent as string])).toMatchObject([
        { agents: { agent: { reward: { value: 1 }, terminated: true } } },
      ]);
    }
  });
});

test("the same problem is in the same split for every wording", async () => {
  const options = { tasks: "arithmetic", operations: ["addition"], digits: 2 } as const;
  const expression = ({ question }: MathTask): string => /\d+ \+ \d+/.exec(question)![0];
  const held = new Set((await take(await mathEnvironment(options).tasks("test"), 500)).map(expression));
  const trained = (await take(await mathEnvironment(options).tasks("train"), 3000)).map(expression);
  expect(trained.filter((problem) => held.has(problem))).toEqual([]);
});

async function play(options: Partial<MathOptions>, task: MathTask, replies: readonly string[]): Promise<StepResult[]> {
  const environment = await mathEnvironment(options).create();
  await environment.reset({ task, seed: 1 });
  const results: StepResult[] = [];
  for (const text of replies) {
    results.push(await environment.step({ agent: { message: textMessage("assistant", text), finish: "stop" } }));
  }
  await environment.close();
  return results;
}

const task: MathTask = {
  question: "What is 98765 + 1?",
  answer: "98766",
  kind: "addition",
  difficulty: 1,
  solution: "",
};

function reply(result: StepResult): string {
  return result.observations.agent!.messages.map(textOf).join();
}

test("the prompt asks for steps and a last line, or is only the question", async () => {
  for (const [answerOnly, prompt] of [
    [false, /^What is 98765 \+ 1\?\n\n.*#### answer$/],
    [true, /^What is 98765 \+ 1\?$/],
  ] as const) {
    const environment = await mathEnvironment({ answerOnly }).create();
    const { agent } = await environment.reset({ task, seed: 0 });
    expect(textOf(agent!.messages[0]!)).toMatch(prompt);
    expect(agent!.messages).toHaveLength(1);
  }
});

test("a single turn ends after any reply", async () => {
  const [wrong] = await play({}, task, ["#### 5"]);
  expect(wrong).toMatchObject({
    observations: {},
    agents: { agent: { reward: { status: "scored", value: 0, components: { correct: 0 } }, terminated: true } },
  });
});

test("with more turns, a wrong reply gets feedback without answer or reward, and the last reply counts", async () => {
  const [nothing, wrong, right] = await play({ maxTurns: 4 }, task, ["hm", "#### 5", "#### 98,766"]);
  for (const result of [nothing!, wrong!]) {
    expect(result.agents.agent).toEqual({ terminated: false, truncated: false });
    expect(JSON.stringify(result)).not.toMatch(/98,?766/);
  }
  expect(reply(nothing!)).toContain("No answer was found");
  expect(reply(wrong!)).toContain("not the right answer");
  expect(right!.agents.agent).toMatchObject({ reward: { value: 1 }, terminated: true });
  const results = await play({ maxTurns: 2 }, task, ["#### 1", "#### 2"]);
  expect(results[1]!.agents.agent).toMatchObject({ reward: { value: 0 }, terminated: true, truncated: false });
});

test("the format reward is for answers in the requested place, right or wrong", async () => {
  const worth = async (options: Partial<MathOptions>, text: string): Promise<unknown> => {
    const [result] = await play({ formatReward: 0.25, ...options }, task, [text]);
    return result!.agents.agent!.reward;
  };
  expect(await worth({}, "#### 98766")).toMatchObject({ value: 1.25, components: { correct: 1, format: 0.25 } });
  expect(await worth({}, "#### 1")).toMatchObject({ value: 0.25 });
  expect(await worth({}, "98766")).toMatchObject({ value: 1, components: { correct: 1, format: 0 } });
  expect(await worth({}, "####")).toMatchObject({ value: 0 });
  expect(await worth({ answerOnly: true }, "98766")).toMatchObject({ value: 1.25 });
  expect(await worth({ answerOnly: true }, "it is 98766")).toMatchObject({ value: 1 });
});

describe("every option has an effect", () => {
  const questions = async (options: Partial<MathOptions>, split = "train"): Promise<string[]> => {
    const taskset = await mathEnvironment(options).tasks(split);
    return (await take(taskset, Math.min(50, taskset.length === "unbounded" ? 50 : taskset.length))).map(
      ({ question }) => question,
    );
  };

  test.each<[keyof MathOptions, Partial<MathOptions>]>([
    ["tasks", { tasks: "equations" }],
    ["difficulty", { difficulty: 5 }],
    ["operations", { tasks: "arithmetic", operations: ["division"] }],
    ["digits", { digits: 7 }],
    ["answerOnly", { answerOnly: true }],
    ["seed", { seed: 1 }],
  ])("%s changes the questions", async (_name, options) => {
    expect(await questions(options)).not.toEqual(await questions({}));
  });

  test("limit bounds both splits and does not change the tasks", async () => {
    const [full, few] = [mathEnvironment(), mathEnvironment({ limit: 3 })];
    expect([(await full.tasks("train")).length, (await full.tasks("test")).length]).toEqual(["unbounded", 500]);
    for (const split of full.splits) {
      const [whole, part] = [await full.tasks(split), await few.tasks(split)];
      expect(part.length).toBe(3);
      expect(await take(part, 3)).toEqual(await take(whole, 3));
    }
  });

  test("maxTurns and formatReward are in the spec", () => {
    expect(mathEnvironment({ maxTurns: 3, formatReward: 0.5 }).spec).toMatchObject({
      maxTurns: 3,
      rewardRange: [0, 1.5],
    });
  });
});

test("options with too few problems for 500 held-out ones hold out fewer", async () => {
  const digits = mathEnvironment({ tasks: "arithmetic", operations: ["addition"], digits: 1 });
  const held = await digits.tasks("test");
  expect(held.length).toBeGreaterThan(5);
  expect(held.length).toBeLessThan(60);
  await checkDisjoint(await digits.tasks("train"), held, { sample: 1000 });
});

test.each([
  [{ task: "arithmetic" }, /task.*Did you mean "tasks"/s],
  [{ tasks: "algebra" }, /tasks/],
  [{ difficulty: 6 }, /difficulty/],
  [{ difficulty: [3, 1] }, /difficulty/],
  [{ digits: 0 }, /digits/],
  [{ digits: 1.5 }, /digits/],
  [{ operations: [] }, /operations/],
  [{ operations: ["adition"] }, /operations/],
  [{ maxTurns: 0 }, /maxTurns/],
  [{ formatReward: -1 }, /formatReward/],
  [{ limit: 0 }, /limit/],
])("rejects %o, by name and by code", (options, message) => {
  for (const make of [
    () => mathEnvironment(options as Partial<MathOptions>),
    () => environments.create("math", options),
  ]) {
    let error: unknown;
    try {
      make();
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toMatchObject({ code: "config.invalid" });
    const { message: text, hint } = error as { message: string; hint?: string };
    expect(`${text} ${hint}`).toMatch(message);
  }
});

test("every environment of the registry is described, with every option", () => {
  expect(environments.list().map(({ id }) => id)).toContain("math");
  for (const { description, options } of environments.list()) {
    expect(description.length).toBeGreaterThan(20);
    for (const [name, schema] of Object.entries(options.shape)) {
      expect((schema as { description?: string }).description, name).toBeTypeOf("string");
    }
  }
});

test("an unknown split is a typed error, and a slice is accepted", async () => {
  const environment = mathEnvironment();
  await expect(environment.tasks("validation")).rejects.toMatchObject({ code: "data.out-of-range" });
  expect((await environment.tasks("test[:10%]")).length).toBe(50);
  expect((await environment.tasks("train[10:30]")).length).toBe(20);
});
