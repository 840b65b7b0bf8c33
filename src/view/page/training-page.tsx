import type { JSX } from "preact";
import { formatCount, formatDuration, formatNumber } from "../../report/format.ts";
import { evaluationSummary } from "../../report/metric-summary.ts";
import type { TrainingView, ViewSource } from "../view-source.ts";
import { Chart } from "./chart.tsx";
import { EpisodeTable } from "./episode-table.tsx";
import { JsonView } from "./json-view.tsx";
import { dateText, Facts, Status, Text } from "./parts.tsx";
import { type Route, routeHash } from "./route.ts";

/** A training: its curves, evaluations and samples, and on a page of its own its episodes, where it keeps a trace. */
export function TrainingPage(props: {
  readonly source: ViewSource;
  readonly run: TrainingView;
  readonly route: Extract<Route, { page: "run" }>;
  readonly live: boolean;
}): JSX.Element {
  const { source, run, route, live } = props;
  const { trace } = run;
  const { start, end, status, step, warnings } = run;
  const tab = (part: "episodes" | undefined, label: string): JSX.Element => (
    <a
      class={`button ${route.part === part ? "chosen" : ""}`}
      aria-current={route.part === part ? "page" : undefined}
      href={routeHash({ page: "run", run: route.run, filter: {}, offset: 0, ...(part && { part }) })}
    >
      {label}
    </a>
  );
  return (
    <>
      <header class="title">
        <h1>
          <Text>{start === undefined ? "training" : `${start.algorithm} on ${start.environment}`}</Text>
        </h1>
        <Status status={status} />
        {start !== undefined && (
          <span class="soft">
            step {formatCount(step)} of {formatCount(start.steps)}
            {run.etaMs !== undefined && `, ${formatDuration(run.etaMs)} left`}
          </span>
        )}
      </header>
      <Facts
        facts={[
          ["model", start?.model.name],
          ["trainable", start && formatCount(start.model.trainableParameters)],
          ["device", start?.model.device],
          ["seed", start && String(start.seed)],
          ["started", dateText(run.startedAt)],
          ["time", formatDuration(run.elapsedMs)],
          ["exported", end?.exported],
        ]}
      />
      {end?.error !== undefined && (
        <div class="problem">
          <Text>{end.error.message}</Text> {end.error.hint !== undefined && <Text>{end.error.hint}</Text>}
        </div>
      )}
      {warnings.map(({ message, count, firstStep, lastStep }) => (
        <p class="note" key={message}>
          <Text>{message}</Text>
          <span class="soft">
            {" "}
            {count === 1 ? `step ${firstStep}` : `${count} times, steps ${firstStep} to ${lastStep}`}
          </span>
        </p>
      ))}
      {run.note !== undefined && <p class="note">{run.note}</p>}
      {trace !== undefined && (
        <div class="bar">
          {tab(undefined, "Curves")}
          {tab("episodes", `Episodes ${formatCount(trace.episodes)}`)}
        </div>
      )}
      {trace !== undefined && route.part === "episodes" ? (
        <EpisodeTable
          source={source}
          route={route}
          fields={{ outcomes: traceOutcomes, agents: trace.agents, hasSteps: trace.hasSteps }}
          live={live && status === "running"}
          version={trace.episodes}
        />
      ) : (
        <Curves run={run} />
      )}
    </>
  );
}

/** What a training came to so far; samples tell of episodes where no trace does. */
function Curves({ run }: { readonly run: TrainingView }): JSX.Element {
  const { charts, config, trace } = run;
  return (
    <>
      <div class="charts">
        {charts.main.map((chart) => (
          <Chart key={chart.title} chart={chart} />
        ))}
      </div>
      {charts.main.length === 0 && <p class="soft">No step was recorded yet.</p>}
      {charts.other.length > 0 && (
        <details>
          <summary>All other metrics ({charts.other.length} charts)</summary>
          <div class="charts">
            {charts.other.map((chart) => (
              <Chart key={`${chart.title} ${chart.series[0]?.name}`} chart={chart} />
            ))}
          </div>
        </details>
      )}
      <Evaluations evaluations={run.evaluations} />
      <Samples samples={run.samples} />
      {trace === undefined && (
        <p class="soft">
          This training keeps no trace, so that its episodes are not here. <code>rollout.trace: true</code> in a config,
          or <code>--set rollout.trace=true</code>, keeps them.
        </p>
      )}
      {config !== undefined && (
        <details>
          <summary>Config</summary>
          <JsonView value={config} />
        </details>
      )}
    </>
  );
}

const traceOutcomes = ["scored", "unscored", "completed", "truncated", "failed", "aborted"] as const;

function Evaluations({ evaluations }: Pick<TrainingView, "evaluations">): JSX.Element | null {
  if (evaluations.length === 0) return null;
  return (
    <details open={evaluations.length <= 12}>
      <summary>Evaluations ({evaluations.length})</summary>
      <table class="metrics scroll">
        <tbody>
          {evaluations.map(({ step, split, metrics }) => (
            <tr key={`${step} ${split}`}>
              <td class="number">step {formatCount(step)}</td>
              <td>
                <Text>{split}</Text>
              </td>
              {evaluationSummary(metrics).map(({ label, value }) => (
                <td key={label}>
                  <b>{value}</b> <span class="soft">{label}</span>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}

function Samples({ samples }: Pick<TrainingView, "samples">): JSX.Element | null {
  if (samples.length === 0) return null;
  return (
    <details open>
      <summary>Samples (the last {samples.length})</summary>
      {samples.map(({ step, prompt, completion, reward, demonstration }, index) => (
        <article class="sample" key={`${step} ${index}`}>
          <p class="soft">
            step {formatCount(step)}
            {reward !== undefined && `, reward ${formatNumber(reward)}`}
            {demonstration === true && ", demonstration"}
          </p>
          <pre class="soft">
            <Text>{prompt}</Text>
          </pre>
          <pre>
            <Text>{completion}</Text>
          </pre>
        </article>
      ))}
    </details>
  );
}
