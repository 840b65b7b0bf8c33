import { match } from "ts-pattern";
import type { RunStartEvent, SampleEvent, TrainingEvent } from "../../src/contract/training-event.ts";
import { formatCount, formatDuration } from "../../src/core/text/format-numbers.ts";
import { visibleLine } from "../../src/core/text/visible-text.ts";
import { frozenAgents } from "./frozen-agents.ts";
import { learningRateText } from "./learning-rate-text.ts";
import { evaluationSummary, type MetricSummary, stepSummary } from "./metric-summary.ts";
import { preflightLines } from "./preflight-text.ts";
import { probeLines } from "./probe-text.ts";
import { sampleActions, sampleRewards } from "./sample-text.ts";
import { truncateText } from "./terminal-text.ts";

/**
 * Returns an event as a line for a log. A preflight and a probe have several lines. Control characters in a model's text are escaped.
 */
export function plainLine(event: TrainingEvent): string {
  return match(event)
    .with({ type: "run-start" }, runStartLine)
    .with({ type: "preflight" }, (preflight) => preflightLines(preflight).join("\n"))
    .with({ type: "probe" }, (probe) => probeLines(probe).join("\n"))
    .with({ type: "step" }, ({ step, steps, metrics, etaMs }) =>
      join([
        `step ${step}/${steps}`,
        ...words(stepSummary(metrics)),
        ...(step < steps ? [`eta ${formatDuration(etaMs)}`] : []),
      ]),
    )
    .with({ type: "sample" }, sampleLine)
    .with({ type: "evaluation" }, ({ split, opponent, step, metrics }) =>
      join([
        `evaluation of ${visibleLine(split)}${opponent === undefined ? "" : ` against ${visibleLine(opponent)}`} at step ${step}`,
        ...words(evaluationSummary(metrics)),
      ]),
    )
    .with({ type: "checkpoint" }, ({ step, path }) => `checkpoint at step ${step}: ${visibleLine(path)}`)
    .with({ type: "warning" }, ({ check, step, message }) => {
      return `${check === undefined ? "warning" : "health"} at step ${step}: ${visibleLine(message)}`;
    })
    .with({ type: "run-end" }, ({ reason, step, elapsedMs, error }) => {
      const because = error === undefined ? "" : `: ${visibleLine(error.message)}`;
      return `${reason} at step ${step} after ${formatDuration(elapsedMs)}${because}`;
    })
    .exhaustive();
}

function runStartLine(event: RunStartEvent): string {
  const { name, trainableParameters, device } = event.model;
  const resumed = event.resumedFrom > 0 ? `, resumed from step ${event.resumedFrom}` : "";
  const more = [...frozenAgents(event), ...learningRateText(event)].map((text) => `, ${text}`);
  return visibleLine(
    `run: ${event.algorithm} on ${event.environment}, ${name} (${formatCount(trainableParameters)} trainable ` +
      `parameters, ${device})${more.join("")}, ${event.steps} steps, seed ${event.seed}${resumed}`,
  );
}

function sampleLine(event: SampleEvent): string {
  const prompt = truncateText(visibleLine(event.conversation?.[0]?.text ?? event.prompt), 200);
  const actions = sampleActions(event).map(({ who, text }) => {
    return truncateText(visibleLine(who === undefined ? text : `${who}: ${text}`), 400);
  });
  const what = event.demonstration === true ? "demonstration" : "sample";
  const rewards = sampleRewards(event).map(visibleLine);
  return join([`${what} at step ${event.step}`, ...rewards, [prompt, ...actions].join(" → ")]);
}

function words(summaries: readonly MetricSummary[]): string[] {
  return summaries.map(({ label, value }) => `${visibleLine(label)} ${value}`);
}

function join(parts: readonly string[]): string {
  return parts.join("  ");
}
