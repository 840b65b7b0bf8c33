import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { EnvironmentDefinition } from "../../../src/contract/environment.ts";
import { defineEnvironment } from "../../../src/core/environment/define-environment.ts";
import { defineParallelEnvironment } from "../../../src/core/environment/define-parallel-environment.ts";
import { environmentFromReward } from "../../../src/core/environment/environment-from-reward.ts";
import { mixedEnvironment } from "../../../src/core/environment/mixed-environment.ts";
import { taskGroup } from "../../../src/core/environment/task-group.ts";
import { scriptedPolicy } from "../../../src/core/policy/scripted-policy.ts";
import { byGroup, compareGroups, otherGroups, withOuterGroups } from "../../../src/core/task-groups.ts";
import { clipReward } from "../../../src/core/wrappers/clip-reward.ts";
import { record } from "../../../src/core/wrappers/record.ts";
import { scaleReward } from "../../../src/core/wrappers/scale-reward.ts";
import { timeLimit } from "../../../src/core/wrappers/time-limit.ts";
import { toolBudget } from "../../../src/core/wrappers/tool-budget.ts";
import { transformObservation } from "../../../src/core/wrappers/transform-observation.ts";
import { withPolicies } from "../../../src/core/wrappers/with-policies.ts";

const topics = (groupOf?: (task: string) => string | undefined) =>
  defineEnvironment<string>({
    id: "topics",
    tasks: ["sum", "word"],
    groupOf,
    reset: ({ task }) => task,
    step: () => ({}),
  });

describe("the group of a task", () => {
  it("is what groupOf returns, and undefined without it", () => {
    expect(
      taskGroup(
        topics((task) => task),
        "sum",
      ),
    ).toBe("sum");
    expect(
      taskGroup(
        topics(() => undefined),
        "sum",
      ),
    ).toBeUndefined();
    expect(taskGroup(topics(), "sum")).toBeUndefined();
    expect(topics()).not.toHaveProperty("groupOf");
  });

  it.each([
    ["a line break", "a\nb", "a⏎b"],
    ["a terminal escape", "\u001b[31mred", "\\x1b[31mred"],
    ["a bidirectional override", "a\u202eb", "a\\u202eb"],
    ["a lone surrogate", "a\ud800b", "a\\ud800b"],
    ["64 characters", "x".repeat(64), "x".repeat(64)],
    ["65 characters", "x".repeat(65), `${"x".repeat(63)}…`],
    ["65 emojis", "🙂".repeat(65), `${"🙂".repeat(63)}…`],
    ["a megabyte", "x".repeat(2 ** 20), `${"x".repeat(63)}…`],
  ])("is one short visible line: %s", (_, given, shown) => {
    expect(
      taskGroup(
        topics(() => given),
        "sum",
      ),
    ).toBe(shown);
  });

  it.each<[string, unknown]>([
    ["a number", 3],
    ["null", null],
    ["an empty text", ""],
    ["a blank text", " \n"],
    ["a list", ["a"]],
    ["an object", { name: "a" }],
    ["true", true],
    ["a promise", Promise.resolve("a")],
    ["a big integer", 3n],
    ["a function", () => "a"],
  ])("is refused if it is %s", (_, given) => {
    const environment = topics(() => given as string);
    for (const one of [environment, timeLimit(environment, 1), mixedPart(environment)]) {
      expect(() => taskGroup(one, "sum")).toThrow(
        expect.objectContaining({
          code: "environment.contract",
          message: expect.stringMatching(/^Environment "topics" returned .* from groupOf/),
        }),
      );
    }
  });

  it("is an error of the environment if groupOf throws", () => {
    const broken = topics(() => {
      throw new Error("no topic");
    });
    const failed = {
      code: "environment.failed",
      message: expect.stringContaining('"topics" threw in groupOf: Error: no topic'),
    };
    expect(() => taskGroup(broken, "sum")).toThrow(expect.objectContaining(failed));
  });

  it.each(["difficulty", 3, null, {}, true])("needs a function, not %j, in every kind of definition", (groupOf) => {
    const base = { id: "topics", tasks: ["sum"], groupOf: groupOf as never };
    const refused = expect.objectContaining({
      code: "environment.contract",
      message: expect.stringMatching(/"topics" has .* as groupOf/),
    });
    expect(() => defineEnvironment({ ...base, reset: () => "x", step: () => ({}) })).toThrow(refused);
    expect(() => defineParallelEnvironment({ ...base, agents: ["a"], reset: () => ({}), step: () => ({}) })).toThrow(
      refused,
    );
    expect(() => environmentFromReward({ ...base, prompt: () => "x", reward: () => 1 })).toThrow(refused);
  });
});

/** A mixture whose tasks are those of its only part. */
function mixedPart(environment: EnvironmentDefinition<string>): EnvironmentDefinition<string> {
  const mixture = mixedEnvironment([{ environment: environment as EnvironmentDefinition }]);
  return { ...mixture, groupOf: (task: string) => mixture.groupOf!({ environment: "topics", task }) } as never;
}

describe("a wrapper", () => {
  const inner = topics((task) => `topic ${task}`);
  const other = defineParallelEnvironment<"left" | "right", string>({
    id: "team",
    agents: ["left", "right"],
    tasks: ["sum"],
    groupOf: (task) => `topic ${task}`,
    reset: () => ({ left: "x", right: "x" }),
    step: () => ({ reward: 1 }),
  });
  it.each<[string, EnvironmentDefinition<string>]>([
    ["timeLimit", timeLimit(inner, 1)],
    ["toolBudget", toolBudget(inner, 1)],
    ["scaleReward", scaleReward(inner, 2)],
    ["clipReward", clipReward(inner, { maximum: 1 })],
    ["record", record(inner, () => {})],
    ["transformObservation", transformObservation(inner, (observation) => observation)],
    ["withPolicies", withPolicies(other, { right: scriptedPolicy(() => "x") })],
    ["several", clipReward(scaleReward(timeLimit(inner, 1), 2), { maximum: 1 })],
  ])("%s forwards groupOf", (_, wrapped) => {
    expect(taskGroup(wrapped, "sum")).toBe("topic sum");
  });

  it("a mixture puts the name of the environment before the group", () => {
    const mixture = mixedEnvironment([
      { environment: inner as EnvironmentDefinition, name: "first" },
      { environment: topics() as EnvironmentDefinition },
    ]);
    expect(taskGroup(mixture, { environment: "first", task: "sum" })).toBe("first/topic sum");
    expect(taskGroup(mixture, { environment: "topics-2", task: "sum" })).toBe("topics-2");
  });
});

describe("a table of groups", () => {
  it("counts an item in every group that contains its own", () => {
    expect(withOuterGroups("a/b/c")).toEqual(["a", "a/b", "a/b/c"]);
    expect(withOuterGroups(undefined)).toEqual([]);
    const groups = byGroup(["b/2", "b/10", "a", undefined], (name) => name);
    expect([...groups].map(([name, { length }]) => [name, length])).toEqual([
      ["a", 1],
      ["b", 2],
      ["b/2", 1],
      ["b/10", 1],
    ]);
  });

  it("shows the 32 largest groups, and the rest together", () => {
    const items = Array.from({ length: 40 }, (_, n) => Array.from({ length: n + 1 }, () => `g${n}`)).flat();
    const groups = byGroup(items, (name) => name);
    expect([...groups.keys()].slice(0, 2)).toEqual(["g8", "g9"]);
    expect(groups.size).toBe(33);
    expect(groups.get(otherGroups)).toHaveLength(36);
  });

  it("keeps the names of earlier tables", () => {
    const named = new Set<string>();
    byGroup(["a"], (name) => name, named);
    for (let n = 0; n < 100; n++) byGroup([`x${n}`, `x${n}`], (name) => name, named);
    expect(named.size).toBe(32);
    expect([...byGroup(["a", "x99"], (name) => name, named).keys()]).toEqual(["a", otherGroups]);
  });

  it("loses no item, has no item twice in a group, and is bounded and in order, for all names", async () => {
    const name = fc.option(fc.oneof(fc.string(), fc.constantFrom("a/b", "a", otherGroups, "__proto__", "/", "")), {
      nil: undefined,
    });
    await fc.assert(
      fc.property(fc.array(name, { maxLength: 80 }), (names) => {
        const items = names.map((group, id) => ({ group, id }));
        const groups = byGroup(items, ({ group }) => group);
        const found = new Set([...groups.values()].flat());
        expect(items.filter((item) => item.group !== undefined && !found.has(item))).toEqual([]);
        for (const own of groups.values()) expect(new Set(own).size).toBe(own.length);
        expect(groups.size).toBeLessThanOrEqual(33);
        const shown = [...groups.keys()].filter((key) => key !== otherGroups);
        expect(shown).toEqual(shown.toSorted(compareGroups));
      }),
    );
  });
});
