import fc from "fast-check";
import { expect, test } from "vitest";
import { numberGuessingEnvironment } from "../../../environments/number-guessing/number-guessing.ts";
import type { Episode } from "../../../src/contract/episode.ts";
import type { Policy } from "../../../src/contract/policy.ts";
import { demonstrationPolicy } from "../../../src/core/policy/demonstration-policy.ts";
import { scriptedPolicy } from "../../../src/core/policy/scripted-policy.ts";
import { rolloutEpisode } from "../../../src/core/rollout/rollout-episode.ts";
import { checkDisjoint } from "../../../src/core/taskset/disjoint.ts";
import { taskEntry } from "../../../src/core/taskset/task-entry.ts";
import { checkEnvironment } from "../../../src/entry-points/testing.ts";
import { climb } from "../hill-climber.ts";
import { averaged } from "./averaged.ts";

type Options = Parameters<typeof numberGuessingEnvironment>[0];

function play(secret: number, policies: Policy, options?: Options): Promise<Episode> {
  const environment = numberGuessingEnvironment(options);
  return rolloutEpisode({ environment, task: taskEntry({ secret, game: 0 }, 0), policies, seed: 1 });
}

function replies(episode: Episode): readonly string[] {
  const { nodes } = episode.agents.agent!;
  return nodes.filter(({ message }) => message.role === "user").map(({ message }) => JSON.stringify(message.content));
}

test("passes the conformance suite", async () => {
  for (const options of [{}, { maximum: 2, spareGuesses: 0 }, { maximum: 100_000 }]) {
    for (const split of ["train", "test"]) {
      expect((await checkEnvironment(numberGuessingEnvironment(options), { split })).problems).toEqual([]);
    }
  }
});

test("train and test have no common game, and each has every number once, in random order", async () => {
  const numbers = Array.from({ length: 23 }, (_, i) => i + 1);
  const environment = numberGuessingEnvironment({ maximum: 23 });
  const [train, held] = [await environment.tasks("train"), await environment.tasks("test")];
  await checkDisjoint(train, held);
  const orders = await Promise.all(
    [train, held].map((taskset) => Promise.all(numbers.map(async (_, i) => (await taskset.get(i)).task.secret))),
  );
  for (const order of orders) {
    expect(order.toSorted((a, b) => a - b)).toEqual(numbers);
    expect(order).not.toEqual(numbers);
  }
  expect(orders[0]).not.toEqual(orders[1]);
});

test("a binary search finds every number without an extra guess", async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 2, max: 5_000 }), fc.nat(), async (maximum, number) => {
      const options = { maximum, spareGuesses: 0 };
      const environment = numberGuessingEnvironment(options);
      const episode = await play((number % maximum) + 1, demonstrationPolicy({ environment }), options);
      expect(episode.agents.agent!.reward).toMatchObject({ status: "scored", value: 1 });
    }),
    { numRuns: 60 },
  );
});

test("each extra guess costs a share, and a number that is not found gets 0", async () => {
  const after = async (misses: number): Promise<unknown> => {
    const script = Array.from({ length: 10 }, (_, turn) => (turn < misses ? "1" : "It must be 42"));
    return (await play(42, scriptedPolicy(script))).agents.agent!.reward;
  };
  for (const [misses, value] of [
    [0, 1],
    [6, 1],
    [7, 0.75],
    [9, 0.25],
    [10, 0],
  ] as const) {
    expect(await after(misses)).toMatchObject({ value });
  }
});

test("answers higher or lower, never the number, and reads the last number of a reply", async () => {
  const script = ["between 42 and 50", "-3", "no idea", "41.", "42"];
  const episode = await play(42, scriptedPolicy(script));
  expect(replies(episode).slice(1)).toEqual([
    expect.stringContaining("lower than 50"),
    expect.stringContaining("higher than -3"),
    expect.stringContaining("no whole number"),
    expect.stringContaining("higher than 41"),
  ]);
  expect(replies(episode).join(" ")).not.toContain("42");
});

test("an empty reply gets 0", async () => {
  const episode = await play(
    9,
    scriptedPolicy(() => "higher"),
  );
  expect(episode.agents.agent!.reward).toMatchObject({ value: 0 });
});

test("no text without feedback gets more than one number in ten", async () => {
  const tasks = Array.from({ length: 10 }, (_, i) => ({ secret: 10 * i + 1, game: i }));
  const environment = await averaged(numberGuessingEnvironment(), tasks);
  const words = ["higher", "lower", "-", ...Array.from({ length: 100 }, (_, i) => String(i + 1))];
  const { best } = await climb({ environment, task: taskEntry("all", 0), words });
  expect(best).toBeLessThanOrEqual(1 / 10);
});
