import { formatCount, formatDuration, formatNumber } from "./format.ts";
import { frozenAgents } from "./frozen-agents.ts";
import { learningRateText } from "./learning-rate-text.ts";
import { evaluationSummary, type MetricSummary, stepSummary } from "./metric-summary.ts";
import { probeLines } from "./probe-text.ts";
import { truncateText } from "./terminal-text.ts";
import type { TrainingEvent } from "./training-event.ts";
import { visibleLine } from "./visible-text.ts";

/** An event as a line for a log, a probe as several: no colour, no control characters, whatever a model wrote. */
export function plainLine(event: TrainingEvent): string {
  switch (event.type) {
    case "run-start": {
      const { name, trainableParameters, device } = event.model;
      const resumed = event.resumedFrom > 0 ? `, resumed from step ${event.resumedFrom}` : "";
      const more = [...frozenAgents(event), ...learningRateText(event)].map((text) => `, ${text}`);
      return visibleLine(
        `run: ${event.algorithm} on ${event.environment}, ${name} (${formatCount(trainableParameters)} trainable ` +
          `parameters, ${device})${more.join("")}, ${event.steps} steps, seed ${event.seed}${resumed}`,
      );
    }
    case "probe":
      return probeLines(event).join("\n");
    case "step":
      return join([
        `step ${event.step}/${event.steps}`,
        ...words(stepSummary(event.metrics)),
        ...(event.step < event.steps ? [`eta ${formatDuration(event.etaMs)}`] : []),
      ]);
    case "sample": {
      const reward = event.reward === undefined ? [] : [`reward ${formatNumber(event.reward)}`];
      const prompt = truncateText(visibleLine(event.prompt), 200);
      const completion = truncateText(visibleLine(event.completion), 400);
      const what = event.demonstration === true ? "demonstration" : "sample";
      return join([`${what} at step ${event.step}`, ...reward, `${prompt} → ${completion}`]);
    }
    case "evaluation":
      return join([
        `evaluation of ${visibleLine(event.split)} at step ${event.step}`,
        ...words(evaluationSummary(event.metrics)),
      ]);
    case "checkpoint":
      return `checkpoint at step ${event.step}: ${visibleLine(event.path)}`;
    case "warning":
      return `${event.check === undefined ? "warning" : "health"} at step ${event.step}: ${visibleLine(event.message)}`;
    case "run-end": {
      const error = event.error === undefined ? "" : `: ${visibleLine(event.error.message)}`;
      return `${event.reason} at step ${event.step} after ${formatDuration(event.elapsedMs)}${error}`;
    }
  }
}

function words(summaries: readonly MetricSummary[]): string[] {
  return summaries.map(({ label, value }) => `${visibleLine(label)} ${value}`);
}

function join(parts: readonly string[]): string {
  return parts.join("  ");
}
