import { expect, test } from "vitest";
import { benchmarks } from "../../../../environments/shared/benchmarks/index.ts";
import { readBenchmarkRows } from "../../../../environments/shared/code-benchmarks/benchmark-row.ts";
import { scriptedPolicy } from "../../../../src/core/policy/scripted-policy.ts";
import { evaluate } from "../../../../src/evaluation/evaluate.ts";
import { temporaryFolder } from "../../../evaluation/answer-environment.ts";
import { benchmarkFile, noBenchmarkData } from "../../../sandbox/benchmark-data.ts";

test.skipIf(noBenchmarkData !== undefined)(
  `the HumanEval harness's example samples get its pass@1 of 0.4999999999999999 ${noBenchmarkData ?? ""}`,
  async () => {
    const rows = await readBenchmarkRows(benchmarkFile("humaneval-example-samples.jsonl"));
    const samples = rows.map((row) => (row as { readonly completion: string }).completion);
    const environment = await benchmarks
      .get("humaneval")
      // One of the samples sleeps for ten seconds; six is what these limits give it.
      .open({
        set: { path: benchmarkFile("humaneval-example-problem.jsonl"), cpuSeconds: 1 },
        format: "completion",
        shots: 0,
      });
    const policies = scriptedPolicy(({ episode }) => samples[episode!.sampleIndex]!);
    const folder = await temporaryFolder();
    const correct = { component: "tests", atLeast: 0.9 };
    const options = { environment, policies, split: "test", samples: samples.length, k: [1], correct, folder };
    const events = await Array.fromAsync(evaluate(options));
    const end = events.at(-1)!;
    if (end.type !== "end") throw new Error("There is no summary.");
    expect(String(end.summary.metrics["pass@1"]!.value)).toBe("0.4999999999999999");
    expect(end.summary.counts).toMatchObject({ scored: 6, unscored: 0, correct: 3 });
  },
);
