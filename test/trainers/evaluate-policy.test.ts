import { expect, it } from "vitest";
import { defineEnvironment, memoryTaskset, type Policy, scriptedPolicy, textOf } from "../../src/index.ts";
import { evaluatePolicy } from "../../trainers/evaluate-policy.ts";

/** Fails in the middle of the tasks named, earns 1 for "yes". */
function environment(failing: readonly string[]) {
  return defineEnvironment({
    id: "questions",
    tasks: ["a", "b", "c", "d"],
    reset: ({ task }) => task,
    step: ({ task, text }) => {
      if (failing.includes(task)) throw new Error(`no mark for ${task}`);
      return { reward: text === "yes" ? 1 : 0 };
    },
  });
}

async function evaluate(failing: readonly string[], policy: Policy): Promise<Record<string, number>> {
  const factory = environment(failing);
  return evaluatePolicy({
    environment: factory,
    spec: factory.spec,
    tasks: memoryTaskset("questions", ["a", "b", "c", "d"]),
    policies: policy,
    seed: 1,
  });
}

it("counts what failed as not correct, and says what share of the scored was", async () => {
  const metrics = await evaluate(
    ["a"],
    scriptedPolicy(({ messages }) => (textOf(messages[0]!) === "b" ? "no" : "yes")),
  );
  expect(metrics).toMatchObject({ accuracy: 0.5, "accuracy/scored": 2 / 3 });
});

it("ends with the first episode's error where every episode failed", async () => {
  await expect(
    evaluate(
      ["a", "b", "c", "d"],
      scriptedPolicy(() => "yes"),
    ),
  ).rejects.toMatchObject({
    code: "environment.failed",
    message: expect.stringMatching(/Every one of 4 episodes failed.*no mark for a/),
  });
});
