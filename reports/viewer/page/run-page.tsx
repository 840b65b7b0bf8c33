import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { RunView, ViewSource } from "../view-source.ts";
import { readingPollMs } from "./episode-table.tsx";
import { EvaluationPage } from "./evaluation-page.tsx";
import { Problem } from "./parts.tsx";
import type { Route } from "./route.ts";
import { TrainingPage } from "./training-page.tsx";
import { useData } from "./use-data.ts";

/** One run, updated while it is running. */
export function RunPage(props: {
  readonly source: ViewSource;
  readonly live: boolean;
  readonly route: Extract<Route, { page: "run" }>;
}): JSX.Element {
  const { source, live, route } = props;
  const { run } = route;
  const { data, error } = useData((signal) => source.run(run, signal), {
    key: run,
    ...(live ? { everyMs: pollMs } : {}),
  });
  useEffect(() => {
    // An exported file has its own title.
    if (run !== ".") document.title = `${run} · Lyceum`;
  }, [run]);
  return (
    <>
      {error !== undefined && <Problem message={error} />}
      {data === undefined ? (
        error === undefined && <p class="soft">Reading the run…</p>
      ) : data.kind === "training" ? (
        <TrainingPage source={source} run={data} route={route} live={live} />
      ) : (
        <EvaluationPage source={source} run={data} route={route} live={live} />
      )}
    </>
  );
}

/** A run that ended may be resumed, or its episodes played again. */
function pollMs(run: RunView): number {
  const { status } = run;
  const { reading } = run.kind === "training" ? (run.trace ?? {}) : run;
  if (reading !== undefined) return readingPollMs;
  return status === "running" ? 2_000 : 10_000;
}
