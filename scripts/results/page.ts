import { readdir, readFile } from "node:fs/promises";
import { sum } from "../../src/core/statistics.ts";
import type { Interval } from "../../src/evaluation/log/summary.ts";
import { bootstrapInterval, meanInterval } from "../../src/evaluation/metrics/confidence-interval.ts";
import { mean } from "../../src/evaluation/metrics/task-results.ts";
import { curvePicture, type PictureLine } from "../curve-picture.ts";
import type { RecordedEvaluation, RecordedStage, ResultRecord } from "./record.ts";
import { type ResultRow, resultRows } from "./rows.ts";

/** What the page shows if no task has a score. */
const noScore = "no score";

/** The scores of tasks, in order. Null for a task without a score. */
type Scores = RecordedEvaluation["scores"];

const repository = new URL("../../", import.meta.url);

/** Returns docs/results.md and its pictures, by path, from the records in examples/results/records. */
export async function resultPages(): Promise<Readonly<Record<string, string>>> {
  const folder = new URL("examples/results/records/", repository);
  const files = (await readdir(folder)).filter((file) => file.endsWith(".json")).sort();
  const records = await Promise.all(
    files.map(async (file) => JSON.parse(await readFile(new URL(file, folder), "utf8")) as ResultRecord),
  );
  return pagesOf(resultRows, records);
}

/** Returns the page and its pictures for these rows and records. */
export function pagesOf(
  rows: readonly ResultRow[],
  records: readonly ResultRecord[],
): Readonly<Record<string, string>> {
  const results = rows.map((row) => ({
    row,
    runs: records.filter((record) => record.row === row.id && !record.control),
    controls: records.filter((record) => record.row === row.id && record.control),
  }));
  const pictures = results.filter(({ runs }) => runs.length > 0);
  return {
    "docs/results.md": pageText(results),
    ...Object.fromEntries(pictures.map((result) => [`docs/results/${result.row.id}.svg`, picture(result)])),
  };
}

interface RowResult {
  readonly row: ResultRow;
  readonly runs: readonly ResultRecord[];
  readonly controls: readonly ResultRecord[];
}

function pageText(results: readonly RowResult[]): string {
  return `${[
    "# Results",
    "",
    "<!-- Written by `npm run docs` from examples/results/records: change those, not this file. -->",
    "",
    "What models learn with Lyceum. Each row is a task with its seeds and a control, in which every reward is a coin (the reward",
    "processor [`random`](algorithms.md#rewards)). A training that works improves, and its control does not. Rows that do not",
    "improve stay here, and rows that nobody has run are marked.",
    "",
    "The gain is the score at the end minus the score before the last stage, that is before reinforcement learning where",
    "demonstrations come first. With several seeds, the score of a task is its mean over the seeds. Intervals are 95 %",
    "intervals over the held-out tasks, of differences task by task: they say how far other tasks may differ, not how far other",
    "seeds may.",
    "",
    "Each run has its time and its hardware. A note says if the machine had other work, so that the time is an upper bound, and",
    "if the weights came from a file that quantizes them. Such weights score below the published ones: compare the scores of",
    "this page with each other only.",
    "",
    "| task | model | seeds | untrained | before the last stage | trained | gain | gain of the control | trained minus control | published |",
    "|---|---|---|---|---|---|---|---|---|---|",
    ...results.map(tableRow),
    "",
    "A row is run and recorded by these commands. `--control` replaces the rewards, `--model PATH` takes the weights from a",
    "folder or a GGUF file instead of the hub, and `--data PATH` the tasks from files:",
    "",
    "<!-- not run: trains for minutes or hours -->",
    "```sh",
    "npm run results -- run tic-tac-toe --seed 1",
    "npm run results -- run tic-tac-toe --seed 1 --control",
    "npm run docs",
    "```",
    ...results.flatMap(section),
    ...probeSection(results),
  ].join("\n")}\n`;
}

function tableRow({ row, runs, controls }: RowResult): string {
  const link = `[${row.title}](#${anchor(row.title)})`;
  if (runs.length === 0) return cells([link, row.model, "not run", "", "", "", "", "", "", row.published ?? ""]);
  const { untrained, before, after } = scoresOf(runs);
  return cells([
    link,
    row.model,
    `${runs.length}${controls.length === 0 ? "" : `, control ${controls.length}`}`,
    scoreText(row, untrained),
    scoreText(row, before),
    scoreText(row, after),
    gainText(row, runs),
    ...(controls.length === 0 ? ["not run", ""] : controlCells({ row, runs, controls })),
    row.published ?? "",
  ]);
}

function section(result: RowResult): string[] {
  const { row, runs, controls } = result;
  const config = `[examples/results/${row.id}.yaml](../examples/results/${row.id}.yaml)`;
  const head = ["", `## ${row.title}`, "", ...wrapped(`${row.about} Config: ${config}.`)];
  const note = row.note === undefined ? [] : ["", ...wrapped(row.note)];
  if (runs.length === 0) {
    const reason = row.notRun === undefined ? "Not run yet." : `Not run: ${row.notRun}.`;
    return [...head, "", reason, ...note];
  }
  const solved = [...runs, ...controls].some((record) => solvedText(record) !== undefined);
  return [
    ...head,
    "",
    `![${row.title}: score by step](results/${row.id}.svg)`,
    ...(runs[0]!.stages.length > 1 ? ["", "The dashed line is where the last stage begins."] : []),
    "",
    `| run | steps | untrained | before the last stage | trained | ${solved ? "correct before, after the last stage | " : ""}minutes | hardware, versions, note |`,
    `|---|---|---|---|---|---|---|${solved ? "---|" : ""}`,
    ...[...runs, ...controls].map((record) => runRow(row, record, solved)),
    ...note,
  ];
}

/** Compares what the probes said with what happened. Controls are left out: their rewards are random. */
function probeSection(results: readonly RowResult[]): string[] {
  const probed = results.flatMap(({ row, runs }) =>
    runs.flatMap((record) => {
      const { probe } = record.stages.at(-1)!;
      if (probe === undefined) return [];
      const { withSignal, groups, advice, later } = probe;
      // The first words of an advice name the change, and the others its reason.
      const changes = advice.map((text) => text.split(/[:,]| \(|\. /)[0]!).join("; ");
      const found = `${withSignal} of ${groups}`;
      const gain = gainText(row, [record]);
      return [
        cells([`${row.title}, seed ${record.seed}`, found, changes || "none", `${Math.round(100 * later)} %`, gain]),
      ];
    }),
  );
  if (probed.length === 0) return [];
  return [
    "",
    "## What the probe said",
    "",
    "A training begins with a [probe](training.md#probe): it counts the groups of the first batch whose rewards differ, and",
    "proposes changes if fewer than half do. The table compares the share that the probe found with that of the next steps, at",
    "most ten. Four or eight groups are a small sample. Runs without a probe in their record are left out.",
    "",
    "| run | groups with a signal in the probe | advice | share with a signal in the next steps | gain |",
    "|---|---|---|---|---|",
    ...probed,
  ];
}

function runRow(row: ResultRow, record: ResultRecord, solved: boolean): string {
  const { untrained, before, after } = scoresOf([record]);
  const { stages, seed, control, hardware, versions, note } = record;
  return cells([
    `seed ${seed}${control ? ", random rewards" : ""}`,
    stages.map(stepsText).join(", "),
    ...[untrained, before, after].map((scores) => valueText(row, mean(known(scores)))),
    ...(solved ? [solvedText(record) ?? ""] : []),
    String(Math.round(sum(stages.map(({ seconds }) => seconds)) / 60)),
    `${[hardware, `Node ${versions.node}`, ...libraries(versions)].join(", ")}${note === undefined ? "" : `; ${note}`}`,
  ]);
}

/** Returns the steps of a stage. Steps after the last evaluation do not count for the score. */
function stepsText({ algorithm, steps, of, evaluations }: RecordedStage): string {
  const evaluated = evaluations.at(-1)!.step;
  const finished = steps === of ? String(of) : `${steps} of ${of}`;
  return `${algorithm} ${finished}${evaluated === steps ? "" : ` (evaluated at ${evaluated})`}`;
}

/** Returns the share of correct episodes before and after the last stage. */
function solvedText({ stages }: ResultRecord): string | undefined {
  const { evaluations } = stages.at(-1)!;
  const [before, after] = [evaluations[0]!.solved, evaluations.at(-1)!.solved];
  if (before === undefined || after === undefined) return undefined;
  return [before, after].map((share) => `${Number((100 * share).toFixed(1))} %`).join(", then ");
}

/** Returns the names and versions of the libraries that have computed a run. */
function libraries(versions: ResultRecord["versions"]): string[] {
  const names = { "onnxruntime-node": "ONNX Runtime", torch: "PyTorch", cuda: "CUDA" };
  return Object.entries(names).flatMap(([key, name]) =>
    versions[key] === undefined ? [] : `${name} ${versions[key]}`,
  );
}

/**
 * Returns the scores of each task, as means over the runs: of the untrained model, of the model before the last stage,
 * and of the last evaluation.
 */
function scoresOf(runs: readonly ResultRecord[]): Readonly<Record<"untrained" | "before" | "after", Scores>> {
  const of = (pick: (record: ResultRecord) => RecordedEvaluation | undefined): Scores =>
    meanScores(runs.map((record) => pick(record)!.scores));
  return {
    untrained: of(({ stages }) => stages[0]!.evaluations[0]),
    before: of(({ stages }) => stages.at(-1)!.evaluations[0]),
    after: of(({ stages }) => stages.at(-1)!.evaluations.at(-1)),
  };
}

function meanScores(runs: readonly Scores[]): Scores {
  return runs[0]!.map((_, task) => mean(known(runs.map((scores) => scores[task] ?? null))) ?? null);
}

function known(scores: Scores): readonly number[] {
  return scores.filter((score) => score !== null);
}

function scoreText(row: ResultRow, scores: Scores): string {
  const values = known(scores);
  return withInterval(valueText(row, mean(values)), values.length === 0 ? undefined : meanInterval(values), row);
}

/** Returns the control's gain, and how much higher the runs end than the controls of their seeds. */
function controlCells({ row, runs, controls }: RowResult): string[] {
  const pairs = runs.flatMap((run) =>
    controls.filter(({ seed }) => seed === run.seed).map((control) => [control, run] as const),
  );
  const above = pairs.map(([control, run]) => differences(scoresOf([control]).after, scoresOf([run]).after));
  return [gainText(row, controls), pairs.length === 0 ? noScore : differenceText(row, meanScores(above))];
}

/** Returns the gain of each task in the last stage, as a mean over the runs, in words. */
function gainText(row: ResultRow, runs: readonly ResultRecord[]): string {
  const gains = runs.map((run) => {
    const { before, after } = scoresOf([run]);
    return differences(before, after);
  });
  return differenceText(row, meanScores(gains));
}

/** Returns the difference of each task that has both scores. */
function differences(from: Scores, to: Scores): Scores {
  return to.map((score, task) => {
    const earlier = from[task] ?? null;
    return score === null || earlier === null ? null : score - earlier;
  });
}

/** Returns the mean of differences, with its interval. */
function differenceText(row: ResultRow, ofTasks: Scores): string {
  const values = known(ofTasks);
  if (values.length === 0) return noScore;
  const interval = values.length < 2 ? undefined : bootstrapInterval(values);
  return withInterval(signed(valueText(row, mean(values))), interval, row);
}

function withInterval(value: string, interval: Interval | undefined, row: ResultRow): string {
  if (interval === undefined) return value;
  return `${value} (${valueText(row, interval.low)} to ${valueText(row, interval.high)})`;
}

function valueText({ score }: ResultRow, value: number | undefined): string {
  if (value === undefined) return noScore;
  // Adding 0 turns -0 into 0.
  return score === "accuracy" ? `${Number((value * 100).toFixed(1)) + 0} %` : (Number(value.toFixed(3)) + 0).toFixed(3);
}

function signed(value: string): string {
  return value.startsWith("-") ? value : `+${value}`;
}

function picture({ row, runs, controls }: RowResult): string {
  const lines = [
    curve(`rewards of the environment${seedsText(runs)}`, runs),
    ...(controls.length === 0 ? [] : [curve(`random rewards${seedsText(controls)}`, controls)]),
  ];
  const lengths = runs[0]!.stages.map(({ steps }) => steps);
  const marks = lengths.slice(0, -1).map((_, stage) => sum(lengths.slice(0, stage + 1)));
  const title = `${row.title}: score on held-out tasks by step`;
  return curvePicture({ title, lines, marks, bounds: row.bounds, isShare: row.score === "accuracy" });
}

function seedsText({ length }: readonly ResultRecord[]): string {
  return length === 1 ? "" : `, ${length} seeds`;
}

/** Returns the mean score over runs by step, counted over all stages. Only steps that every run has are shown. */
function curve(name: string, runs: readonly ResultRecord[]): PictureLine {
  const points = runs.map(
    ({ stages }) =>
      new Map(
        stages.flatMap(({ evaluations }, stage) => {
          const earlier = sum(stages.slice(0, stage).map(({ steps }) => steps));
          return evaluations.flatMap(({ step, scores }) => {
            const score = mean(known(scores));
            return score === undefined ? [] : [[earlier + step, score] as const];
          });
        }),
      ),
  );
  const steps = [...points[0]!.keys()].filter((step) => points.every((run) => run.has(step)));
  return { name, xs: steps, ys: steps.map((step) => mean(points.map((run) => run.get(step)!))!), dots: true };
}

function cells(values: readonly string[]): string {
  return `| ${values.map((value) => value.replaceAll("|", "\\|")).join(" | ")} |`;
}

/** Returns the anchor of a heading, as GitHub makes it. */
function anchor(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[^\w -]/g, "")
    .replaceAll(" ", "-");
}

/** Breaks a paragraph into lines of at most 120 characters. */
function wrapped(text: string): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > 120) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}
