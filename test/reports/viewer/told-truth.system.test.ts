import { readFile, writeFile } from "node:fs/promises";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { metricLabel } from "../../../reports/training/metric-text.ts";
import { folderSource } from "../../../reports/viewer/folder-source.ts";
import type { EvaluationView } from "../../../reports/viewer/view-source.ts";
import { defineEnvironment } from "../../../src/core/environment/define-environment.ts";
import { scriptedPolicy } from "../../../src/core/policy/scripted-policy.ts";
import { compareRuns } from "../../../src/evaluation/compare.ts";
import { definesCorrect } from "../../../src/evaluation/correctness.ts";
import { evaluate } from "../../../src/evaluation/evaluate.ts";
import { evaluationStatus } from "../../../src/evaluation/evaluation-status.ts";
import { runFolder } from "../../../src/evaluation/log/run-folder.ts";
import { bootstrapInterval } from "../../../src/evaluation/metrics/confidence-interval.ts";
import { pairedTest } from "../../../src/evaluation/metrics/paired-test.ts";
import { differenceVerdict } from "../../../src/evaluation/metrics/significant-difference.ts";
import { temporaryFolder } from "../../temporary-folder.ts";

/** Plays four tasks. The first `failures` of them throw. The others earn half of the highest reward. */
async function evaluated(failures: number, options: { readonly atLeast?: number } = {}): Promise<string> {
  const folder = temporaryFolder();
  const environment = defineEnvironment({
    id: "halves",
    tasks: [0, 1, 2, 3],
    rewardRange: [0, 1],
    reset: ({ task }) => `Say ${task}.`,
    step: ({ task }) => {
      if (task < failures) throw new Error(`The grader of task ${task} is not installed.`);
      return { reward: 0.5 };
    },
  });
  const { atLeast } = options;
  const correct = atLeast === undefined ? {} : { correct: { atLeast } };
  for await (const _ of evaluate({ environment, policies: scriptedPolicy(["x"]), folder, ...correct }));
  return folder;
}

describe("an evaluation in which episodes failed", () => {
  it("is failed with the first error if all failed, and has their number otherwise", async () => {
    for (const failures of [0, 1, 4]) {
      const folder = await evaluated(failures);
      const source = folderSource(folder);
      const [line] = (await source.runs()).runs;
      const view = (await source.run(".")) as EvaluationView;
      const status = failures === 4 ? "failed" : "completed";
      expect([line!.status, view.status, line!.failed ?? 0]).toEqual([status, status, failures]);
      if (failures === 4) expect(view.error?.message).toContain("The grader of task 0 is not installed.");
      else expect(view).not.toHaveProperty("error");
    }
  });

  it("is failed also if its summary is from a version that called it completed", async () => {
    const folder = await evaluated(4);
    const { summary } = runFolder(folder);
    const text = await readFile(summary, "utf8");
    expect(text).toContain('"status": "failed"');
    await writeFile(summary, text.replace('"status": "failed"', '"status": "completed"'));
    const source = folderSource(folder);
    expect([(await source.runs()).runs[0]!.status, (await source.run(".")).status]).toEqual(["failed", "failed"]);
  });

  it("is completed only if every episode was played and one has a score", () => {
    const counts = fc.record({ episodes: fc.nat(9), played: fc.nat(9), scored: fc.nat(9), failed: fc.nat(9) });
    fc.assert(
      fc.property(counts, ({ episodes, played, scored, failed }) => {
        fc.pre(played <= episodes && failed + scored <= played);
        const status = evaluationStatus({ episodes, played, scored, failed });
        expect(status === "completed").toBe(played === episodes && (scored > 0 || played === 0));
        expect(status === "failed").toBe(played > 0 && (failed === played || (played === episodes && scored === 0)));
      }),
    );
  });
});

describe("correctness", () => {
  it("is absent where neither the environment nor the user defines it, in the list and in a comparison", async () => {
    const [first, second] = [await evaluated(0), await evaluated(0)];
    const [line] = (await folderSource(first).runs()).runs;
    expect(line!.scores).toMatchObject({ reward: 0.5 });
    expect(line!.scores.accuracy).toBeUndefined();
    expect(Object.keys((await compareRuns(first, second)).metrics)).toEqual(["reward"]);
  });

  it("is that of the user's own bound", async () => {
    const folder = await evaluated(0, { atLeast: 0.5 });
    expect((await folderSource(folder).runs()).runs[0]!.scores).toMatchObject({ reward: 0.5, accuracy: 1 });
    expect(Object.keys((await compareRuns(folder, folder)).metrics)).toEqual(["accuracy", "reward"]);
    expect(definesCorrect({ atLeast: 1 }, { rewardRange: [0, 1] })).toBe(false);
  });

  it("is not in the labels of metrics if it is not defined", () => {
    expect(metricLabel("accuracy", false)).toBe("at the top reward");
    expect(metricLabel("pass@5", false)).toBe("pass@5 at the top reward");
    expect(metricLabel("pass^5", false)).toBe("pass^5 at the top reward");
    expect(["reward", "component/passed"].map((name) => metricLabel(name, false))).toEqual([
      "reward",
      "component/passed",
    ]);
    expect(metricLabel("accuracy", true)).toBe("accuracy");
  });
});

describe("the verdict about a difference", () => {
  const verdictOf = (differences: readonly number[]) =>
    differenceVerdict({
      ...(differences.length < 2 ? {} : { interval: bootstrapInterval(differences) }),
      test: pairedTest(differences),
    });

  it("is unclear unless the interval excludes 0 and the test agrees, and has the sign of the difference", () => {
    const values = fc.array(fc.constantFrom(-1, -0.25, 0, 0.5, 1), { maxLength: 20 });
    fc.assert(
      fc.property(values, (differences) => {
        const verdict = verdictOf(differences);
        if (verdict === "unclear") return;
        const { low, high } = bootstrapInterval(differences);
        expect(verdict === "better" ? low : -high).toBeGreaterThan(0);
        expect(pairedTest(differences).p).toBeLessThan(0.05);
      }),
      { numRuns: 40 },
    );
  });

  it("needs enough tasks: an interval without a width is not enough", () => {
    expect(bootstrapInterval([1, 1, 1])).toMatchObject({ low: 1, high: 1 });
    expect(verdictOf([1, 1, 1])).toBe("unclear");
    expect(verdictOf([1])).toBe("unclear");
    expect(verdictOf([])).toBe("unclear");
    expect(verdictOf(Array(8).fill(1))).toBe("better");
    expect(verdictOf(Array(8).fill(-1))).toBe("worse");
    expect(verdictOf([...Array(8).fill(1), ...Array(8).fill(-1)])).toBe("unclear");
    const test = { method: "sign", p: 0.001 } as const;
    expect(differenceVerdict({ interval: { low: 0, high: 1, level: 0.95, method: "bootstrap" }, test })).toBe(
      "unclear",
    );
  });
});
