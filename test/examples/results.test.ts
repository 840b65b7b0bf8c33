import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openCatalog } from "../../cli/catalog.ts";
import { loadStages } from "../../cli/load-stages.ts";
import { pagesOf } from "../../scripts/results/page.ts";
import { configHash, type RecordedStage, type ResultRecord, recordName } from "../../scripts/results/record.ts";
import { type ResultRow, resultRows } from "../../scripts/results/rows.ts";
import { repository } from "./run-program.ts";

const folder = join(repository, "examples/results");
const configs = (await readdir(folder)).filter((file) => file.endsWith(".yaml"));
const records = (await readdir(join(folder, "records"))).filter((file) => file.endsWith(".json"));

it("every config is a row of the page, and every row has one", () => {
  expect(configs.toSorted()).toEqual(resultRows.map(({ id }) => `${id}.yaml`).toSorted());
});

it.each(configs)("%s loads, also with random rewards", async (file) => {
  const catalog = await openCatalog();
  const overrides = ['rewards=[{"type":"random"}]', "seed=2"];
  const stages = await loadStages({ path: join(folder, file), overrides, catalog });
  for (const { config } of stages) {
    expect(config).toMatchObject({ seed: 2, rewards: [{ type: "random", probability: 0.5 }] });
    expect(config.evaluation.split).toMatch(/^test/);
  }
});

describe.each(records)("the record %s", (file) => {
  const read = async (): Promise<[string, ResultRecord]> => {
    const text = await readFile(join(folder, "records", file), "utf8");
    return [text, JSON.parse(text) as ResultRecord];
  };

  it("has its name, a row, no path, and finished steps", async () => {
    const [text, record] = await read();
    expect(recordName(record)).toBe(file);
    expect(resultRows.map(({ id }) => id)).toContain(record.row);
    expect(text).not.toMatch(/\/(root|home|tmp|work|Users)\b|runs\//);
    expect(text.length).toBeLessThan(16_000);
    for (const { steps, of, evaluations } of record.stages) {
      expect(steps).toBeLessThanOrEqual(of);
      expect(new Set(evaluations.map(({ scores }) => scores.length)).size).toBe(1);
    }
  });

  it("is of the config as it is now", async () => {
    const [, record] = await read();
    expect(record.config).toBe(configHash(await readFile(join(folder, `${record.row}.yaml`), "utf8")));
  });
});

describe("the page", () => {
  const row: ResultRow = {
    id: "sums",
    title: "Sums of 2 numbers",
    about: "A test.",
    model: "tiny",
    score: "accuracy",
    bounds: { least: 0, most: 1 },
  };
  const stage = (before: number, after: number): RecordedStage => ({
    algorithm: "grpo",
    steps: 4,
    of: 4,
    seconds: 90,
    evaluations: [before, after].map((right, place) => ({
      step: 4 * place,
      scores: Array.from({ length: 20 }, (_, task) => (task < right ? 1 : 0)),
    })),
  });
  const record = (seed: number, control: boolean, stages: readonly RecordedStage[]): ResultRecord => ({
    row: "sums",
    seed,
    control,
    config: "",
    startedAt: "",
    hardware: "a processor",
    versions: { node: "24" },
    stages,
  });

  it("shows scores, the gain of the last stage, and that of the control", () => {
    const runs = [record(1, false, [stage(0, 4), stage(4, 16)]), record(2, false, [stage(0, 4), stage(4, 14)])];
    const pages = pagesOf([row], [...runs, record(1, true, [stage(0, 4), stage(4, 4)])]);
    const [line] = /^\| \[Sums.*$/m.exec(pages["docs/results.md"]!)!;
    const cells = line.split(" | ");
    expect(cells.slice(1, 3)).toEqual(["tiny", "2, control 1"]);
    expect(cells[3]).toMatch(/^0 % \(0 % to 16\.1 %\)$/);
    expect(cells[4]).toMatch(/^20 % /);
    expect(cells[5]).toMatch(/^75 % /);
    expect(cells[6]).toMatch(/^\+55 % \([1-9]/);
    expect(cells[7]).toBe("+0 % (0 % to 0 %)");
    // Only the run with the seed of the control.
    expect(cells[8]).toMatch(/^\+60 % /);
    expect(pages["docs/results.md"]).toContain("](#sums-of-2-numbers)");
    expect(pages["docs/results/sums.svg"]).toContain("random rewards");
  });

  it("shows the share of correct answers where a run has one", () => {
    const solved = (share: number): RecordedStage => {
      const { evaluations, ...rest } = stage(4, 8);
      return { ...rest, evaluations: evaluations.map((given, place) => ({ ...given, solved: place * share })) };
    };
    const rewards: ResultRow = { ...row, score: "reward" };
    const all = pagesOf([rewards], [record(1, false, [solved(0.125)]), record(1, true, [solved(0)])]);
    expect(all["docs/results.md"]).toMatch(
      /^\| seed 1 \| grpo 4 \| 0\.200 \| 0\.200 \| 0\.400 \| 0 %, then 12\.5 % \| 2 \|/m,
    );
    const some = pagesOf([rewards], [record(1, false, [solved(0.125)]), record(1, true, [stage(4, 8)])]);
    expect(some["docs/results.md"]).toContain("| 0 %, then 12.5 % |");
    expect(pagesOf([rewards], [record(1, false, [stage(4, 8)])])["docs/results.md"]).not.toContain("correct before");
  });

  it("compares the probe of a run with what followed", () => {
    const advice = [
      "SFT first: add it.",
      "a higher sampling.maxTokens, now 8. Most are cut off.",
      "larger groups (algorithm.groupSize)",
    ];
    const probed = { ...stage(4, 16), probe: { groups: 8, withSignal: 2, advice, later: 0.775 } };
    const { "docs/results.md": page } = pagesOf([row], [record(1, false, [probed]), record(1, true, [probed])]);
    const rows = page!.split("\n").filter((line) => line.startsWith("| Sums of 2 numbers, seed 1 |"));
    expect(rows).toHaveLength(1);
    const changes = "SFT first; a higher sampling.maxTokens; larger groups";
    expect(rows[0]).toMatch(new RegExp(`\\| 2 of 8 \\| ${changes} \\| 78 % \\| \\+60 % `));
    expect(pagesOf([row], [record(1, false, [stage(4, 16)])])["docs/results.md"]).not.toContain("What the probe said");
  });

  it("compares each run with itself and with the control of its seed only", () => {
    const of = (scores: readonly (readonly (number | null)[])[]): RecordedStage => ({
      ...stage(0, 0),
      evaluations: scores.map((each, place) => ({ step: 4 * place, scores: each })),
    });
    const cellsOf = (...records: readonly ResultRecord[]): string[] =>
      /^\| \[Sums.*$/m.exec(pagesOf([row], records)["docs/results.md"]!)![0].split(" | ");
    const [zeros, ones] = [
      [0, 0, 0],
      [1, 1, 1],
    ];
    const up = record(1, false, [of([zeros, ones])]);
    const cells = cellsOf(up, record(1, true, [of([zeros, zeros])]), record(2, true, [of([zeros, ones])]));
    expect(cells[8]).toBe("+100 % (100 % to 100 %)");
    expect(cellsOf(up, record(2, true, [of([zeros, zeros])]))[8]).toBe("no score");
    // No run has changed.
    const partial = [
      record(1, false, [
        of([
          [0, null],
          [0, null],
        ]),
      ]),
      record(2, false, [
        of([
          [1, 1],
          [null, 1],
        ]),
      ]),
    ];
    expect(cellsOf(...partial)[6]).toBe("+0 % (0 % to 0 %)");
  });

  it("says if tasks have no score", () => {
    const empty = { ...stage(4, 8), evaluations: [0, 4].map((step) => ({ step, scores: [null, null] })) };
    const { "docs/results.md": page, "docs/results/sums.svg": svg } = pagesOf([row], [record(1, false, [empty])]);
    expect(page).toMatch(/^\| \[Sums.*\| tiny \| 1 \| no score \| no score \| no score \| no score \| not run \|/m);
    expect(svg).not.toMatch(/NaN|Infinity/);
  });

  it("marks a row without records, and a run that was interrupted", () => {
    const { "docs/results.md": none, ...pictures } = pagesOf([{ ...row, notRun: "it needs a GPU" }], []);
    expect(none).toMatch(/^\| \[Sums.*\| tiny \| not run \|/m);
    expect(none).toContain("Not run: it needs a GPU.");
    expect(pictures).toEqual({});
    const interrupted = record(1, false, [{ ...stage(0, 4), steps: 2 }]);
    expect(pagesOf([row], [interrupted])["docs/results.md"]).toContain("| grpo 2 of 4 (evaluated at 4) |");
  });
});
