import type { ProbeEvent } from "../../src/contract/training-event.ts";
import { formatDuration, formatNumber, formatPercent } from "../../src/core/text/format-numbers.ts";
import { visibleLine } from "../../src/core/text/visible-text.ts";
import { sampleActions, sampleRewards } from "./sample-text.ts";
import { truncateText, wrapText } from "./terminal-text.ts";

/** Returns the results of a probe as lines of at most `width` columns: its numbers, samples and advice. */
export function probeLines(event: ProbeEvent, width: number = Number.POSITIVE_INFINITY): string[] {
  const { samples, advice } = event;
  const sampleLines = samples.flatMap((sample) => {
    const rewards = sampleRewards(sample).map((text) => `, ${visibleLine(text)}`);
    const asked = lastCharacters(visibleLine((sample.conversation?.[0]?.text ?? sample.prompt).trim()), 120);
    const actions = sampleActions(sample).map(({ who, text }) => {
      return truncateText(visibleLine(`${who === undefined ? "" : `${who}: `}${text.trim()}`), 200);
    });
    return indented(`sample${rewards.join("")}: ${[asked, ...actions].join(" → ")}`, width);
  });
  return [
    ...wrapText(`probe: ${probeFacts(event).join(", ")}`, width),
    ...sampleLines,
    ...advice.flatMap((text) => indented(`try: ${visibleLine(text)}`, width)),
  ];
}

/** Returns texts such as `1 of 4 groups has a signal`, `mean reward 0.03`, `90.6% of the completions cut off`. */
export function probeFacts({ groups, withSignal, comparison, metrics, elapsedMs }: ProbeEvent): string[] {
  const share = (name: string, what: string): string[] =>
    metrics[name] === undefined ? [] : [`${formatPercent(metrics[name])} ${what}`];
  const episodes = formatNumber(metrics["episodes/count"] ?? 0);
  const signal =
    comparison === "group"
      ? `${withSignal} of ${groups} groups ${withSignal === 1 ? "has" : "have"} a signal`
      : withSignal > 0
        ? "rewards differ, which is a signal"
        : "no signal: all rewards are equal";
  const { "reward/mean": reward, "reward/std": deviation } = metrics;
  return [
    signal,
    ...(reward === undefined
      ? []
      : [`reward ${formatNumber(reward)}${deviation === undefined ? "" : ` ±${formatNumber(deviation)}`}`]),
    ...share("length/cut-off", "of the completions cut off"),
    ...share("groups/duplicates", "identical to another of their group"),
    `${episodes} episodes in ${formatDuration(elapsedMs)}`,
  ];
}

function indented(text: string, width: number): string[] {
  return wrapText(text, Math.max(1, width - 4)).map((line, index) => `${index === 0 ? "  " : "    "}${line}`);
}

/** Returns the end of a prompt, which says more than the beginning that all prompts of an environment share. */
function lastCharacters(text: string, count: number): string {
  const characters = [...text];
  return characters.length <= count ? text : `…${characters.slice(-count + 1).join("")}`;
}
