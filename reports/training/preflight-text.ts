import type { PreflightEvent } from "../../src/contract/training-event.ts";
import { formatDuration } from "../../src/core/text/format-numbers.ts";
import { visibleLine } from "../../src/core/text/visible-text.ts";
import { wrapText } from "./terminal-text.ts";

/** Returns the result of a preflight as lines of at most `width` columns: one line if all checks passed. */
export function preflightLines(event: PreflightEvent, width: number = Number.POSITIVE_INFINITY): string[] {
  const { checks, elapsedMs } = event;
  const count = (status: PreflightEvent["checks"][number]["status"]): number =>
    checks.filter((check) => check.status === status).length;
  const counts = (["passed", "failed", "skipped"] as const)
    .filter((status) => count(status) > 0)
    .map((status) => `${count(status)} ${status}`);
  const notable = checks.filter(({ status }) => status !== "passed");
  return [
    ...wrapText(`preflight: ${counts.join(", ")} in ${formatDuration(elapsedMs)}`, width),
    ...notable.flatMap((check) => checkLines(check, width)),
  ];
}

/** Returns the lines of every check, for a command that only makes them. */
export function preflightReport(event: PreflightEvent, width: number = Number.POSITIVE_INFINITY): string[] {
  const [summary] = preflightLines({ ...event, checks: event.checks }, width);
  return [...event.checks.flatMap((check) => checkLines(check, width)), summary!];
}

function checkLines(
  { name, status, detail, cause, learner }: PreflightEvent["checks"][number],
  width: number,
): string[] {
  const subject = learner === undefined ? name : `${name} of ${learner}`;
  const text = `${status}  ${subject}: ${detail}${cause === undefined ? "" : `. ${cause}`}`;
  return wrapText(visibleLine(text), Math.max(1, width - 4)).map(
    (line, index) => `${index === 0 ? "  " : "    "}${line}`,
  );
}
