import { stringify } from "yaml";
import { formatCount, formatDuration, formatNumber, formatPercent } from "./format.ts";
import { frozenAgents } from "./frozen-agents.ts";
import { type Html, html, trustedHtml } from "./html.ts";
import { htmlPage } from "./html-page.ts";
import { lineChart } from "./line-chart.ts";
import { evaluationSummary } from "./metric-summary.ts";
import { probeFacts } from "./probe-text.ts";
import { reportCharts } from "./report-charts.ts";
import { reportScript } from "./report-script.ts";
import { reportStyle } from "./report-style.ts";
import type { RunRecord } from "./run-record.ts";
import type { SampleEvent } from "./training-event.ts";
import { groupWarnings, type WarningGroup } from "./warning-group.ts";

const maximumSamples = 40;
const maximumSampleCharacters = 4000;

/**
 * A run as one self-contained HTML page: learning curves, evaluations, samples, config and facts. It loads nothing
 * from anywhere (its content security policy forbids it), runs no script but its own, and is complete without that.
 */
export function htmlReport(record: RunRecord): string {
  const { start } = record;
  const title = start === undefined ? "Training run" : `${start.algorithm} on ${start.environment}`;
  const charts = reportCharts(record);
  const body = html`<header>
<h1>${title} ${statusBadge(record)}</h1>
<p>${subtitle(record)}</p>
</header>
<main>
${tiles(record)}
${errorPanel(record)}
${health(record)}
<h2>Learning curves</h2>
${
  charts.main.length === 0
    ? html`<p class="panel">No step or evaluation was recorded.</p>`
    : html`<div class="charts">${charts.main.map(lineChart)}</div>`
}
${
  charts.other.length === 0
    ? undefined
    : html`<details><summary>All other metrics (${charts.other.length} charts)</summary><div class="charts">${charts.other.map(lineChart)}</div></details>`
}
${evaluationTable(record)}
${probePanel(record)}
${samples(record)}
${warnings(record)}
${configPanel(record)}
${facts(record)}
</main>
<footer>Made by Lyceum from metrics.jsonl, which lies beside this file.</footer>`;
  return htmlPage({ title, style: reportStyle, script: reportScript, body });
}

function statusBadge({ end }: RunRecord): Html {
  const words = { completed: "completed", aborted: "stopped early", failed: "failed" } as const;
  if (end === undefined) return html`<span class="status">unfinished</span>`;
  const look = end.reason === "completed" ? "good" : end.reason === "failed" ? "bad" : "";
  return html`<span class="status ${look}">${words[end.reason]}</span>`;
}

function subtitle({ start, startedAt }: RunRecord): string {
  const parts: string[] = [];
  if (start !== undefined) {
    const { name, trainableParameters, device } = start.model;
    parts.push(name, `${formatCount(trainableParameters)} trainable parameters`, device, `seed ${start.seed}`);
  }
  if (startedAt !== undefined) parts.push(startedAt.slice(0, 16).replace("T", " "));
  return parts.join(" · ");
}

function tiles(record: RunRecord): Html {
  const { steps, start, evaluations, elapsedMs } = record;
  const made: Html[] = [];
  const tile = (label: string, value: string, note = ""): void => {
    made.push(html`<div class="tile"><span>${label}</span><b>${value}</b><small>${note}</small></div>`);
  };
  const last = evaluations.at(-1);
  const first = evaluations.find(({ split }) => split === last?.split);
  const accuracy = last?.metrics.accuracy;
  if (last !== undefined && accuracy !== undefined) {
    const before = first === last ? undefined : first?.metrics.accuracy;
    const gain = before === undefined ? "" : `from ${formatPercent(before)} at step ${first!.step}`;
    tile(`Accuracy, ${last.split}`, formatPercent(accuracy), gain);
  }
  for (const [label, metric] of [
    ["Reward", "reward/mean"],
    ["Loss", "loss/total"],
  ] as const) {
    const values = steps.flatMap(({ metrics }) => (metrics[metric] === undefined ? [] : [metrics[metric]]));
    const [from, to] = [values[0], values.at(-1)];
    if (to !== undefined) tile(label, formatNumber(to), values.length > 1 ? `from ${formatNumber(from!)}` : "");
  }
  const speeds = steps.flatMap(
    ({ metrics }) => metrics["tokens/sampled-per-second"] ?? metrics["tokens/trained-per-second"] ?? [],
  );
  if (speeds.length > 0) tile("Tokens per second", formatCount(median(speeds)), "median");
  const done = steps.at(-1)?.step ?? 0;
  tile("Steps", formatNumber(done), start === undefined ? "" : `of ${formatNumber(start.steps)}`);
  if (elapsedMs > 0)
    tile("Time", formatDuration(elapsedMs), done > 0 ? `${formatDuration(elapsedMs / done)} a step` : "");
  return html`<section class="tiles">${made}</section>`;
}

function errorPanel({ end }: RunRecord): Html | undefined {
  if (end?.error === undefined || end.reason !== "failed") return undefined;
  const { message, hint, code } = end.error;
  return html`<h2>What went wrong</h2><div class="panel"><pre class="bad">${message}</pre>${
    hint === undefined ? undefined : html`<p>${hint}</p>`
  }<p class="soft">${code}</p></div>`;
}

function evaluationTable({ evaluations }: RunRecord): Html | undefined {
  if (evaluations.length === 0) return undefined;
  const rows = evaluations.map((evaluation) => ({
    evaluation,
    values: new Map(evaluationSummary(evaluation.metrics).map(({ label, value }) => [label, value])),
  }));
  const labels = [...new Set(rows.flatMap(({ values }) => [...values.keys()]))];
  return html`<h2>Evaluations</h2><div class="panel scroll"><table>
<thead><tr><th>split</th><th class="number">step</th>${labels.map((label) => html`<th class="number">${label}</th>`)}</tr></thead>
<tbody>${rows.map(
    ({
      evaluation,
      values,
    }) => html`<tr><td>${evaluation.split}</td><td class="number">${formatNumber(evaluation.step)}</td>${labels.map(
      (label) => html`<td class="number">${values.get(label) ?? "–"}</td>`,
    )}</tr>
`,
  )}</tbody></table></div>`;
}

/** What the rewards of a few tasks looked like before the first step. */
function probePanel({ probe }: RunRecord): Html | undefined {
  if (probe === undefined) return undefined;
  const advice = probe.advice.map((text) => html`<li>Try ${text}</li>`);
  return html`<h2>Before the first step</h2><div class="panel"><p>${probeFacts(probe).join(", ")}</p>${
    advice.length === 0 ? undefined : html`<ul class="warnings">${advice}</ul>`
  }</div><div class="samples">${probe.samples.map((sample) => sampleCard({ ...sample, type: "sample", step: 0 }))}</div>`;
}

function samples({ samples: all }: RunRecord): Html | undefined {
  if (all.length === 0) return undefined;
  const shown = spreadOut(all, maximumSamples).toReversed();
  const note = shown.length < all.length ? ` (${shown.length} of ${all.length})` : "";
  return html`<h2>Samples${note}</h2><div class="samples">${shown.map(sampleCard)}</div>`;
}

function sampleCard({ step, prompt, completion, reward, demonstration }: SampleEvent): Html {
  return html`<article class="sample"><header><span>step <b>${formatNumber(step)}</b></span>${
    reward === undefined ? undefined : html`<span>reward <b>${formatNumber(reward)}</b></span>`
  }${demonstration === true ? html`<span>demonstration</span>` : undefined}</header>
<pre class="prompt">${clip(prompt)}</pre>
<pre>${completion === "" ? "(empty)" : clip(completion)}</pre></article>
`;
}

/** What the checks of the run's health found, in order of steps. */
function health({ warnings: all }: RunRecord): Html | undefined {
  const found = all.filter(({ check }) => check !== undefined);
  if (found.length === 0) return undefined;
  const rows = found.slice(-100).map(
    ({ step, check, over, message }) => html`<tr><td class="number">step ${formatNumber(step)}</td><th${
      check === "reward-hacking" && over === undefined ? trustedHtml(' class="bad"') : undefined
    }>${check}</th><td>${message}</td></tr>
`,
  );
  return html`<h2>Health</h2><div class="panel scroll"><table class="health"><tbody>${rows}</tbody></table></div>`;
}

function warnings({ warnings: every }: RunRecord): Html | undefined {
  const all = every.filter(({ check }) => check === undefined);
  if (all.length === 0) return undefined;
  return html`<h2>Warnings</h2><div class="panel"><ul class="warnings">${groupWarnings(all)
    .slice(-100)
    .map((group) => html`<li>${warningPlace(group)}: ${group.message}</li>`)}</ul></div>`;
}

function warningPlace({ count, firstStep, lastStep }: WarningGroup): string {
  if (count === 1) return `step ${formatNumber(lastStep)}`;
  return `${formatNumber(count)} times from step ${formatNumber(firstStep)} to ${formatNumber(lastStep)}, the last`;
}

function configPanel({ config }: RunRecord): Html | undefined {
  if (config === undefined) return undefined;
  return html`<h2>Config</h2><div class="panel"><pre>${stringify(config, { lineWidth: 0 }).trimEnd()}</pre></div>`;
}

function facts(record: RunRecord): Html | undefined {
  const { start, end, steps, checkpoints, resumptions, startedAt, elapsedMs } = record;
  const trained = steps.reduce((sum, { metrics }) => sum + (metrics["tokens/trained"] ?? 0), 0);
  const sampled = steps.reduce((sum, { metrics }) => sum + (metrics["tokens/sampled"] ?? 0), 0);
  const rows: [label: string, value: string | undefined][] = [
    ["Algorithm", start?.algorithm],
    ["Environment", start?.environment],
    ["Model", start?.model.name],
    ["Frozen agents", start === undefined ? undefined : frozenAgents(start).join(", ") || undefined],
    ["Trainable parameters", start?.model.trainableParameters.toLocaleString("en-US")],
    ["Device", start?.model.device],
    ["Seed", start === undefined ? undefined : String(start.seed)],
    ["Started", startedAt],
    ["Working time", elapsedMs > 0 ? formatDuration(elapsedMs) : undefined],
    ["Resumed", resumptions === 0 ? undefined : resumptions === 1 ? "once" : `${resumptions} times`],
    ["Tokens sampled", sampled > 0 ? formatCount(sampled) : undefined],
    ["Tokens trained on", trained > 0 ? formatCount(trained) : undefined],
    ["Last checkpoint", end?.checkpoint ?? checkpoints.at(-1)?.path],
  ];
  if (rows.every(([, value]) => value === undefined)) return undefined;
  return html`<h2>Run</h2><div class="panel"><table class="facts"><tbody>${rows.map(([label, value]) =>
    value === undefined ? undefined : html`<tr><th>${label}</th><td>${value}</td></tr>\n`,
  )}</tbody></table></div>`;
}

function clip(text: string): string {
  const rest = text.length - maximumSampleCharacters;
  return rest <= 0 ? text : `${text.slice(0, maximumSampleCharacters)}… ${formatNumber(rest)} more characters`;
}

/** At most `count` items, evenly spread, with the first and the last. */
function spreadOut<T>(items: readonly T[], count: number): T[] {
  if (items.length <= count) return [...items];
  return Array.from({ length: count }, (_, i) => items[Math.round((i * (items.length - 1)) / (count - 1))]!);
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}
