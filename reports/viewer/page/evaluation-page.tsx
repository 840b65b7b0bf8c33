import type { JSX } from "preact";
import { formatCount, formatDuration, formatMoney, formatPercent } from "../../../src/core/text/format-numbers.ts";
import { definesCorrect } from "../../../src/evaluation/correctness.ts";
import type { LevelSummary } from "../../../src/evaluation/log/summary.ts";
import { metricLabel, metricText } from "../../training/metric-text.ts";
import type { EvaluationView, ViewSource } from "../view-source.ts";
import { EpisodeTable } from "./episode-table.tsx";
import type { FilterFields } from "./filter-bar.tsx";
import { dateText, Facts, Status, Text } from "./parts.tsx";
import { type Route, runHash } from "./route.ts";
import { type Column, Table } from "./table.tsx";

/** An evaluation: its figures, then its episodes. */
export function EvaluationPage(props: {
  readonly source: ViewSource;
  readonly run: EvaluationView;
  readonly route: Extract<Route, { page: "run" }>;
  readonly live: boolean;
}): JSX.Element {
  const { source, run, route, live } = props;
  const { manifest, summary, status, counts, metrics } = run;
  const total = manifest.tasks * manifest.samples;
  const label = (metric: string): string => metricLabel(metric, definesCorrect(manifest.correct, manifest.spec));
  return (
    <>
      <header class="title">
        <h1>
          <Text>{manifest.name}</Text>
        </h1>
        <Status status={status} failed={counts.failed} />
        {counts.played < total && (
          <span class="soft">
            {formatCount(counts.played)} of {formatCount(total)} episodes
          </span>
        )}
      </header>
      <RunFacts run={run} />
      {run.error !== undefined && (
        <div class="problem">
          Every one of {formatCount(counts.failed)} episodes failed. The first: <Text>{run.error.message}</Text>{" "}
          {run.error.hint !== undefined && <Text>{run.error.hint}</Text>}
        </div>
      )}
      <div class="figures">
        <MetricTable metrics={metrics} label={label} />
        {summary !== undefined && Object.keys(summary.levels).length > 1 && (
          <LevelTable levels={summary.levels} label={label} />
        )}
      </div>
      {run.note !== undefined && <p class="note">{run.note}</p>}
      <EpisodeTable
        source={source}
        route={route}
        fields={{ outcomes: outcomesOf(run), levels: run.levels, agents: run.agents }}
        live={live && status === "running"}
        version={counts.played}
      />
    </>
  );
}

interface Labelled {
  /** Returns the label of a metric. */
  readonly label: (metric: string) => string;
}

/** Without a rule of correctness, only the maximum reward counts as correct, and no episode is marked as wrong. */
function outcomesOf({ manifest, counts }: EvaluationView): FilterFields["outcomes"] {
  const judged = definesCorrect(manifest.correct, manifest.spec) ? (["correct", "wrong"] as const) : [];
  const silent = counts.reasoningOnly > 0 ? (["reasoning-only"] as const) : [];
  return ["scored", ...judged, "unscored", "truncated", "failed", ...silent];
}

function RunFacts({ run }: { readonly run: EvaluationView }): JSX.Element {
  const { manifest, summary, counts, training } = run;
  const { identity } = manifest;
  const models = Object.entries(identity.models);
  const sameModel = new Set(models.map(([, model]) => model)).size === 1;
  const sampling = Object.entries(identity.sampling).map(([name, value]) => `${name} ${JSON.stringify(value)}`);
  const time = summary?.time;
  return (
    <Facts
      facts={[
        ["model", sameModel ? models[0]?.[1] : models.map(([agent, model]) => `${agent}: ${model}`).join(", ")],
        ["training", training && <a href={runHash(training)}>{training === "." ? "training" : training}</a>],
        ["environment", `${identity.environment.name}, ${identity.split}`],
        ["prompt", identity.prompt && `${identity.prompt.format}, ${identity.prompt.shots} shots`],
        ["sampling", [...sampling, `seed ${identity.seed}`].join(", ")],
        ["episodes", `${formatCount(manifest.tasks)} tasks × ${manifest.samples}`],
        [
          "unscored",
          counts.unscored > 0 ? `${formatCount(counts.unscored)}, of which failed ${formatCount(counts.failed)}` : "",
        ],
        ["reasoning alone", counts.reasoningOnly > 0 ? reasoningOnlyText(run) : ""],
        [
          "tokens",
          summary?.tokens &&
            `${formatCount(summary.tokens.prompt)} read, ${formatCount(summary.tokens.completion)} written`,
        ],
        ["cost", summary?.cost && formatMoney(summary.cost.dollars)],
        ["started", dateText(manifest.startedAt)],
        [
          "time",
          time &&
            `${formatDuration(time.elapsedMs)}${time.episodeMs === undefined ? "" : `, an episode ${formatDuration(time.episodeMs.p50)} (p50) ${formatDuration(time.episodeMs.p99)} (p99)`}`,
        ],
      ]}
    />
  );
}

/** The answers that are reasoning alone are counted at the end of the run, their episodes at any time. */
function reasoningOnlyText({ counts, summary }: EvaluationView): string {
  const { answers, ofAnswers } = summary?.reasoningOnly ?? {};
  const episodes = `${formatCount(counts.reasoningOnly)} of ${formatCount(counts.played)} episodes`;
  if (answers === undefined || ofAnswers === undefined) return episodes;
  return `${episodes}, ${formatCount(answers)} of ${formatCount(ofAnswers)} answers (${formatPercent(answers / ofAnswers)})`;
}

function MetricTable({ metrics, label }: Pick<EvaluationView, "metrics"> & Labelled): JSX.Element | null {
  const entries = Object.entries(metrics);
  if (entries.length === 0) return null;
  const hasAll = entries.some(([, { overAll }]) => overAll !== undefined);
  const text = (name: string, value: number | undefined): string =>
    value === undefined ? "" : metricText(name, value);
  return (
    <Table
      name="metrics"
      rows={entries}
      keyOf={([name]) => name}
      columns={[
        { name: "metric", cell: ([name]) => <Text>{label(name)}</Text> },
        { name: "value", number: ([name, { value }]) => <b>{metricText(name, value)}</b> },
        {
          name: "95 % interval",
          number: ([name, { interval }]) => interval && `${text(name, interval.low)} to ${text(name, interval.high)}`,
          title: ([, { interval }]) => interval?.method,
        },
        hasAll && { name: "unscored as wrong", number: ([name, { overAll }]) => text(name, overAll) },
        { name: "tasks", number: ([, { tasks }]) => formatCount(tasks) },
      ]}
    />
  );
}

function LevelTable(
  props: { readonly levels: NonNullable<EvaluationView["summary"]>["levels"] } & Labelled,
): JSX.Element {
  const { levels, label } = props;
  const all = new Set(Object.values(levels).flatMap(({ metrics }) => Object.keys(metrics)));
  // Agents and components make the table wide, and are less useful by group.
  const names = [...all].filter((name) => !name.includes("/"));
  return (
    <Table
      name="metrics"
      rows={Object.entries(levels)}
      keyOf={([level]) => level}
      columns={[
        { name: "group", cell: ([level]) => <Text>{level}</Text> },
        { name: "episodes", number: ([, { counts }]) => formatCount(counts.played) },
        ...names.map((name): Column<[string, LevelSummary]> => {
          const text = (value: number | undefined): string => (value === undefined ? "–" : metricText(name, value));
          return { name, head: label(name), number: ([, { metrics }]) => text(metrics[name]?.value) };
        }),
      ]}
    />
  );
}
