import type { TestVerdict } from "../../sandbox/grading/test-verdict.ts";
import { codeFeedback, errorText } from "../shared/code-turns/code-feedback.ts";
import { programProblem } from "../shared/code-turns/program-problem.ts";
import type { VisibleRun } from "../shared/code-turns/visible-run.ts";
import type { ClassCompletionOptions } from "./class-completion-options.ts";
import type { ClassTask } from "./class-task.ts";
import type { AgentLoads } from "./load-each-agent.ts";
import { type MergedClass, mergeClass } from "./merge-class.ts";

/**
 * Returns the feedback for one agent after a turn: on its own reply and methods, and on the visible tests of the whole
 * class. It contains neither the replies of other agents nor their results.
 */
export function classFeedback(
  options: Pick<ClassCompletionOptions, "mode" | "sandboxSlice">,
  report: {
    readonly task: ClassTask;
    /** The index of the agent's reply. */
    readonly place: number;
    readonly own: readonly string[];
    readonly merged: MergedClass;
    /** True if every test passed, including the hidden ones. */
    readonly passed: boolean;
    readonly visible: VisibleRun | undefined;
    /** For each reply, the result of loading the class with that reply alone. */
    readonly loads: readonly AgentLoads[];
  },
): string {
  const { task, place, own, merged, passed, visible, loads } = report;
  const { error, line, overlap } = merged.replies[place]!;
  const ownLoad = loads[place]!;
  const problem = ownLoad.loads ? {} : { problem: errorText(ownLoad.error, 0) };
  const wrong = own.flatMap((name) => {
    const why = merged.methods[name];
    return why === null || why === "not written" ? [] : [`\`${name}\` is left out: ${why}.`];
  });
  return codeFeedback(options, {
    passed,
    visible: visible && { ...visible, verdicts: visible.verdicts.map((verdict) => named(task, verdict)) },
    syntaxProblem: error === null ? null : `${error}${line === null ? "" : `, line ${line}`}`,
    definitions: own.map((name) => {
      const isWritten = merged.methods[name] === null;
      return { name, found: isWritten && ownLoad.loads, ...(isWritten ? problem : {}) };
    }),
    programProblem: programProblem(visible?.loadError, {
      ownLoads: ownLoad.loads,
      allLoad: loads.every(({ loads }) => loads),
    }),
    checks: [
      ...wrong.map((detail) => ({ name: "Bodies", ok: false, detail })),
      ...(overlap.length === 0
        ? []
        : [
            {
              name: "Only your methods",
              ok: false,
              detail: `Other agents write ${overlap.join(", ")}. Leave that out.`,
            },
          ]),
    ],
  });
}

/**
 * Returns the feedback for each agent if Python did not finish merging the replies: whether its own reply or another
 * agent's is the cause. Rejects with the errors of `mergeClass`.
 */
export async function unreadableFeedback(parts: Parameters<typeof mergeClass>[0]): Promise<readonly string[]> {
  const { replies } = parts;
  const readable = await Promise.all(
    replies.map(async (_, place) => {
      const own = replies.map((text, i) => (i === place ? text : ""));
      return replies.length > 1 && (await mergeClass({ ...parts, replies: own })) !== undefined;
    }),
  );
  return readable.map((isReadable) =>
    isReadable
      ? "Syntax: ok\nThe class could not be merged because of another agent's code."
      : "Syntax: not ok (the reply cannot be read as Python)",
  );
}

/** Returns a verdict that shows the source code of its test. */
function named({ tests }: ClassTask, verdict: TestVerdict): TestVerdict {
  const { text, owner } = tests.find(({ owner, name }) => verdict.called === `_run_test(${owner}, "${name}")`) ?? {};
  return text === undefined ? verdict : { ...verdict, called: `this test of ${owner}:\n${text}\nIt` };
}
