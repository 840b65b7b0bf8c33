import type { CodeGrade } from "../../sandbox/grading/grade-code.ts";
import type { TestVerdict } from "../../sandbox/grading/test-verdict.ts";
import { codeFeedback } from "../code-turns/code-feedback.ts";
import type { ClassCompletionOptions } from "./class-completion-options.ts";
import type { ClassTask } from "./class-task.ts";
import type { MergedClass } from "./merge-class.ts";

/**
 * What one agent reads after a turn: on its own reply and methods, and on the visible tests of the whole class. It sees
 * neither what others wrote nor how they did.
 */
export function classFeedback(
  options: Pick<ClassCompletionOptions, "mode" | "sandboxSlice">,
  report: {
    readonly task: ClassTask;
    /** The place of the agent's reply. */
    readonly place: number;
    readonly own: readonly string[];
    readonly merged: MergedClass;
    readonly grade: CodeGrade;
    readonly visible: readonly TestVerdict[] | undefined;
  },
): string {
  const { task, place, own, merged, grade, visible } = report;
  const { error, line, overlap } = merged.replies[place]!;
  const wrong = own.flatMap((name) => {
    const why = merged.methods[name];
    return why === null || why === "not written" ? [] : [`\`${name}\` is left out: ${why}.`];
  });
  return codeFeedback(options, {
    grade,
    visible: visible?.map((verdict) => named(task, verdict)),
    syntaxProblem: error === null ? null : `${error}${line === null ? "" : `, line ${line}`}`,
    definitions: own.map((name) => ({ name, found: merged.methods[name] === null })),
    checks: [
      ...wrong.map((detail) => ({ name: "Bodies", ok: false, detail })),
      ...(overlap.length === 0
        ? []
        : [{ name: "Only your methods", ok: false, detail: `Others write ${overlap.join(", ")}: leave that out.` }]),
    ],
  });
}

/** A verdict that calls its test by its source. */
function named({ tests }: ClassTask, verdict: TestVerdict): TestVerdict {
  const { text, owner } = tests.find(({ owner, name }) => verdict.called === `_run_test(${owner}, "${name}")`) ?? {};
  return text === undefined ? verdict : { ...verdict, called: `this test of ${owner}:\n${text}\nIt` };
}
