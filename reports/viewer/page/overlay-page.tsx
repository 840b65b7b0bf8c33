import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { Json } from "../../../src/contract/json.ts";
import { formatCount } from "../../../src/core/text/format-numbers.ts";
import { settingDifferences } from "../../../src/core/text/setting-differences.ts";
import type { LineChart } from "../../training/chart.ts";
import type { TrainingView, ViewSource } from "../view-source.ts";
import { ChartSections, SmoothingField } from "./chart-sections.tsx";
import { type OverlaidChart, overlaidCharts } from "./overlaid-charts.ts";
import { Problem, Status, Text } from "./parts.tsx";
import { type Route, routeHash, runHash } from "./route.ts";
import { type Column, Table } from "./table.tsx";
import { useData } from "./use-data.ts";

/** Several trainings: their curves in common charts, and the settings in which they differ. */
export function OverlayPage(props: {
  readonly source: ViewSource;
  readonly live: boolean;
  readonly route: Extract<Route, { page: "overlay" }>;
}): JSX.Element {
  const { source, live, route } = props;
  const { runs: paths, smoothing = 0 } = route;
  const { data, error } = useData<readonly TrainingView[]>((signal) => readTrainings(source, paths, signal), {
    key: paths.join("\n"),
    ...(live ? { everyMs: (runs) => (runs.some(({ status }) => status === "running") ? 4_000 : 20_000) } : {}),
  });
  useEffect(() => {
    document.title = "Overlay · Lyceum";
  }, []);
  if (data === undefined)
    return error === undefined ? <p class="soft">Reading the runs…</p> : <Problem message={error} />;
  const names = runNames(data.map(({ path }) => path));
  const sections = overlaidCharts(data.map(({ sections }, place) => ({ name: names[place]!, sections })));
  return (
    <>
      <header class="title">
        <h1>{data.length} trainings</h1>
      </header>
      {error !== undefined && <Problem message={error} />}
      <RunTable runs={data} names={names} route={route} />
      <div class="bar">
        <SmoothingField
          smoothing={smoothing}
          change={(chosen) => location.replace(routeHash({ ...route, smoothing: chosen }))}
        />
      </div>
      <ChartSections sections={sections} look={{ smoothing }} colorsOf={colorsOf} />
    </>
  );
}

/** A run has the same colour in every chart. */
function colorsOf(chart: LineChart): readonly number[] {
  return (chart as OverlaidChart).runs;
}

async function readTrainings(
  source: ViewSource,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<readonly TrainingView[]> {
  const runs = await Promise.all(paths.map((path) => source.run(path, signal)));
  return runs.map((run) => {
    if (run.kind !== "training") throw new Error(`${run.path} is an evaluation. Only trainings have curves.`);
    return run;
  });
}

/** Returns the names of runs in a legend: their paths, without their common folders. */
function runNames(paths: readonly string[]): string[] {
  const parts = paths.map((path) => path.split("/"));
  const shortest = Math.min(...parts.map(({ length }) => length));
  let shared = 0;
  while (shared < shortest - 1 && parts.every((own) => own[shared] === parts[0]![shared])) shared += 1;
  return parts.map((own) => own.slice(shared).join("/"));
}

function RunTable(props: {
  readonly runs: readonly TrainingView[];
  readonly names: readonly string[];
  readonly route: Extract<Route, { page: "overlay" }>;
}): JSX.Element {
  const { runs, names, route } = props;
  const differences = settingDifferences(runs.map(({ config }) => config)).filter(
    ({ setting }) => setting !== "output" && setting !== "algorithm.id",
  );
  const labels = [...new Set(runs.flatMap(({ tiles }) => tiles.map(({ label }) => label)))];
  const places = runs.map((_, place) => place);
  const figure = (label: string): Column<number> => ({
    name: label,
    number: (place) => <b>{runs[place]!.tiles.find((tile) => tile.label === label)?.value ?? "–"}</b>,
  });
  return (
    <Table
      name="metrics"
      rows={places}
      keyOf={(place) => runs[place]!.path}
      columns={[
        {
          name: "run",
          kind: "name",
          cell: (place) => (
            <>
              <span class="swatch" style={{ background: `var(--s${place % 8})` }} />
              <a href={runHash(runs[place]!.path)}>
                <Text>{names[place]!}</Text>
              </a>
            </>
          ),
        },
        { name: "status", cell: (place) => <Status status={runs[place]!.status} /> },
        { name: "algorithm", cell: (place) => <Text>{runs[place]!.start?.algorithm ?? ""}</Text> },
        { name: "step", number: (place) => formatCount(runs[place]!.step) },
        ...labels.filter((label) => !costs.includes(label)).map(figure),
        ...differences.map(
          ({ setting, values }): Column<number> => ({
            name: setting,
            cell: (place) => <Text>{settingText(values[place])}</Text>,
          }),
        ),
        ...labels.filter((label) => costs.includes(label) && label !== "Steps").map(figure),
        route.runs.length > 2 && {
          name: "remove",
          head: <span class="hidden">remove</span>,
          cell: (place) => (
            <a
              aria-label={`Remove ${names[place]}`}
              href={routeHash({ ...route, runs: route.runs.filter((_, other) => other !== place) })}
            >
              ×
            </a>
          ),
        },
      ]}
    />
  );
}

/** The progress and speed figures. Steps have their own column. */
const costs: readonly string[] = ["Steps", "Time", "Tokens per second"];

function settingText(value: Json | undefined): string {
  if (value === undefined) return "–";
  return typeof value === "string" ? value : JSON.stringify(value);
}
