import { formatCount, formatDuration } from "../../src/core/text/format-numbers.ts";
import { visibleLine } from "../../src/core/text/visible-text.ts";
import { type ActivityProgress, progressText } from "../../src/core/training-progress.ts";
import { frozenAgents } from "./frozen-agents.ts";
import { learningRateText } from "./learning-rate-text.ts";
import { evaluationSummary, type MetricSummary, rewardSummary, updateSummary } from "./metric-summary.ts";
import { sampleActions, sampleRewards } from "./sample-text.ts";
import { sparkline } from "./sparkline.ts";
import { displayWidth, renderLine, type Span, span, wrapText } from "./terminal-text.ts";
import type { TrainingViewState } from "./training-state.ts";

/** The options of {@link trainingFrame}. */
export interface FrameOptions {
  /** The number of terminal columns. No line is longer. */
  readonly width: number;
  readonly color: boolean;
  /** The time since the first event in milliseconds. It advances during a long step. */
  readonly elapsedMs: number;
  /** True if the user asked the run to stop. */
  readonly stopping: boolean;
  /** The current activity of the run. */
  readonly progress?: ActivityProgress | undefined;
}

/** Returns the live view of a run as lines. It is a pure function of the state, so it can be tested. */
export function trainingFrame(state: TrainingViewState, options: FrameOptions): string[] {
  const { width } = options;
  const lines: Span[][] = [
    ...titleLines(state),
    progressLine(state, options),
    ...activityLine(options),
    ...trendLine(state, width),
    ...metricLines(state.step === undefined ? [] : rewardSummary(state.step.metrics), width),
    ...evaluationLine(state),
    ...metricLines(state.step === undefined ? [] : updateSummary(state.step.metrics), width),
    ...sampleLines(state, width),
    ...statusLines(state, options),
  ];
  return lines.map((spans) => renderLine(spans, options));
}

function titleLines({ start }: TrainingViewState): Span[][] {
  if (start === undefined) return [[span("setting up", "bold")]];
  const { name, trainableParameters, device } = start.model;
  return [
    [
      span(visibleLine(start.algorithm), "bold"),
      span(" on ", "dim"),
      span(visibleLine(start.environment), "bold"),
      span(
        visibleLine(
          [
            ` · ${name}`,
            `${formatCount(trainableParameters)} trainable`,
            device,
            ...frozenAgents(start),
            ...learningRateText(start),
            `seed ${start.seed}`,
          ].join(" · "),
        ),
        "dim",
      ),
    ],
  ];
}

function progressLine({ start, step, end }: TrainingViewState, { width, elapsedMs }: FrameOptions): Span[] {
  const done = step?.step ?? start?.resumedFrom ?? 0;
  const total = step?.steps ?? start?.steps ?? 0;
  const share = total > 0 ? Math.min(1, done / total) : 0;
  const count = `step ${done}/${total} `;
  const sinceStep = step === undefined ? 0 : elapsedMs - step.elapsedMs;
  const eta = step === undefined ? "" : ` eta ${formatDuration(Math.max(0, step.etaMs - Math.max(0, sinceStep)))}`;
  const clock =
    end === undefined
      ? `${eta}${eta === "" ? " " : " · "}${formatDuration(elapsedMs)}`
      : ` ${formatDuration(end.elapsedMs)}`;
  const percent = ` ${String(Math.floor(share * 100)).padStart(3)}%`;
  const room = Math.min(40, width - displayWidth(count) - displayWidth(percent) - displayWidth(clock));
  const filled = Math.round(share * Math.max(0, room));
  return [
    span(count, "bold"),
    ...(room >= 6 ? [span("━".repeat(filled), "green"), span("─".repeat(room - filled), "dim")] : []),
    span(percent),
    span(clock, "dim"),
  ];
}

function activityLine({ progress }: FrameOptions): Span[][] {
  return progress === undefined ? [] : [[span(progressText(progress), "dim")]];
}

/** Returns the reward over the last steps, or the loss if the reward does not vary, as with demonstrations. */
function trendLine({ rewards, losses }: TrainingViewState, width: number): Span[][] {
  const [label, values] = new Set(rewards).size > 1 || losses.length < 2 ? ["reward", rewards] : ["loss", losses];
  if (values.length < 2) return [];
  const room = Math.min(60, width - displayWidth(label) - 1);
  return [[span(`${label} `, "dim"), span(sparkline(values, room), "cyan")]];
}

/** Returns pairs of label and value, as many on a line as fit. A pair is never split. */
function metricLines(summaries: readonly MetricSummary[], width: number): Span[][] {
  const lines: Span[][] = [];
  let line: Span[] = [];
  let used = 0;
  for (const { label: name, value } of summaries) {
    const label = visibleLine(name);
    const size = displayWidth(label) + displayWidth(value) + 1;
    const gap = line.length === 0 ? 0 : 3;
    if (line.length > 0 && used + gap + size > width) {
      lines.push(line);
      line = [];
      used = 0;
    }
    if (line.length > 0) line.push(span(" · ", "dim"));
    const odd = value === "NaN" || value.endsWith("Infinity");
    line.push(span(`${label} `, "dim"), span(value, odd ? "red" : "bold"));
    used += (line.length > 2 ? 3 : 0) + size;
  }
  return line.length === 0 ? lines : [...lines, line];
}

function evaluationLine({ evaluation }: TrainingViewState): Span[][] {
  if (evaluation === undefined) return [];
  const values = evaluationSummary(evaluation.metrics).map(({ label, value }) => `${label} ${value}`);
  return [
    [
      span("evaluation ", "dim"),
      span(values.join(" · "), "magenta"),
      span(visibleLine(` (${evaluation.split}, step ${evaluation.step})`), "dim"),
    ],
  ];
}

/** The maximum number of actions of a team in the block. */
const mostActions = 8;

function sampleLines({ sample }: TrainingViewState, width: number): Span[][] {
  if (sample === undefined) return [];
  const rewards = sampleRewards(sample).map((text) => ` · ${visibleLine(text)}`);
  const actions = sampleActions(sample);
  const shown = actions.slice(-mostActions);
  const omitted = actions.length - shown.length;
  const room = actions.length === 1 ? 3 : 1;
  const prompt = sample.conversation?.[0]?.text ?? sample.prompt;
  const block = (text: string, mark: string, style: "dim" | undefined, maximum: number): Span[][] =>
    wrapText(visibleLine(text.trim()), Math.max(1, width - 4), maximum).map((line, index) => [
      span(index === 0 ? `  ${mark} ` : "    ", "dim"),
      style === undefined ? span(line) : span(line, style),
    ]);
  return [
    [
      span(
        `${sample.demonstration === true ? "demonstration" : "sample"} of step ${sample.step}${rewards.join("")}`,
        "dim",
      ),
    ],
    ...lastLines(prompt).flatMap((line, index) => block(line, index === 0 ? "›" : " ", "dim", 1)),
    ...(omitted === 0 ? [] : block(`${omitted} earlier actions`, " ", "dim", 1)),
    ...shown.flatMap(({ who, text }) =>
      block(who === undefined ? text : `${who}: ${text.trim()}`, "‹", undefined, room),
    ),
  ];
}

/**
 * Returns the last lines of a prompt. Its end says more than its beginning, which all prompts of an environment share.
 * Its last line is often the answer format, with the question before it.
 */
function lastLines(text: string): string[] {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return lines.slice(-2);
}

function statusLines(
  { warning, warnings, troubles, checkpoint, end }: TrainingViewState,
  { stopping }: FrameOptions,
): Span[][] {
  const lines: Span[][] = [];
  if (checkpoint !== undefined) {
    lines.push([span(visibleLine(`checkpoint of step ${checkpoint.step} in ${checkpoint.path}`), "dim")]);
  }
  for (const { check, step, message } of troubles) {
    const style = check === "reward-hacking" ? "red" : "yellow";
    lines.push([span(`health, step ${step}: `, "dim"), span(visibleLine(message), style)]);
  }
  if (warning !== undefined) {
    const count = warnings === 1 ? "warning" : `${warnings} warnings, the last`;
    lines.push([span(`${count}: ${visibleLine(warning.message)}`, "yellow")]);
  }
  if (stopping && end === undefined) {
    lines.push([span("stopping: saving a checkpoint (Ctrl-C again quits at once)", "yellow")]);
  }
  return lines;
}
