import type { JSX } from "preact";
import { formatCount, formatDuration } from "../../../src/core/text/format-numbers.ts";
import { evaluationSummary } from "../../training/metric-summary.ts";
import type { TrainingView, ViewSource } from "../view-source.ts";
import { ChartSections, SmoothingField } from "./chart-sections.tsx";
import { EpisodeTable } from "./episode-table.tsx";
import { JsonView } from "./json-view.tsx";
import { dateText, Facts, Status, Text } from "./parts.tsx";
import { type Route, routeHash, runHash } from "./route.ts";
import { Sample, Samples } from "./samples.tsx";
import { type Column, Table } from "./table.tsx";

type RunRoute = Extract<Route, { page: "run" }>;

/** A training: its curves, evaluations and samples. A second page has its episodes, if it has a trace. */
export function TrainingPage(props: {
  readonly source: ViewSource;
  readonly run: TrainingView;
  readonly route: RunRoute;
  readonly live: boolean;
}): JSX.Element {
  const { source, run, route, live } = props;
  const { trace } = run;
  const { start, end, status, step, warnings } = run;
  const tab = (part: "episodes" | undefined, label: string): JSX.Element => (
    <a
      class={`button ${route.part === part ? "chosen" : ""}`}
      aria-current={route.part === part ? "page" : undefined}
      href={runHash(route.run, part)}
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
      <Facts facts={[...run.facts, ["started", dateText(run.startedAt)]]} />
      {status === "stopped" && (
        <p class="note">
          The process of this training is gone, but the training has not ended: it was killed, or it crashed. The last
          step that it wrote is {formatCount(step)}. <code>lyceum train --resume</code> goes on from its newest
          checkpoint.
        </p>
      )}
      {end?.error !== undefined && (
        <div class="problem">
          <Text>{end.error.message}</Text> {end.error.hint !== undefined && <Text>{end.error.hint}</Text>}
        </div>
      )}
      {trace !== undefined && run.note !== undefined && <p class="note">{run.note}</p>}
      {run.tiles.length > 0 && (
        <section class="tiles">
          {run.tiles.map(({ label, value, note }) => (
            <div class="tile" key={label}>
              <span class="soft">
                <Text>{label}</Text>
              </span>
              <b>{value}</b>
              <small class="soft">{note}</small>
            </div>
          ))}
        </section>
      )}
      {warnings.map(({ message, check, count, firstStep, lastStep }) => (
        <p class="note" key={message}>
          {check !== undefined && <b>{check}: </b>}
          <Text>{message}</Text>
          <span class="soft">
            {" "}
            {count === 1 ? `step ${firstStep}` : `${count} times, steps ${firstStep} to ${lastStep}`}
          </span>
        </p>
      ))}
      {trace !== undefined && (
        <div class="bar tabs">
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
        <Curves run={run} route={route} />
      )}
    </>
  );
}

/** The results of a training so far. Samples show episodes if there is no trace. */
function Curves({ run, route }: { readonly run: TrainingView; readonly route: RunRoute }): JSX.Element {
  const { sections, config, trace, preflight, probe, note } = run;
  const { smoothing = 0 } = route;
  return (
    <>
      {sections.length === 0 ? (
        <p class="soft">No step was recorded yet.</p>
      ) : (
        <div class="bar">
          <SmoothingField
            smoothing={smoothing}
            change={(chosen) => location.replace(routeHash({ ...route, smoothing: chosen }))}
          />
        </div>
      )}
      <ChartSections sections={sections} look={{ smoothing }} />
      <Evaluations evaluations={run.evaluations} />
      {preflight !== undefined && <Preflight checks={preflight} />}
      {probe !== undefined && <Probe probe={probe} />}
      <Samples samples={run.samples} />
      {trace === undefined && (
        <p class="soft">
          {note ?? (
            <>
              This training keeps no trace, so that its episodes are not here. <code>rollout.trace: true</code> in a
              config, or <code>--set rollout.trace=true</code>, keeps them.
            </>
          )}
        </p>
      )}
      {config !== undefined && (
        <details class="section">
          <summary>
            <h2>Config</h2>
          </summary>
          <JsonView value={config} />
        </details>
      )}
    </>
  );
}

const traceOutcomes = ["scored", "unscored", "completed", "truncated", "failed", "aborted", "reasoning-only"] as const;

/** The checks before the first step. Open if one failed. */
function Preflight({ checks }: { readonly checks: NonNullable<TrainingView["preflight"]> }): JSX.Element {
  const passed = checks.filter(({ status }) => status === "passed").length;
  return (
    <details class="section" open={checks.some(({ status }) => status === "failed")}>
      <summary>
        <h2>
          Preflight: {passed} of {checks.length} checks passed
        </h2>
      </summary>
      {checks.map(({ name, learner, status, detail, cause }) => (
        <p class={status === "failed" ? "note" : undefined} key={`${name} ${learner}`}>
          {learner === undefined ? name : <Text>{`${name} of ${learner}`}</Text>} {status}: <Text>{detail}</Text>
          {cause !== undefined && (
            <>
              . <Text>{cause}</Text>
            </>
          )}
        </p>
      ))}
    </details>
  );
}

function Probe({ probe }: { readonly probe: NonNullable<TrainingView["probe"]> }): JSX.Element {
  const { facts, advice, samples } = probe;
  return (
    <details class="section" open={advice.length > 0}>
      <summary>
        <h2>Before the first step</h2>
      </summary>
      <p>
        <Text>{facts.join(", ")}</Text>
      </p>
      {advice.map((text) => (
        <p class="note" key={text}>
          Try <Text>{text}</Text>
        </p>
      ))}
      <div class="samples">
        {samples.map((sample, index) => (
          <Sample key={index} sample={sample} />
        ))}
      </div>
    </details>
  );
}

function Evaluations({ evaluations }: Pick<TrainingView, "evaluations">): JSX.Element | null {
  if (evaluations.length === 0) return null;
  const rows = evaluations.map(({ step, split, metrics, path }) => ({
    step,
    path,
    split,
    values: new Map(evaluationSummary(metrics).map(({ label, value }) => [label, value])),
  }));
  const labels = [...new Set(rows.flatMap(({ values }) => [...values.keys()]))];
  return (
    <details class="section" open={evaluations.length <= 12}>
      <summary>
        <h2>Evaluations</h2> <span class="soft">{evaluations.length}</span>
      </summary>
      <Table
        name="metrics"
        rows={rows}
        keyOf={({ step, split }) => `${step} ${split}`}
        columns={[
          {
            name: "step",
            number: ({ step, path }) =>
              path === undefined ? formatCount(step) : <a href={runHash(path)}>{formatCount(step)}</a>,
          },
          { name: "split", cell: ({ split }) => <Text>{split}</Text> },
          ...labels.map(
            (label): Column<(typeof rows)[number]> => ({
              name: label,
              number: ({ values }) => values.get(label) ?? "–",
            }),
          ),
        ]}
      />
    </details>
  );
}
