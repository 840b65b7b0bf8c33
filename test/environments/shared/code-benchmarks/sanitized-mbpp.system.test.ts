import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { codeEnvironment } from "../../../../environments/code/code.ts";
import { readBenchmarkRows } from "../../../../environments/shared/code-benchmarks/benchmark-row.ts";
import { mbppProblem, sanitizedMbppProblem } from "../../../../environments/shared/code-benchmarks/mbpp.ts";
import type { HubOptions } from "../../../../src/core/hub/hub.ts";
import { startFakeHub } from "../../../core/hub/fake-hub.ts";
import { benchmarkFile, noBenchmarkData } from "../../../sandbox/benchmark-data.ts";
import { temporaryFolder } from "../../../temporary-folder.ts";

const sanitized = (task_id: number, code = "def twice(x, by=(1, 2)) -> int:\n    return 2 * x\n") => ({
  source_file: "Benchmark Questions Verification V2.ipynb",
  task_id,
  prompt: `Write a function to double a number (${task_id}).`,
  code,
  test_imports: ["import math"],
  test_list: ["assert twice(2) == 4", "assert twice(math.inf) == math.inf"],
});
const converted = {
  task_id: "MBPP/0",
  prompt: "def twice(x):\n    '''Double it.\n    '''\n",
  entry_point: "twice",
  test: "def check(candidate):\n    assert candidate(2) == 4",
};

async function folder(): Promise<string> {
  const path = temporaryFolder();
  return path;
}

async function idsOf(
  options: Parameters<typeof codeEnvironment>[0],
  hub?: HubOptions,
): Promise<Record<string, string[]>> {
  const environment = codeEnvironment({ dataset: "mbpp-coop", ...options }, hub === undefined ? {} : { hub });
  const ids: Record<string, string[]> = {};
  for (const split of environment.splits) {
    const tasks = await environment.tasks(split);
    ids[split] = await Promise.all(
      Array.from({ length: tasks.length as number }, async (_, i) => (await tasks.get(i)).task.id),
    );
  }
  return ids;
}

describe("the sanitized MBPP", () => {
  it("has the form of the published rows, with the solution", () => {
    const { suite, ...problem } = sanitizedMbppProblem(sanitized(602));
    expect(problem).toEqual({
      id: "MBPP-sanitized/602",
      prompt: "def twice(x, by=(1, 2)):\n    '''Write a function to double a number (602).\n    '''\n",
      entryPoint: "twice",
      solution: sanitized(602).code,
    });
    expect(suite.tests).toHaveLength(2);
  });

  it("is rejected if its tests call no function of its code", () => {
    expect(() => sanitizedMbppProblem(sanitized(1, "x = 1\n"))).toThrow(
      expect.objectContaining({ code: "data.malformed" }),
    );
  });

  it.skipIf(noBenchmarkData)("has the signatures of the published rows if it has the same function", async () => {
    const full = await readBenchmarkRows(benchmarkFile("mbpp.jsonl"));
    const heads = new Set(
      full.map((row) => {
        const { task_id, text: prompt, code, test_list } = row as Record<string, never>;
        const problem = sanitizedMbppProblem({ task_id, prompt, code, test_imports: [], test_list });
        expect(problem.entryPoint).toBe(mbppProblem(row).entryPoint);
        return problem.prompt.split("\n")[0];
      }),
    );
    const published = await readBenchmarkRows(benchmarkFile("mbpp-sanitized-openmlrl.json"));
    const same = published.map(sanitizedMbppProblem).filter(({ prompt }) => heads.has(prompt.split("\n")[0]));
    // The others were rewritten for the sanitized MBPP.
    expect(published).toHaveLength(257);
    expect(same.length).toBeGreaterThanOrEqual(225);
  });
});

describe("the data set mbpp-coop", () => {
  it("has every split of a file of the sanitized MBPP, and one split of a file in the published form", async () => {
    const at = await folder();
    const [whole, test] = [join(at, "whole.json"), join(at, "test.json")];
    await writeFile(whole, JSON.stringify([2, 11, 510, 511, 600, 601, 974].map((id) => sanitized(id))));
    await writeFile(test, JSON.stringify([converted]));
    expect(await idsOf({ path: whole })).toEqual({
      test: ["MBPP-sanitized/11", "MBPP-sanitized/510"],
      train: ["MBPP-sanitized/601", "MBPP-sanitized/974"],
      validation: ["MBPP-sanitized/511", "MBPP-sanitized/600"],
      prompt: ["MBPP-sanitized/2"],
    });
    const published = codeEnvironment({ dataset: "mbpp-coop", path: test });
    expect((await (await published.tasks("test")).get(0)).task.id).toBe("MBPP/0");
    await expect(published.tasks("train")).rejects.toMatchObject({
      code: "data.out-of-range",
      hint: expect.stringContaining("the splits test"),
    });
  });

  it("has the test split of one hub data set, and the other splits of its source data set", async () => {
    const lines = (...rows: object[]): string => `${rows.map((row) => JSON.stringify(row)).join("\n")}\n`;
    const commits = (files: Record<string, string>) => ({
      branches: { main: "a".repeat(40) },
      commits: { ["a".repeat(40)]: files },
    });
    await using hub = await startFakeHub([
      { type: "dataset", name: "OpenMLRL/MBPP", ...commits({ "data/test.jsonl": lines(converted) }) },
      {
        type: "dataset",
        name: "google-research-datasets/mbpp",
        ...commits({
          "full/train.jsonl": lines({}),
          "sanitized/train.jsonl": lines(sanitized(602), sanitized(603)),
          "sanitized/test.jsonl": lines(sanitized(11)),
          "sanitized/validation.jsonl": lines(sanitized(511)),
          "sanitized/prompt.jsonl": lines(sanitized(2)),
        }),
      },
    ]);
    expect(await idsOf({}, { hubUrl: hub.url, cacheFolder: await folder() })).toEqual({
      test: ["MBPP/0"],
      train: ["MBPP-sanitized/602", "MBPP-sanitized/603"],
      validation: ["MBPP-sanitized/511"],
      prompt: ["MBPP-sanitized/2"],
    });
  });
});
