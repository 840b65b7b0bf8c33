import { describe, expect, it } from "vitest";
import type { EnvironmentDefinition } from "../../../src/contract/environment.ts";
import { defineEnvironment } from "../../../src/core/environment/define-environment.ts";
import { scriptedPolicy } from "../../../src/core/policy/scripted-policy.ts";
import { collectGroups } from "../../../src/core/rollout/collect-groups.ts";
import { EpisodeWarnings } from "../../../src/core/rollout/episode-warnings.ts";
import { rollout } from "../../../src/core/rollout/rollout.ts";

/** Plays two tasks with a group of four equal answers each, twice, and returns the warnings of both times. */
async function warningsOf(environment: EnvironmentDefinition): Promise<readonly string[]> {
  const tasks = await environment.tasks("train");
  const warnings = new EpisodeWarnings(environment);
  const found: string[] = [];
  for (const seed of [1, 2]) {
    const groups = await collectGroups(
      rollout({
        environment,
        tasks: [await tasks.get(0), await tasks.get(1)],
        policies: scriptedPolicy(() => "x"),
        groupSize: 4,
        seed,
      }),
    );
    found.push(...warnings.of(groups.flatMap(({ episodes }) => episodes)));
  }
  return found;
}

const base = { id: "counted", tasks: ["a", "b"], reset: ({ task }: { task: string }) => task };

describe("equal episodes of a deterministic environment", () => {
  it("have equal rewards, or one warning names lyceum check", async () => {
    let count = 0;
    const shared = defineEnvironment<string>({ ...base, step: () => ({ reward: count++ % 2 }) });
    const found = await warningsOf(shared);
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(/task "[ab01]": gives the same answers the rewards (1 and 0|0 and 1).*lyceum check/);
    const declared = defineEnvironment<string>({
      ...base,
      deterministic: false,
      step: () => ({ reward: count++ % 2 }),
    });
    expect(await warningsOf(declared)).toEqual([]);
  });

  it("begin with equal messages", async () => {
    let count = 0;
    const shared = defineEnvironment<string>({
      ...base,
      reset: ({ task }) => `${task} ${count++}`,
      step: () => ({ reward: 1 }),
    });
    expect(await warningsOf(shared)).toEqual([expect.stringMatching(/begins with other messages.*lyceum check/)]);
  });

  it("have no warning if only the task or the seed makes a difference", async () => {
    const seeded = defineEnvironment<string>({
      ...base,
      reset: ({ task, random }) => `${task} ${random.next()}`,
      step: ({ task, random }) => ({ reward: task === "a" ? random.next() : 0 }),
    });
    expect(await warningsOf(seeded)).toEqual([]);
  });
});

it("a reward that is not a number is answered by what a reward may be", async () => {
  for (const reward of [Number.NaN, Number.POSITIVE_INFINITY]) {
    const wrong = defineEnvironment<string>({ ...base, step: () => ({ reward }) });
    expect(await warningsOf(wrong)).toEqual([expect.stringContaining("A reward is a finite number")]);
  }
});

it("reports an instance that fails to close once", () => {
  const warnings = new EpisodeWarnings(defineEnvironment<string>({ ...base, step: () => ({ reward: 1 }) }));
  const failed = (message: string): void => warnings.closeFailed({ name: "LyceumError", code: "internal", message });
  failed("It threw in close");
  failed("It threw in close");
  expect(warnings.of([])).toEqual(["It threw in close. This warning is shown once."]);
  failed("It threw in close");
  failed("It did not close.");
  expect(warnings.of([])).toEqual(["It did not close. This warning is shown once."]);
});
