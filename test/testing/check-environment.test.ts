import { describe, expect, test } from "vitest";
import { mathEntry } from "../../environments/math/math.ts";
import { defineEnvironment, type SingleAgentDefinition } from "../../src/environment/define-environment.ts";
import type { Environment, EnvironmentDefinition, StepResult } from "../../src/environment/environment.ts";
import { checkEnvironment } from "../../src/testing/index.ts";

type Task = { n: number };
const lawful: SingleAgentDefinition<Task, { left: number }> = {
  id: "lawful",
  tasks: (split) => (split === "test" ? [{ n: 9 }] : [{ n: 1 }, { n: 2 }]),
  maxTurns: 3,
  reset: ({ task, random }) => ({ messages: `${task.n} ${random.next()}`, state: { left: 2 } }),
  step: ({ state }) => (state.left-- > 0 ? { reply: "on" } : { reward: 1 }),
  demonstrate: () => ["a", "b", "c"],
};

const plain = defineEnvironment(lawful);
const changed = (change: Partial<SingleAgentDefinition<Task, { left: number }>>): EnvironmentDefinition<Task> =>
  defineEnvironment({ ...lawful, ...change });

function instances(change: (inner: Environment<Task>) => Partial<Environment<Task>>): EnvironmentDefinition<Task> {
  return {
    ...plain,
    create: async () => {
      const inner = await plain.create();
      const whole: Environment<Task> = {
        specificationVersion: "v1",
        spec: inner.spec,
        reset: (options) => inner.reset(options),
        step: (actions, options) => inner.step(actions, options),
        close: () => inner.close(),
      };
      return { ...whole, ...change(inner) };
    },
  };
}

const steps = (change: (result: StepResult) => StepResult): EnvironmentDefinition<Task> =>
  instances((inner) => ({ step: async (actions, options) => change(await inner.step(actions, options)) }));

const over = { terminated: true, truncated: false };
const message = { role: "user", content: [{ type: "text", text: "x" }] } as const;
/** Takes a step at any time. */
const lax = instances((inner) => ({
  step: (actions, options) => inner.step(actions, options).catch(() => ({ observations: {}, agents: { agent: over } })),
}));
let count = 0;

describe("the conformance suite", () => {
  test("finds nothing in a lawful environment, nor in math", async () => {
    const report = await checkEnvironment({ environment: plain });
    expect(report.broken).toEqual([]);
    expect(new Set(report.laws).size).toBe(report.laws.length);
    expect(report.laws.length).toBeGreaterThanOrEqual(20);
    const math = mathEntry.create(mathEntry.options.parse({}));
    expect((await checkEnvironment({ environment: math, tasks: 1, episodes: 2 })).broken).toEqual([]);
  });

  test.each<[string, EnvironmentDefinition<Task>]>([
    ["takes-any-answer", changed({ step: ({ text }) => ({ reward: JSON.parse(text) }) })],
    ["spec-is-playable", { ...plain, spec: { ...plain.spec, rewardRange: [1, 0] } }],
    ["tasks-are-data", changed({ tasks: [{ n: 1, when: new Date(0) } as Task], splits: ["train"] })],
    ["tasks-repeat", changed({ tasks: () => [{ n: count++ }] })],
    ["splits-are-disjoint", changed({ tasks: () => [{ n: 1 }] })],
    ["demonstrations-reach-the-end", changed({ demonstrate: () => "a" })],
    ["ends-within-max-turns", { ...plain, spec: { ...plain.spec, maxTurns: 2 } }],
    ["rewards-are-in-range", changed({ step: () => ({ reward: 2 }) })],
    ["rewards-are-finite", changed({ step: () => ({ reward: Number.NaN }) })],
    ["components-sum-to-the-reward", changed({ step: () => ({ reward: 1, components: { a: 0.5 } }) })],
    ["rewards-of-known-agents", steps((result) => ({ ...result, agents: { ...result.agents, ghost: over } }))],
    ["steps-tell-of-all-who-acted", steps((result) => ({ ...result, agents: {} }))],
    [
      "observes-known-agents",
      instances((inner) => ({
        reset: async (options) => ({
          ...(await inner.reset(options)),
          ghost: { messages: [message], context: "append" },
        }),
      })),
    ],
    ["observes-only-agents-that-go-on", steps((result) => ({ ...result, agents: { agent: over } }))],
    ["messages-are-valid", changed({ reset: () => ({ messages: [], state: { left: 2 } }) })],
    [
      "speaks-not-as-assistant",
      changed({ reset: () => ({ messages: { ...message, role: "assistant" }, state: { left: 2 } }) }),
    ],
    ["repeats-under-a-seed", changed({ step: () => ({ reward: 0, info: count++ }) })],
    [
      "reset-begins-anew",
      (() =>
        instances((inner) => {
          let resets = 0;
          return {
            reset: async (options) => inner.reset({ ...options, seed: options.seed + resets++ }),
          };
        }))(),
    ],
    [
      "instances-share-nothing",
      (() => {
        let last = 0;
        return changed({
          reset: ({ task, random }) => {
            last = random.next();
            return { messages: `${task.n}`, state: { left: 2 } };
          },
          step: () => ({ reward: last / 2 }),
        });
      })(),
    ],
    [
      "actions-stay-as-they-are",
      instances((inner) => ({
        step: (actions, options) => {
          Object.assign(actions.agent!, { finish: "error" });
          return inner.step(actions, options);
        },
      })),
    ],
    [
      "tasks-stay-as-they-are",
      changed({
        tasks: () => [{ n: 1 }],
        splits: ["train"],
        reset: ({ task }) => {
          task.n += 1;
          return { messages: "x", state: { left: 2 } };
        },
      }),
    ],
    ["refuses-a-step-before-reset", lax],
    ["refuses-a-step-after-the-end", lax],
    [
      "closes-twice",
      instances((inner) => {
        let closed = 0;
        return {
          close: async () => {
            await inner.close();
            if (++closed === 2) throw new Error("closed already");
          },
        };
      }),
    ],
    [
      "heeds-an-abort",
      instances((inner) => ({
        reset: (options) => (options.signal?.aborted ? new Promise(() => {}) : inner.reset(options)),
      })),
    ],
    [
      "fork-is-equal",
      instances(() => ({
        fork: async () => {
          const other = await changed({ step: () => ({ reward: 0.5 }) }).create();
          await other.reset({ task: { n: 1 }, seed: 1 });
          return other;
        },
      })),
    ],
    ["state-is-json", instances(() => ({ state: () => ({ at: new Date(0) }) as never }))],
    ["refuses-use-after-close", instances(() => ({ close: async () => {} }))],
  ])("finds what breaks %s", async (law, environment) => {
    const { broken } = await checkEnvironment({ environment, episodes: 3 });
    const found = broken.find((one) => one.law === law);
    expect(found, JSON.stringify(broken)).toMatchObject({ reproduction: { split: "train" } });
  });
});
