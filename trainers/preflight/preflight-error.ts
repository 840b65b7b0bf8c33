import { LyceumError } from "../../src/contract/errors/index.ts";
import type { PreflightEvent } from "../../src/contract/training-event.ts";

/** Throws `preflight.failed` with each failed check, its cause first in the hint. */
export function throwIfFailed({ checks }: PreflightEvent): void {
  const wrong = checks.filter(({ status }) => status === "failed");
  if (wrong.length === 0) return;
  const causes = [...new Set(wrong.flatMap(({ cause }) => (cause === undefined ? [] : [cause])))];
  throw new LyceumError({
    code: "preflight.failed",
    message: `The preflight found that the run would not learn from what it samples: ${wrong.map(textOf).join("; ")}.`,
    hint: `${causes.join(" ")} To train nevertheless, set preflight: false.`,
    data: { checks: wrong.map((check) => ({ ...check })) },
  });
}

function textOf({ name, learner, detail }: PreflightEvent["checks"][number]): string {
  return `${name}${learner === undefined ? "" : ` of ${learner}`}: ${detail}`;
}
