import { stringify } from "yaml";
import type { SampleEvent } from "../../contract/training-event.ts";
import { formatCount, formatDuration, formatNumber } from "../../core/text/format.ts";
import { frozenAgents } from "./frozen-agents.ts";
import { type Html, html, trustedHtml } from "./html.ts";
import { htmlPage } from "./html-page.ts";
import { lineChart } from "./line-chart.ts";
import { evaluationSummary } from "./metric-summary.ts";
import { probeFacts } from "./probe-text.ts";
import { type ChartSection, reportCharts } from "./report-charts.ts";
import { reportScript } from "./report-script.ts";
import { reportStyle } from "./report-style.ts";
import type { RunRecord } from "./run-record.ts";
import { runTiles } from "./run-tiles.ts";
import { groupWarnings, type WarningGroup } from "./warning-group.ts";

const maximumSamples = 40;
const maximumSampleCharacters = 4000;

/**
 * Returns the report of a run as one self-contained HTML page: learning curves, evaluations, samples, config and facts.
 * It has no network access (its content security policy forbids it), runs only its own script, and is complete without
 * the script.
 */
export function htmlReport(record: RunRecord): string {
  const { start } = record;
  const title = start === undefined ? "Training run" : `${start.algorithm} on ${start.environment}`;
  const sections = reportCharts(record);
  const body = html`<nav><span class="brand">Lyceum</span><span class="soft">/</span><span>report</span></nav>
<main>
<header class="title"><h1>${title}</h1>${statusBadge(record)}</header>
${facts(record)}
${tiles(record)}
${errorPanel(record)}
${health(record)}
${sections.length === 0 ? html`<p class="note">No step or evaluation was recorded.</p>` : sections.map(chartSection)}
${evaluationTable(record)}
${probePanel(record)}
${samples(record)}
${warnings(record)}
${configPanel(record)}
</main>
<footer>Created by Lyceum from metrics.jsonl in the same folder.</footer>`;
  return htmlPage({ title, style: reportStyle, script: reportScript, body });
}

function chartSection({ title, charts, collapsed }: ChartSection): Html {
  const open = collapsed === true ? undefined : trustedHtml(" open");
  return html`<details class="section"${open}><summary><h2>${title}</h2> <span class="soft">${charts.length}</span></summary><div class="charts">${charts.map(lineChart)}</div></details>
`;
}

/**
 * Returns the status with the same words as the viewer. A report does not know whether an unfinished run is still
 * running.
 */
function statusBadge({ end }: RunRecord): Html {
  if (end === undefined) return html`<span class="status stopped">not ended</span>`;
  const status = end.reason === "aborted" ? "interrupted" : end.reason;
  return html`<span class="status ${status}">${status}</span>`;
}

function tiles(record: RunRecord): Html {
  return html`<section class="tiles">${runTiles(record).map(
    ({ label, value, note }) =>
      html`<div class="tile"><span class="soft">${label}</span><b>${value}</b><small class="soft">${note}</small></div>`,
  )}</section>`;
}

function errorPanel({ end }: RunRecord): Html | undefined {
  if (end?.error === undefined || end.reason !== "failed") return undefined;
  const { message, hint, code } = end.error;
  return html`<div class="problem"><b>${code}</b> ${message}${
    hint === undefined ? undefined : html`<p>${hint}</p>`
  }</div>`;
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

/** Returns the rewards of a few tasks before the first step. */
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

function sampleCard({ step, agent, prompt, messages, completion, reward, demonstration }: SampleEvent): Html {
  const read = messages ?? [{ role: "prompt", text: prompt }];
  return html`<article class="sample"><header><span>step ${formatNumber(step)}</span>${
    agent === undefined ? undefined : html`<span>${agent}</span>`
  }${reward === undefined ? undefined : html`<span>reward ${formatNumber(reward)}</span>`}${
    demonstration === true ? html`<span>demonstration</span>` : undefined
  }</header>
${read.map(({ role, text }) => html`<div><span>${role}</span><pre class="soft">${clip(text)}</pre></div>\n`)}<div class="completion"><span>${
    messages === undefined ? "completion" : "assistant"
  }</span><pre>${completion === "" ? "(empty)" : clip(completion)}</pre></div></article>
`;
}

/** Returns the warnings of the health checks in the order of steps. */
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
    ["model", start?.model.name],
    ["frozen agents", start === undefined ? undefined : frozenAgents(start).join(", ") || undefined],
    ["trainable", start && formatCount(start.model.trainableParameters)],
    ["device", start?.model.device],
    ["seed", start === undefined ? undefined : String(start.seed)],
    ["started", startedAt?.slice(0, 16).replace("T", " ")],
    ["time", elapsedMs > 0 ? formatDuration(elapsedMs) : undefined],
    ["resumed", resumptions === 0 ? undefined : resumptions === 1 ? "once" : `${resumptions} times`],
    ["tokens sampled", sampled > 0 ? formatCount(sampled) : undefined],
    ["tokens trained on", trained > 0 ? formatCount(trained) : undefined],
    ["last checkpoint", end?.checkpoint ?? checkpoints.at(-1)?.path],
  ];
  if (rows.every(([, value]) => value === undefined)) return undefined;
  return html`<dl class="facts">${rows.map(([label, value]) =>
    value === undefined ? undefined : html`<div><dt>${label}</dt><dd>${value}</dd></div>\n`,
  )}</dl>`;
}

function clip(text: string): string {
  const rest = text.length - maximumSampleCharacters;
  return rest <= 0 ? text : `${text.slice(0, maximumSampleCharacters)}… ${formatNumber(rest)} more characters`;
}

/** Returns at most `count` items at even distances, including the first and the last. */
function spreadOut<T>(items: readonly T[], count: number): T[] {
  if (items.length <= count) return [...items];
  return Array.from({ length: count }, (_, i) => items[Math.round((i * (items.length - 1)) / (count - 1))]!);
}
