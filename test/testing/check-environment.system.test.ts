import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import type { Episode } from "../../src/contract/episode.ts";
import { defineParallelEnvironment } from "../../src/core/environment/define-parallel-environment.ts";
import { scriptedPolicy } from "../../src/core/policy/scripted-policy.ts";
import { rolloutEpisode } from "../../src/core/rollout/rollout-episode.ts";
import { checkEnvironment, type EnvironmentProblem } from "../../src/entry-points/testing.ts";
import {
  bySample,
  changed,
  forking,
  grouped,
  instances,
  otherFaults,
  plantedFaults,
  soundEnvironment,
  type Task,
} from "./planted-faults.ts";

/** Less than the time that a call may take after an abort, so that checks of hanging code end soon. */
const callMs = 500;

async function problemsOf(environment: EnvironmentDefinition<Task>): Promise<readonly EnvironmentProblem[]> {
  return (await checkEnvironment(environment, { callMs: 5_000 })).problems;
}

describe("a correct environment", () => {
  test.each<[string, EnvironmentDefinition<Task>]>([
    ["of one agent", soundEnvironment],
    ["that forks", forking()],
    [
      "that answers by itself whatever its signal says",
      instances((inner) => ({
        reset: ({ task, seed }) => inner.reset({ task, seed }),
        step: (all) => inner.step(all),
      })),
    ],
    [
      "that waits, and stops waiting on an abort",
      changed({
        deterministic: false,
        step: ({ signal }) =>
          new Promise((resolve, reject) => {
            const timer = setTimeout(() => resolve({ reward: 1 }), signal === undefined ? 1 : 10_000);
            signal?.addEventListener("abort", () => {
              clearTimeout(timer);
              reject(signal.reason);
            });
          }),
        demonstrate: () => undefined,
      }),
    ],
    [
      "that scores groups by the lengths of their episodes",
      grouped(async (group) => bySample(group, ({ turns }) => turns / group.length)),
    ],
    ["that has no reward for a group", grouped(async () => ({}))],
    [
      "that a seed does not determine",
      changed({ deterministic: false, reset: () => ({ prompt: `${Math.random()}`, state: { left: 2 } }) }),
    ],
  ])("%s breaks no rule", async (_, environment) => {
    expect(await problemsOf(environment)).toEqual([]);
  });

  test("with several agents whose rewards cancel out breaks no rule", async () => {
    const duel = defineParallelEnvironment({
      id: "duel",
      agents: ["left", "right"],
      tasks: ["now"],
      rewardRange: [-1, 1],
      reset: () => ({ left: "Your number?", right: "Your number?" }),
      step: ({ texts }) => {
        const [left = 0, right = 0] = [texts.left, texts.right].map(Number).map((n) => (Number.isFinite(n) ? n : 0));
        const won = Math.sign(left - right);
        return { rewards: { left: won + 0, right: 0 - won } };
      },
      demonstrate: () => [{ left: "7", right: "7" }],
    });
    expect((await checkEnvironment(duel)).problems).toEqual([]);
  });
});

test("a group without any playable episode is not reported as scored wrongly", async () => {
  const unplayable = instances(() => ({ reset: () => Promise.reject(new Error("There is no board.")) }));
  const environment = { ...unplayable, scoreGroup: async (group: readonly Episode[]) => bySample(group, () => 1) };
  const { problems } = await checkEnvironment(environment);
  expect(problems.length).toBeGreaterThan(0);
  for (const { rule, message } of problems) {
    expect(rule).not.toMatch(/^groups-/);
    expect(message).toContain("There is no board.");
  }
});

test("a shared resource starts once per check, and is closed after it", async () => {
  let [holders, starts] = [0, 0];
  const sharing = instances((inner) => {
    if (holders++ === 0) starts++;
    let isOpen = true;
    return {
      close: async () => {
        if (isOpen) holders--;
        isOpen = false;
        await inner.close();
      },
    };
  });
  expect(await problemsOf(sharing)).toEqual([]);
  expect({ holders, starts }).toEqual({ holders: 0, starts: 1 });
});

describe("planted faults", () => {
  test("exist for every rule", async () => {
    const { rules } = await checkEnvironment(soundEnvironment, { tasks: 1, episodes: 1 });
    expect(plantedFaults.map(([rule]) => rule)).toEqual(rules);
    expect(new Set(rules).size).toBe(rules.length);
    const guide = await readFile(new URL("../../docs/environments.md", import.meta.url), "utf8");
    expect(rules.filter((rule) => !guide.includes(`\`${rule}\``))).toEqual([]);
  });

  const faults = [...plantedFaults, ...otherFaults].map(([rule, environment, others = []]) => ({
    rule,
    environment,
    others,
  }));
  test.each(faults)("of $rule are found without false reports", async ({ rule, environment, others }) => {
    const { problems } = await checkEnvironment(environment, {
      callMs: rule === "answers-in-time" || rule.startsWith("groups-") ? callMs : 5_000,
    });
    expect(problems.map((problem) => problem.rule).toSorted()).toEqual([rule, ...others].toSorted());
    for (const { message, hint } of problems) {
      expect(message).toMatch(/^(Task "0", turn 0: )?Environment "sound[^"]*" .+/);
      expect(hint).toMatch(/\.$/);
    }
  });
});

describe("a problem", () => {
  /** Breaks if an answer contains a c, in the second turn or later. */
  const picky = changed({
    step: ({ state, text, turn }) => {
      if (turn > 0 && text.includes("c")) return { reward: 7 };
      return state.left-- > 0 ? { reply: "on" } : { reward: 1 };
    },
    demonstrate: () => undefined,
  });

  test("has its smallest actions, with rule, task, seed and hint", async () => {
    const { problems } = await checkEnvironment(picky, { episodes: 100 });
    expect(problems).toEqual([
      {
        rule: "rewards-are-in-range",
        message: 'Environment "sound" gave agent "agent" 7, beyond its rewardRange [0, 1].',
        hint: expect.stringContaining("rewardRange"),
        split: "train",
        task: "0",
        seed: expect.any(Number),
        actions: ["c"],
      },
    ]);
  });

  test("is the same for the same seed, and occurs again if its actions are played", async () => {
    const first = await checkEnvironment(picky, { episodes: 100, seed: 3 });
    expect(await checkEnvironment(picky, { episodes: 100, seed: 3 })).toEqual(first);
    const [{ task, seed, actions }] = first.problems as [EnvironmentProblem];
    const entry = await (await picky.tasks("train")).get(Number(task));
    const policies = scriptedPolicy(({ episode }) => actions![episode!.turn % actions!.length]!);
    const episode = await rolloutEpisode({ environment: picky, task: entry, policies, seed: seed! });
    expect(episode.agents.agent!.reward).toMatchObject({ value: 7 });
  });

  test("of an error names the place of the throw", async () => {
    const [problem] = await problemsOf(plantedFaults.find(([rule]) => rule === "accepts-any-answer")![1]);
    expect(problem!.message).toContain("threw in step: SyntaxError: a digit (");
    expect(problem!.message).toMatch(/test\/testing\/planted-faults\.ts:\d+:\d+\)$/);
    expect(problem!.actions).toHaveLength(1);
  });

  test("is not reported if its rule is skipped; an unknown rule is an error", async () => {
    const { rules, problems } = await checkEnvironment(picky, { episodes: 100, skip: ["rewards-are-in-range"] });
    expect(problems).toEqual([]);
    expect(rules).not.toContain("rewards-are-in-range");
    await expect(checkEnvironment(picky, { skip: ["rewards-in-range"] })).rejects.toMatchObject({
      code: "config.unknown-name",
      hint: expect.stringContaining('Did you mean "rewards-are-in-range"'),
    });
  });
});

describe("an abort", () => {
  test("ends a check while tasks are loaded, and while an environment hangs", async () => {
    const reason = new Error("enough");
    const loading = changed({
      tasks: (_, { signal }) =>
        new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason))),
      splits: ["train"],
    });
    const hanging = instances(() => ({ step: () => new Promise(() => {}) }));
    for (const environment of [loading, hanging]) {
      const controller = new AbortController();
      const checked = checkEnvironment(environment, { signal: controller.signal });
      setTimeout(() => controller.abort(reason), 50);
      await expect(checked).rejects.toBe(reason);
    }
  });
});
