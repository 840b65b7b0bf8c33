import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { formatCount, formatDuration } from "../../../src/core/text/format-numbers.ts";
import { type EpisodeFilter, rewardOf } from "../episode-filter.ts";
import type { EpisodeRow, ShownRow } from "../episode-row.ts";
import type { ViewSource } from "../view-source.ts";
import { FilterBar, type FilterFields } from "./filter-bar.tsx";
import { isTyping } from "./is-typing.ts";
import { Outcome, Problem, rewardText, Text } from "./parts.tsx";
import { type Route, routeHash } from "./route.ts";
import { Table } from "./table.tsx";
import { useData } from "./use-data.ts";

/** Episodes per page. */
export const pageSize = 100;

/** The interval of requests while a log is being read. */
export const readingPollMs = 200;

/** A run's episodes, filtered, one page at a time. They are read again if `version` changes. */
export function EpisodeTable(props: {
  readonly source: ViewSource;
  readonly route: Extract<Route, { page: "run" }>;
  readonly fields: FilterFields;
  readonly live: boolean;
  readonly version: number;
}): JSX.Element {
  const { source, route, fields, live, version } = props;
  const { run, filter, offset } = route;
  const { data, error, loading } = useData(
    (signal) => source.episodes(run, { filter, offset, limit: pageSize }, signal),
    {
      key: `${routeHash(route)} ${version}`,
      everyMs: ({ reading }) => (reading !== undefined ? readingPollMs : live ? 4_000 : undefined),
    },
  );
  const change = (next: EpisodeFilter): void => location.replace(routeHash({ ...route, filter: next, offset: 0 }));
  useEffect(() => {
    const turn = (event: KeyboardEvent): void => {
      if (isTyping(event) || data === undefined) return;
      const step = event.key === "ArrowRight" ? pageSize : event.key === "ArrowLeft" ? -pageSize : 0;
      const next = offset + step;
      if (step !== 0 && next >= 0 && next < data.matched) location.hash = routeHash({ ...route, offset: next });
      if (event.key === "Enter" && event.target === document.body && data.rows[0] !== undefined) {
        location.hash = routeHash({ page: "episode", run, id: data.rows[0].id, filter });
      }
    };
    addEventListener("keydown", turn);
    return () => removeEventListener("keydown", turn);
  });
  return (
    <section>
      <FilterBar filter={filter} fields={fields} change={change} busy={loading && filter.text !== undefined} />
      {error !== undefined && <Problem message={error} />}
      {data !== undefined && (
        <>
          <div class="bar">
            <span class="soft">
              {data.matched === data.total
                ? `${formatCount(data.total)} episodes`
                : `${formatCount(data.matched)} of ${formatCount(data.total)} episodes`}
              {data.more === true && " and maybe more: the search ended at its limit"}
              {data.reading !== undefined && `, reading the log: ${Math.floor(100 * data.reading)} %`}
            </span>
            <Pager route={route} matched={data.matched} />
          </div>
          {data.rows.length > 0 && <Rows rows={data.rows} run={run} filter={filter} />}
          {data.total > 0 && data.matched === 0 && data.reading === undefined && (
            <p class="soft">No episode is like that. Clear the filter to see them all.</p>
          )}
        </>
      )}
    </section>
  );
}

function Pager({ route, matched }: { readonly route: Extract<Route, { page: "run" }>; readonly matched: number }) {
  const { offset } = route;
  if (matched <= pageSize && offset === 0) return null;
  const link = (to: number, label: string): JSX.Element =>
    to < 0 || to >= matched ? (
      <span class="button off">{label}</span>
    ) : (
      <a class="button" href={routeHash({ ...route, offset: to })}>
        {label}
      </a>
    );
  return (
    <span class="pager">
      {link(offset === 0 ? -1 : Math.max(0, offset - pageSize), "←")}
      <span class="number">
        {(offset + 1).toLocaleString("en-US")} – {Math.min(offset + pageSize, matched).toLocaleString("en-US")}
      </span>
      {link(offset + pageSize, "→")}
    </span>
  );
}

function Rows(props: {
  readonly rows: readonly ShownRow[];
  readonly run: string;
  readonly filter: EpisodeFilter;
}): JSX.Element {
  const { rows, run, filter } = props;
  const has = {
    step: rows.some(({ step }) => step !== undefined),
    // In a training, most episodes have no other outcome than their reward.
    outcome: rows.some(
      ({ outcome, status, reasoningOnly }) =>
        outcome !== "scored" || status !== "completed" || reasoningOnly !== undefined,
    ),
    level: rows.some(({ level }) => level !== undefined),
    sampleIndex: rows.some(({ sampleIndex }) => sampleIndex > 0),
    tokens: rows.some(({ tokens }) => tokens !== null),
    words: rows.some(({ words }) => words !== undefined),
    prompt: rows.some(({ prompt }) => prompt !== undefined),
    reason: rows.some(({ reason }) => reason !== undefined),
  };
  const { agent } = filter;
  return (
    <Table
      name="episodes"
      rows={rows}
      keyOf={({ id }) => id}
      columns={[
        has.step && { name: "step", number: ({ step }) => (step === undefined ? "now" : formatCount(step)) },
        {
          name: "task",
          kind: has.prompt ? "prompt" : "name",
          cell: ({ id, task, prompt }) => (
            <a href={routeHash({ page: "episode", run, id, filter })}>
              {prompt === undefined ? (
                <Text>{task.id}</Text>
              ) : (
                <>
                  <span class="id">
                    <Text>{task.id}</Text>
                  </span>{" "}
                  <Text>{prompt}</Text>
                </>
              )}
            </a>
          ),
          title: ({ prompt }) => prompt,
        },
        has.sampleIndex && { name: "sample", number: ({ sampleIndex }) => sampleIndex },
        has.level && { name: "group", cell: ({ level = "" }) => <Text>{level}</Text> },
        has.outcome && { name: "outcome", cell: outcomeCell },
        {
          name: "reward",
          head: agent === undefined ? "reward" : `reward of ${agent}`,
          number: (row) => rewardText(rewardOf(row, agent)),
        },
        { name: "turns", number: ({ turns }) => turns },
        has.tokens && { name: "tokens", number: ({ tokens }) => (tokens === null ? "–" : formatCount(tokens)) },
        { name: "time", number: ({ durationMs }) => formatDuration(durationMs) },
        has.reason && {
          name: "reason",
          kind: "name",
          cell: ({ reason = "" }) => (
            <span class="soft">
              <Text>{reason}</Text>
            </span>
          ),
          title: ({ reason }) => reason,
        },
        has.words && {
          name: "words",
          head: "last message",
          kind: "words",
          cell: ({ words = "" }) => <Text>{words}</Text>,
          title: ({ words }) => words,
        },
      ]}
    />
  );
}

function outcomeCell({ outcome, status, reasoningOnly }: EpisodeRow): JSX.Element {
  return (
    <>
      <Outcome outcome={outcome} />
      {status === "failed" && outcome !== "failed" && <span class="bad"> failed</span>}
      {status === "truncated" && <span class="soft"> cut off</span>}
      {status === "aborted" && <span class="soft"> aborted</span>}
      {reasoningOnly === true && <span class="soft"> reasoning alone</span>}
    </>
  );
}
