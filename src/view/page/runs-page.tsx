import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { formatCount } from "../../report/format.ts";
import type { RunSummary, ViewSource } from "../view-source.ts";
import { dateText, Problem, Status, Text } from "./parts.tsx";
import { routeHash } from "./route.ts";
import { Table } from "./table.tsx";
import { useData } from "./use-data.ts";

/** The runs of the folder, newest first; two evaluations can be chosen and compared. */
export function RunsPage({ source, live }: { readonly source: ViewSource; readonly live: boolean }): JSX.Element {
  const everyMs = live ? () => 4_000 : undefined;
  const { data, error } = useData((signal) => source.runs(signal), {
    key: "runs",
    ...(everyMs === undefined ? {} : { everyMs }),
  });
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const [words, setWords] = useState("");
  const only = data?.runs.length === 1 ? data.runs[0] : undefined;
  useEffect(() => {
    document.title = data === undefined ? "Lyceum" : `${data.folder} · Lyceum`;
    if (only !== undefined) location.replace(runHash(only));
  }, [data, only]);
  if (data === undefined)
    return error === undefined ? <p class="soft">Reading the runs…</p> : <Problem message={error} />;
  const toggle = (path: string): void =>
    setChosen((before) => (before.includes(path) ? before.filter((one) => one !== path) : [...before, path].slice(-2)));
  const runs = data.runs.filter((run) => matches(run, words));
  // The older one is compared with: it comes first.
  const [second, first] = data.runs.filter(({ path }) => chosen.includes(path)).map(({ path }) => path);
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
              onInput={(event) => setWords(event.currentTarget.value)}
            />
            {first !== undefined && second !== undefined ? (
              <a class="button" href={routeHash({ page: "compare", first, second })}>
                Compare the two
              </a>
            ) : (
              <span class="soft">Choose two evaluations to compare them.</span>
            )}
          </div>
          <Table
            name="runs"
            rows={runs}
            keyOf={({ path }) => path}
            columns={[
              {
                name: "compare",
                head: <span class="hidden">compare</span>,
                kind: "narrow",
                cell: ({ path, kind, problem }) =>
                  kind === "evaluation" &&
                  problem === undefined && (
                    <input
                      type="checkbox"
                      aria-label={`Compare ${path}`}
                      checked={chosen.includes(path)}
                      onChange={() => toggle(path)}
                    />
                  ),
              },
              { name: "run", kind: "name", cell: nameCell },
              { name: "score", cell: scoreCell },
              { name: "done", number: doneCell },
              {
                name: "status",
                cell: ({ problem, status }) => problem === undefined && <Status status={status} />,
              },
              { name: "environment", cell: environmentCell },
              { name: "model", kind: "wrap", cell: ({ model }) => <Text>{model}</Text> },
              { name: "started", number: ({ startedAt }) => dateText(startedAt) },
            ]}
          />
        </>
      )}
    </>
  );
}

function nameCell(run: RunSummary): JSX.Element {
  const { path, name, problem } = run;
  return (
    <>
      <a href={runHash(run)}>
        <Text>{path === "." ? name : path}</Text>
      </a>
      {problem !== undefined && <Problem message={problem} />}
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

function scoreCell({ scores }: RunSummary): JSX.Element[] {
  return scores.map(({ label, value }) => (
    <span key={label} class="score">
      <b>{value}</b> <span class="soft">{label}</span>
    </span>
  ));
}

function doneCell({ done, total }: RunSummary): JSX.Element {
  return (
    <>
      {formatCount(done)}
      {done !== total && <span class="soft">/{formatCount(total)}</span>}
    </>
  );
}

function matches(run: RunSummary, words: string): boolean {
  const text = [run.path, run.name, run.environment, run.model, run.kind].join(" ").toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

function runHash({ path }: RunSummary): string {
  return routeHash({ page: "run", run: path, filter: {}, offset: 0 });
}
