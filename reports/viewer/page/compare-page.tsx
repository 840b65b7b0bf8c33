import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { formatNumber } from "../../../src/core/text/format-numbers.ts";
import type { ComparedTask } from "../../../src/evaluation/compare.ts";
import { type DifferenceVerdict, differenceVerdict } from "../../../src/evaluation/metrics/significant-difference.ts";
import { differenceRangeText, differenceText, metricText, verdictText } from "../../training/metric-text.ts";
import type { ComparisonView, ViewSource } from "../view-source.ts";
import { PathText, Problem, Text } from "./parts.tsx";
import { routeHash, runHash } from "./route.ts";
import { Scroller } from "./scroller.tsx";
import { Table } from "./table.tsx";
import { useData } from "./use-data.ts";

/** The maximum number of listed tasks. */
const listed = 500;

type Side = "all" | "better" | "worse";

/** Two evaluations on their common tasks. */
export function ComparePage(props: {
  readonly source: ViewSource;
  readonly first: string;
  readonly second: string;
}): JSX.Element {
  const { source, first, second } = props;
  const { data, error } = useData((signal) => source.compare(first, second, signal), { key: `${first}\n${second}` });
  useEffect(() => {
    document.title = "Comparison · Lyceum";
  }, []);
  if (error !== undefined) return <Problem message={error} />;
  if (data === undefined) return <p class="soft">Comparing…</p>;
  return (
    <>
      <header class="title">
        <h1>Comparison</h1>
        <span class="soft">{data.shared === 1 ? "1 task" : `${data.shared} tasks`} in both</span>
        <a class="button" href={routeHash({ page: "compare", first: second, second: first })}>
          swap
        </a>
      </header>
      <Sides comparison={data} />
      <Figures metrics={data.metrics} />
      <Changed comparison={data} first={first} second={second} />
    </>
  );
}

function Sides({ comparison }: { readonly comparison: ComparisonView }): JSX.Element {
  const sides = [
    ["A", comparison.first],
    ["B", comparison.second],
  ] as const;
  return (
    <Scroller label="compared runs">
      <table class="metrics">
        <tbody>
          {sides.map(([letter, { folder, name, models, alone }]) => (
            <tr key={letter}>
              <td>
                <b>{letter}</b>
              </td>
              <td class="wrap">
                <a href={runHash(folder)}>
                  <PathText path={folder} />
                </a>
              </td>
              <td>
                <Text>{name}</Text>
              </td>
              <td class="wrap">
                <PathText path={[...new Set(Object.values(models))].join(" and ")} />
              </td>
              <td class="soft">{alone > 0 && `${alone} tasks that the other does not have`}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroller>
  );
}

function Figures({ metrics }: Pick<ComparisonView, "metrics">): JSX.Element {
  return (
    <Table
      name="metrics"
      rows={Object.entries(metrics)}
      keyOf={([name]) => name}
      columns={[
        { name: "metric", cell: ([name]) => <Text>{name}</Text> },
        { name: "A", number: ([name, { first }]) => metricText(name, first) },
        { name: "B", number: ([name, { second }]) => metricText(name, second) },
        {
          name: "B − A",
          number: ([name, metric]) => (
            <b class={verdictClass[differenceVerdict(metric)]}>{differenceText(name, metric.difference)}</b>
          ),
          title: ([, metric]) => verdictText(differenceVerdict(metric)),
        },
        {
          name: "95 % interval",
          number: ([name, { interval }]) => interval && differenceRangeText(name, interval),
          title: ([, { interval }]) => interval?.method,
        },
        { name: "verdict", cell: ([, metric]) => verdictText(differenceVerdict(metric)) },
        { name: "B better", number: ([, { wins }]) => wins },
        { name: "B worse", number: ([, { losses }]) => losses },
        { name: "same", number: ([, { ties }]) => ties },
        { name: "p", number: ([, { test }]) => formatNumber(test.p), title: ([, { test }]) => test.method },
      ]}
    />
  );
}

function Changed(props: {
  readonly comparison: ComparisonView;
  readonly first: string;
  readonly second: string;
}): JSX.Element {
  const { comparison, first, second } = props;
  const [side, setSide] = useState<Side>("all");
  const metric = Object.keys(comparison.metrics)[0] ?? "score";
  const tasks = comparison.changed.filter((task) => side === "all" || (side === "better") === task.second > task.first);
  const link = (run: string, { id }: ComparedTask, value: number): JSX.Element => (
    <a href={routeHash({ page: "run", run, filter: { task: `=${id}` }, offset: 0 })}>{metricText(metric, value)}</a>
  );
  return (
    <section>
      <div class="bar">
        <select aria-label="tasks" value={side} onChange={(event) => setSide(event.currentTarget.value as Side)}>
          <option value="all">all that differ</option>
          <option value="better">B better</option>
          <option value="worse">B worse</option>
        </select>
        <span class="soft">
          {tasks.length} {tasks.length === 1 ? "task" : "tasks"} by {metric}
          {tasks.length > listed && `, the first ${listed} shown`}
        </span>
      </div>
      {tasks.length > 0 && (
        <Table
          name="metrics"
          rows={tasks.slice(0, listed)}
          keyOf={({ hash, id }) => `${hash} ${id}`}
          columns={[
            { name: "task", kind: "name", cell: ({ id }) => <Text>{id}</Text> },
            { name: "A", number: (task) => link(first, task, task.first) },
            { name: "B", number: (task) => link(second, task, task.second) },
            // One task says nothing about chance, so its difference has no colour.
            { name: "B − A", number: (task) => differenceText(metric, task.second - task.first) },
            {
              name: "prompt",
              kind: "words",
              cell: ({ hash }) => <Text>{comparison.prompts[hash] ?? ""}</Text>,
              title: ({ hash }) => comparison.prompts[hash],
            },
          ]}
        />
      )}
    </section>
  );
}

/** Only a difference that is not chance has a colour. */
const verdictClass: Readonly<Record<DifferenceVerdict, string>> = { better: "good", worse: "bad", unclear: "" };
