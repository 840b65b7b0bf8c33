import { expect, it } from "vitest";
import { compareCommand } from "../../cli/compare-command.ts";
import { defineParallelEnvironment } from "../../src/core/environment/define-parallel-environment.ts";
import { scriptedPolicy } from "../../src/core/policy/scripted-policy.ts";
import { compareRuns } from "../../src/evaluation/compare.ts";
import { evaluate } from "../../src/evaluation/evaluate.ts";
import { signTest } from "../../src/evaluation/metrics/paired-test.ts";
import { rotatePlayers } from "../../src/evaluation/rotate-players.ts";
import { answers, evaluated, temporaryFolder } from "./answer-environment.ts";

it("two runs are compared on the tasks that both have scored, in any order", async () => {
  const [first, second] = [await temporaryFolder(), await temporaryFolder()];
  const correct = { component: "worth", atLeast: 1 };
  await evaluated([["1"], ["0"], ["0"], ["1"], ["throw"], ["0"]], { folder: first, correct });
  // The same tasks in reverse order, without task 0 and with an additional one.
  const order = [5, 4, 3, 2, 1, 77].map((n) => ({ n }));
  await evaluated([["1"], ["1"], ["0.5"], ["1"], ["1"], ["0"]], {
    folder: second,
    environment: answers(order),
    correct,
  });
  const comparison = await compareRuns(first, second);
  expect(comparison).toMatchObject({ shared: 5, first: { alone: 1 }, second: { alone: 1 } });
  expect(comparison.metrics.accuracy).toMatchObject({
    ...{ tasks: 4, first: 1 / 4, second: 3 / 4, difference: 0.5, wins: 3, losses: 1, ties: 0 },
    test: { method: "sign", p: signTest(3, 4) },
  });
  expect(comparison.metrics.reward).toMatchObject({ tasks: 4, test: { method: "permutation" } });
  expect(comparison.changed.map(({ first: a, second: b }) => [a, b])).toEqual([
    [0, 1],
    [0, 1],
    [1, 0],
    [0, 1],
  ]);
  let text = "";
  await compareCommand({ first, second, json: false }, { write: (words) => (text += words) });
  expect(text).toMatch(/^accuracy of 4 tasks: A 25\.0%, B 75\.0%, B - A \+50\.0 points, 95 % \S+ to \S+ points \(/m);
  expect(text).toMatch(/^reward of 4 tasks: A 0\.25, B 0\.875, B - A \+0\.625, 95 % /m);
  expect(text).toMatch(/^ {2}B better on 3, worse on 1, the same on 0; sign test p = 0\.625: no clear difference$/m);
  const same = await compareRuns(first, first);
  expect(same.metrics.accuracy).toMatchObject({ difference: 0, wins: 0, losses: 0, test: { p: 1 } });
});

it("two runs without a common task are rejected, with their environments and splits", async () => {
  const [first, second] = [await temporaryFolder(), await temporaryFolder()];
  await evaluated([["1"], ["0"]], { folder: first });
  await evaluated([["1"]], { folder: second, environment: answers([{ n: 77 }]) });
  const refused = compareRuns(first, second);
  await expect(refused).rejects.toMatchObject({ code: "config.invalid" });
  await expect(refused).rejects.toThrow(`no task in common: ${first} has 2 of `);
});

it("matches are compared by the reward of the first model, which a zero-sum game would hide", async () => {
  const environment = defineParallelEnvironment<"left" | "right", { readonly n: number }>({
    id: "greater",
    agents: ["left", "right"],
    tasks: Array.from({ length: 4 }, (_, n) => ({ n })),
    reset: () => ({ left: "A number?", right: "A number?" }),
    step: ({ texts }) => {
      const sign = Math.sign(Number(texts.left) - Number(texts.right));
      return { rewards: { left: sign, right: -sign } };
    },
  });
  const match = async (number: string): Promise<string> => {
    const folder = await temporaryFolder();
    const players = [
      scriptedPolicy(() => number, { name: "trained" }),
      scriptedPolicy(() => "5", { name: "five" }),
    ] as const;
    const policies = rotatePlayers(["left", "right"], players);
    const models = { left: "trained", right: "five" };
    await Array.fromAsync(evaluate({ environment, policies, models, rotated: true, samples: 2, folder }));
    return folder;
  };
  const wanted = { tasks: 4, first: -1, second: 1, difference: 2, wins: 4 };
  expect((await compareRuns(await match("1"), await match("7"))).metrics.reward).toMatchObject(wanted);
  // With fixed roles, the opponent's agent is frozen.
  const against = async (number: string): Promise<string> => {
    const folder = await temporaryFolder();
    const policies = {
      left: scriptedPolicy(() => number, { name: "trained" }),
      right: scriptedPolicy(() => "5", { name: "five" }),
    };
    await Array.fromAsync(evaluate({ environment, policies, frozen: ["right"], folder }));
    return folder;
  };
  expect((await compareRuns(await against("1"), await against("7"))).metrics.reward).toMatchObject(wanted);
  for (const frozen of [["nobody"], ["left", "right"]]) {
    const run = evaluate({ environment, policies: scriptedPolicy(() => "1"), frozen, folder: await temporaryFolder() });
    await expect(Array.fromAsync(run)).rejects.toMatchObject({ code: "config.invalid" });
  }
});
