import { describe, expect, it } from "vitest";
import { wilsonInterval } from "../../src/evaluation/metrics/confidence-interval.ts";
import { estimatePassAtK, estimatePassHatK } from "../../src/evaluation/metrics/pass-at-k.ts";
import { answers, evaluated, temporaryFolder } from "./answer-environment.ts";

describe("a summary", () => {
  it("counts unscored episodes separately, and never as 0", async () => {
    const table = [
      ["1", "1"],
      ["0", "unscored"],
      ["unscored", "throw"],
      ["0.5", "1"],
    ];
    const { counts, metrics, tasks, status } = await evaluated(table, { folder: await temporaryFolder() });
    expect(status).toBe("completed");
    expect(counts).toEqual({
      ...{ tasks: 4, episodes: 8, played: 8, scored: 5, unscored: 3, failed: 1, truncated: 0, correct: 3 },
    });
    // Tasks 0, 1 and 3 have scored samples. 2 of 2, 0 of 1 and 1 of 2 are correct.
    expect(metrics.accuracy).toMatchObject({ value: (1 + 0 + 0.5) / 3, overAll: (1 + 0 + 0 + 0.5) / 4, tasks: 3 });
    expect(metrics["pass@2"]).toMatchObject({ value: (1 + 1) / 2, overAll: (1 + 0 + 0 + 1) / 4, tasks: 2 });
    expect(metrics["pass^2"]).toMatchObject({ value: (1 + 0) / 2, overAll: 1 / 4, tasks: 2 });
    expect(metrics.reward).toMatchObject({ value: (1 + 0 + 0.75) / 3, tasks: 3 });
    expect(metrics["component/worth"]?.value).toBe(metrics.reward!.value);
    expect(tasks.map(({ played, scored, correct, reward }) => [played, scored, correct, reward])).toEqual([
      [2, 2, 2, 1],
      [2, 1, 0, 0],
      [2, 0, 0, null],
      [2, 2, 1, 0.75],
    ]);
  });

  it("has no score if no episode is scored", async () => {
    const { counts, metrics } = await evaluated([["throw"], ["unscored"]], { folder: await temporaryFolder() });
    expect(counts).toMatchObject({ played: 2, scored: 0, unscored: 2, failed: 1 });
    expect(metrics).toEqual({});
  });

  it("estimates pass@k for each task from its own samples", async () => {
    const right = [5, 0, 2, 1];
    const table = right.map((count) =>
      Array.from({ length: 5 }, (_, sampleIndex) => (sampleIndex < count ? "1" : "0")),
    );
    const { metrics } = await evaluated(table, { folder: await temporaryFolder(), k: [3, 1] });
    const mean = (estimate: (correct: number) => number): number =>
      right.reduce((sum, correct) => sum + estimate(correct), 0) / right.length;
    expect(metrics["pass@3"]?.value).toBe(mean((correct) => estimatePassAtK({ samples: 5, correct, k: 3 })));
    expect(metrics["pass^3"]?.value).toBe(mean((correct) => estimatePassHatK({ samples: 5, correct, k: 3 })));
    expect(Object.keys(metrics)).toEqual(["reward", "accuracy", "pass@1", "pass@3", "pass^3", "component/worth"]);
  });

  it("has Wilson's interval if each task is right or wrong, and levels in order", async () => {
    const levels = ["10", "9", "9", "10", "hard"];
    const { metrics, levels: byLevel } = await evaluated([["1"], ["0"], ["1"], ["1"], ["0"]], {
      folder: await temporaryFolder(),
      environment: answers(levels.map((level, n) => ({ n, level }))),
    });
    expect(metrics.accuracy?.interval).toEqual(wilsonInterval({ count: 3, of: 5 }));
    expect(Object.entries(byLevel).map(([level, { metrics: of }]) => [level, of.accuracy?.value])).toEqual([
      ["9", 0.5],
      ["10", 1],
      ["hard", 0],
    ]);
  });

  it("rejects a k above the number of samples", async () => {
    await expect(evaluated([["1"]], { folder: await temporaryFolder(), k: [2] })).rejects.toThrow("pass@2");
  });

  it("counts a component as correct by the given rule, and no episode without a rule", async () => {
    const table = [["0.5"], ["0.4"], ["throw"]];
    const some = await evaluated(table, {
      folder: await temporaryFolder(),
      correct: { component: "worth", atLeast: 0.5 },
    });
    expect(some.metrics.accuracy?.value).toBe(0.5);
    const none = await evaluated(table, { folder: await temporaryFolder(), correct: null });
    expect(Object.keys(none.metrics)).toEqual(["reward", "component/worth"]);
  });
});
