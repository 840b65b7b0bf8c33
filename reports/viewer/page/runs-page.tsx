import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { formatCount, formatNumber, formatPercent } from "../../../src/core/text/format-numbers.ts";
import type { RunScores, RunSummary, ViewSource } from "../view-source.ts";
import { dateText, PathText, Problem, Status, Text } from "./parts.tsx";
import { type Route, routeHash, runHash } from "./route.ts";
import { matchesWords, nextOrder, runOrders } from "./run-columns.ts";
import { sortRows } from "./sort-rows.ts";
import { type Column, Table } from "./table.tsx";
import { TrendLine } from "./trend-line.tsx";
import { useData } from "./use-data.ts";

/** The maximum number of overlaid trainings. More lines cannot be distinguished. */
const mostOverlaid = 12;

/** The runs of the folder. Two evaluations can be compared, and several trainings overlaid. */
export function RunsPage(props: {
  readonly source: ViewSource;
  readonly live: boolean;
  readonly route: Extract<Route, { page: "runs" }>;
}): JSX.Element {
  const { source, live, route } = props;
  const { kind, words = "" } = route;
  const everyMs = live ? () => 4_000 : undefined;
  const { data, error } = useData((signal) => source.runs(signal), { key: "runs", everyMs });
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const only = data?.runs.length === 1 ? data.runs[0] : undefined;
  useEffect(() => {
    document.title = data === undefined ? "Lyceum" : `${data.folder} · Lyceum`;
    if (only !== undefined) location.replace(runHash(only.path));
  }, [data, only]);
  if (data === undefined)
    return error === undefined ? <p class="soft">Reading the runs…</p> : <Problem message={error} />;
  const change = (changes: Partial<typeof route>): void => location.replace(routeHash({ ...route, ...changes }));
  const { sort = "started", descending = route.sort === undefined } = route;
  const by = (runOrders[sort] ?? runOrders.started!).by;
  const found = data.runs.filter((run) => matchesWords(run, words) && (kind === undefined || run.kind === kind));
  const runs = sortRows(found, { by, descending });
  const toggle = (path: string): void =>
    setChosen((before) => (before.includes(path) ? before.filter((one) => one !== path) : [...before, path]));
  const choosable = runs.filter(({ problem }) => problem === undefined);
  const areAllChosen = choosable.length > 0 && choosable.every(({ path }) => chosen.includes(path));
  const chosenRuns = data.runs.filter(({ path }) => chosen.includes(path));
  return (
    <>
      <header class="title">
        <h1>
          <Text>{data.folder}</Text>
        </h1>
        <span class="soft">{data.runs.length === 1 ? "1 run" : `${data.runs.length} runs`}</span>
      </header>
      {error !== undefined && <Problem message={error} />}
      {data.runs.length === 0 ? (
        <p class="soft">
          There is no run in this folder: no evaluation.json and no metrics.jsonl. What <code>lyceum eval</code> and{" "}
          <code>lyceum train</code> write into it appears here.
        </p>
      ) : (
        <>
          <div class="bar">
            <input
              type="search"
              placeholder="name, model, environment"
              aria-label="Filter the runs"
              value={words}
              onInput={(event) => change({ words: event.currentTarget.value })}
            />
            <select
              aria-label="kind"
              value={kind ?? ""}
              onChange={({ currentTarget: { value } }) => {
                const { kind: _, ...rest } = route;
                location.replace(routeHash(isKind(value) ? { ...rest, kind: value } : rest));
              }}
            >
              <option value="">all kinds</option>
              <option value="training">trainings</option>
              <option value="evaluation">evaluations</option>
            </select>
            <Together runs={chosenRuns} />
          </div>
          <Table
            name="runs"
            rows={runs}
            keyOf={({ path }) => path}
            classOf={({ status, problem }) => (status === "failed" || problem !== undefined ? "failed" : "")}
            order={{ sort, descending }}
            onSort={(clicked) => change(nextOrder({ sort, descending }, clicked))}
            columns={[
              {
                name: "choose",
                head: (
                  <input
                    type="checkbox"
                    aria-label="Choose all"
                    checked={areAllChosen}
                    onChange={() => setChosen(areAllChosen ? [] : choosable.map(({ path }) => path))}
                  />
                ),
                kind: "narrow",
                cell: ({ path, problem }) =>
                  problem === undefined && (
                    <input
                      type="checkbox"
                      aria-label={`Choose ${path}`}
                      checked={chosen.includes(path)}
                      onChange={() => toggle(path)}
                    />
                  ),
              },
              ...runColumns(runs),
            ]}
          />
          {runs.length === 0 && <p class="soft">No run is like that.</p>}
        </>
      )}
    </>
  );
}

/** The actions for the selected runs. */
function Together({ runs }: { readonly runs: readonly RunSummary[] }): JSX.Element {
  const kinds = new Set(runs.map(({ kind }) => kind));
  // The older run is the baseline and comes first. Runs are listed newest first.
  const paths = runs.map(({ path }) => path).toReversed();
  const [first, second] = paths;
  if (kinds.size === 1 && kinds.has("training") && runs.length > 1 && runs.length <= mostOverlaid) {
    return (
      <a class="button main" href={routeHash({ page: "overlay", runs: paths })}>
        Overlay the {runs.length} trainings
      </a>
    );
  }
  if (kinds.size === 1 && kinds.has("evaluation") && runs.length === 2) {
    return (
      <a class="button main" href={routeHash({ page: "compare", first: first!, second: second! })}>
        Compare the two
      </a>
    );
  }
  return (
    <span class="soft">
      {kinds.size > 1
        ? "Choose runs of one kind."
        : runs.length > mostOverlaid
          ? `Choose at most ${mostOverlaid} trainings.`
          : kinds.has("evaluation") && runs.length > 2
            ? "Choose two evaluations."
            : kinds.has("training")
              ? "Choose another training to overlay their curves."
              : kinds.has("evaluation")
                ? "Choose another evaluation to compare them."
                : "Choose two evaluations to compare them, or several trainings to overlay them."}
    </span>
  );
}

function runColumns(runs: readonly RunSummary[]): (Column<RunSummary> | false)[] {
  const score = (name: keyof RunScores, text: (value: number) => string): Column<RunSummary> | false =>
    runs.some(({ scores }) => scores[name] !== undefined) && {
      name,
      number: ({ scores: { [name]: value } }) => (value === undefined ? "" : <b>{text(value)}</b>),
      title: ({ scores, scoresOf }) => (scores[name] === undefined ? undefined : scoresOf),
    };
  const columns: (Column<RunSummary> | false)[] = [
    { name: "run", kind: "name", cell: nameCell },
    {
      name: "status",
      cell: ({ problem, status, failed }) => problem === undefined && <Status status={status} failed={failed} />,
    },
    score("reward", formatNumber),
    score("accuracy", formatPercent),
    score("win rate", formatPercent),
    score("loss", formatNumber),
    runs.some(({ trend }) => trend !== undefined) && {
      name: "trend",
      cell: ({ trend }) => trend !== undefined && <TrendLine trend={trend} />,
    },
    { name: "kind", cell: ({ kind }) => <span class={`kind ${kind}`}>{kind}</span> },
    { name: "done", number: doneCell, title: ({ kind }) => (kind === "training" ? "steps" : "episodes") },
    { name: "environment", cell: environmentCell },
    { name: "model", kind: "wrap", cell: ({ model }) => <PathText path={model} /> },
    { name: "started", number: ({ startedAt }) => dateText(startedAt) },
  ];
  return columns.map((column) => {
    const order = column === false ? undefined : runOrders[column.name];
    return column === false || order === undefined ? column : { ...column, sort: order.by };
  });
}

function isKind(value: string): value is RunSummary["kind"] {
  return value === "training" || value === "evaluation";
}

function nameCell(run: RunSummary): JSX.Element {
  const { path, name, problem, error } = run;
  return (
    <>
      <a href={runHash(run.path)}>
        <PathText path={path === "." ? name : path} />
      </a>
      {(problem ?? error) !== undefined && (
        <p class="reason" title={problem ?? error}>
          <Text>{problem ?? error ?? ""}</Text>
        </p>
      )}
    </>
  );
}

function environmentCell({ kind, name, environment }: RunSummary): JSX.Element {
  return (
    <>
      <Text>{kind === "evaluation" && name !== environment ? name : environment}</Text>
      {kind === "training" && (
        <span class="soft">
          {" "}
          <Text>{name}</Text>
        </span>
      )}
    </>
  );
}

function doneCell({ done, total }: RunSummary): JSX.Element {
  return (
    <>
      {formatCount(done)}
      {done !== total && <span class="soft">/{formatCount(total)}</span>}
    </>
  );
}
