import { fenced } from "../shared/code-turns/code-block.ts";
import { visibleTests } from "../shared/code-turns/visible-tests.ts";
import type { BugFixTask } from "./bug-fix-task.ts";
import type { PlantedBug } from "./plant-bug.ts";

/** The answer format of a repair. */
const answer = "Answer with one code block that contains the whole repaired program.";

/** Returns the fixer's first prompt. `finding` is the finder's message. */
export function fixerPrompt(options: {
  readonly task: BugFixTask;
  readonly bug: PlantedBug;
  readonly finding?: string;
}): string {
  const { task, bug, finding } = options;
  return [
    statement(task, bug.program),
    failures(bug),
    ...(finding === undefined ? [] : [`Another agent has read the program and says:\n\n${quoted(finding)}`]),
    `Repair it with as few changes as possible. ${answer}`,
  ].join("\n\n");
}

/** The end of a fixer's later prompts. */
export const fixerAsk: string = `Repair the program with as few changes as possible. ${answer}`;

/** Returns the finder's prompt. */
export function finderPrompt({ task, bug }: { readonly task: BugFixTask; readonly bug: PlantedBug }): string {
  const lines = bug.program.trimEnd().split("\n");
  const numbered = lines.map((line, i) => `${String(i + 1).padStart(3)} | ${line}`.trimEnd()).join("\n");
  return [
    statement(task, bug.program),
    `Its lines, numbered:\n\n\`\`\`text\n${numbered}\n\`\`\``,
    failures(bug),
    "Find the wrong line. Explain the mistake in a few words to another agent that will repair it, and end with `Line: <number>`.",
  ].join("\n\n");
}

/** Returns the line that a finder named: the last number after the word "line". Returns undefined if there is none. */
export function namedLine(reply: string): number | undefined {
  const number = [...reply.matchAll(/\bline\b[^\w\n]{0,4}(\d{1,6})(?!\d)/gi)].at(-1)?.[1];
  return number === undefined ? undefined : Number(number);
}

function statement({ problem, description }: BugFixTask, program: string): string {
  const purpose = description === undefined ? "" : ` It should do this: ${description}`;
  return `There is a bug in this Python program, whose tests call \`${problem.entryPoint}\`.${purpose}\n\n${fenced("python", program)}`;
}

/** Returns the visible tests, all of which fail, with their results. */
function failures({ suite, grade }: PlantedBug): string {
  const shown = visibleTests(suite);
  if (shown.length === 0) return "It does not pass its tests. They are not shown.";
  const lines = shown.map(({ index, text }) => {
    const { got, error } = grade.tests[index]!;
    const saw =
      error === undefined ? (got === undefined ? "" : `gave ${got}`) : `raised ${error.type}: ${error.message}`;
    return saw === "" ? text : `${text}  # ${saw.replace(/\s+/g, " ").slice(0, 300)}`;
  });
  return `${shown.length === 1 ? "This test fails" : "These tests fail"}, and others may fail too:\n\n${fenced("python", lines.join("\n"))}`;
}

/** Quotes another agent's text and cuts it at 2,000 characters. */
function quoted(text: string): string {
  const cut = text.trim().slice(0, 2_000);
  return cut
    .split(/\r?\n/)
    .map((line) => `> ${line}`.trimEnd())
    .join("\n");
}
