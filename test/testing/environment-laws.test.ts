import { describe, expect, test } from "vitest";
import { defineEnvironment, type SingleAgentDefinition } from "../../src/environment/define-environment.ts";
import type { EnvironmentDefinition } from "../../src/environment/environment.ts";
import { checkEnvironmentLaws } from "../../src/testing/index.ts";

const lawful: SingleAgentDefinition<number, { left: number }> = {
  id: "lawful",
  tasks: [1, 2, 3],
  maxTurns: 3,
  reset: ({ task, random }) => ({ messages: `${task} ${random.next()}`, state: { left: 2 } }),
  step: ({ state }) => (state.left-- > 0 ? { reply: "on" } : { reward: 1 }),
  demonstrate: () => ["a", "b", "c"],
};

function lawlessInstance(
  change: (calls: { steps: number; resets: number }) => Partial<Awaited<ReturnType<EnvironmentDefinition["create"]>>>,
): EnvironmentDefinition<number> {
  const environment = defineEnvironment(lawful);
  return {
    ...environment,
    create: async () => Object.assign(await environment.create(), change({ steps: 0, resets: 0 })),
  };
}

describe("the laws of environments", () => {
  test("are kept by a lawful one", () => checkEnvironmentLaws({ environment: defineEnvironment(lawful) }));

  let count = 0;
  test.each<[string, EnvironmentDefinition<number>, string]>([
    [
      "failing",
      defineEnvironment({
        ...lawful,
        step: () => {
          throw new Error("no");
        },
      }),
      "failed",
    ],
    ["a reward out of range", defineEnvironment({ ...lawful, step: () => ({ reward: 2 }) }), "gave agent"],
    [
      "chance from elsewhere",
      defineEnvironment({ ...lawful, step: () => ({ reply: String(count++) }) }),
      "differently the second time",
    ],
    ["a demonstration that is too short", defineEnvironment({ ...lawful, demonstrate: () => "a" }), "failed"],
    [
      "no end",
      lawlessInstance(() => ({
        step: async () => ({
          observations: { agent: { messages: [{ role: "user", content: [] }], context: "append" } },
          agents: { agent: { terminated: false, truncated: false } },
        }),
      })),
      "did not end in 3 turns",
    ],
    [
      "steps after the end",
      lawlessInstance(() => ({
        step: async () => ({ observations: {}, agents: { agent: { terminated: true, truncated: false } } }),
      })),
      "took a step after the end",
    ],
  ])("catch %s", async (_, environment, message) => {
    await expect(checkEnvironmentLaws({ environment })).rejects.toMatchObject({
      code: "environment.contract",
      message: expect.stringContaining(message),
    });
  });

  test("are not checked on when the signal aborts, be it while tasks are loaded", async () => {
    const controller = new AbortController();
    const reason = new Error("enough");
    const environment = defineEnvironment({
      ...lawful,
      tasks: (_, { signal }) =>
        new Promise<number[]>((_, reject) => {
          signal?.addEventListener("abort", () => reject(signal.reason));
        }),
    });
    const checked = checkEnvironmentLaws({ environment, signal: controller.signal });
    controller.abort(reason);
    await expect(checked).rejects.toBe(reason);
  });

  test("hold a judged environment to no repetition", () =>
    checkEnvironmentLaws({
      environment: defineEnvironment({
        ...lawful,
        deterministic: false,
        step: () => ({ reply: String(Math.random()) }),
      }),
    }));
});
