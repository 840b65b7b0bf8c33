import { readLogicalLines } from "../../sandbox/grading/python/python-tokens.ts";
import type { CodeProblem } from "../shared/code-benchmarks/code-problem.ts";
import { helpersOf } from "../shared/code-benchmarks/human-eval.ts";
import { fenced, languageNames } from "../shared/code-turns/code-block.ts";
import { visibleTests } from "../shared/code-turns/visible-tests.ts";

/** Returns the answer format. */
function answerOf(name: string): string {
  return `one code block that holds the whole function \`${name}\`, and its imports and helpers`;
}

/** Returns the first prompt of a single agent: the task and the answer format. */
export function codePrompt(problem: CodeProblem): string {
  return `${assignment(problem)}\n\nAnswer with ${answerOf(problem.entryPoint)}.`;
}

/** Returns the instruction of an agent that writes the answer to a file. */
export function codeInstruction(problem: CodeProblem, file: string): string {
  const { entryPoint } = problem;
  return `${assignment(problem)}\n\nWrite the whole function \`${entryPoint}\`, and its imports and helpers, to the file \`${file}\`.`;
}

/** Returns the first prompt of the agent that writes the function while another agent writes `aux`. */
export function mainPrompt(problem: CodeProblem): string {
  const { entryPoint } = problem;
  return [
    assignment(problem),
    `At the same time, another programmer writes a helper function \`aux\` for this problem. You know only its name. It is defined when \`${entryPoint}\` runs. Call \`aux(...)\` if it may help, and use its result. Do not define \`aux\` yourself.`,
    `Answer with ${answerOf(entryPoint)}.`,
  ].join("\n\n");
}

/** Returns the first prompt of the agent that writes `aux`. */
export function auxPrompt({ prompt, entryPoint, suite }: CodeProblem): string {
  const { language } = suite;
  const isSource = startsFunction(prompt, entryPoint, language);
  return [
    `Another programmer solves this problem in ${languageNames[language]}, and you help:`,
    isSource ? fenced(language, prompt) : `${prompt.trim()}${examples(suite)}`,
    `The other programmer writes the function \`${entryPoint}\` at the same time and does not see your code. Write a function \`aux\` that does a part of the work of \`${entryPoint}\`. \`${entryPoint}\` will call \`aux(...)\` and knows only its name, so choose the parameters that \`${entryPoint}\` would naturally pass, and return what it needs. Do not write \`${entryPoint}\`.`,
    `Answer with ${answerOf("aux")}.`,
  ].join("\n\n");
}

/** Returns the end of the prompt of a later turn. */
export function revisionAsk(name: string): string {
  return `Revise \`${name}\`. Answer with ${answerOf(name)}.`;
}

/**
 * Returns the code that runs before an agent's code: the definitions before the function in a Python prompt, such as
 * imports and helpers.
 */
export function promptHelpers({ prompt, entryPoint, suite }: CodeProblem): string {
  return suite.language === "python" ? helpersOf(prompt, entryPoint) : "";
}

/** Returns the task. A problem in words is followed by its visible tests. */
function assignment({ prompt, entryPoint, suite }: CodeProblem): string {
  const { language } = suite;
  if (startsFunction(prompt, entryPoint, language)) {
    return `Complete the ${languageNames[language]} function \`${entryPoint}\`:\n\n${fenced(language, prompt)}`;
  }
  return `${prompt.trim()}\n\nWrite it in ${languageNames[language]}, as the function \`${entryPoint}\`.${examples(suite)}`;
}

/** Returns true if a prompt is the beginning of the function's source code, not a sentence that names it. */
function startsFunction(prompt: string, entryPoint: string, language: CodeProblem["suite"]["language"]): boolean {
  if (language !== "python") {
    return prompt.includes(`function ${entryPoint}(`) || prompt.includes(`const ${entryPoint} =`);
  }
  const lines = readLogicalLines(prompt) ?? [];
  return lines.some(({ tokens }) => {
    const [first, second, third] = tokens;
    const name = first?.text === "async" ? third : second;
    return (first?.text === "def" || second?.text === "def") && name?.text === entryPoint;
  });
}

function examples(suite: CodeProblem["suite"]): string {
  const lines = visibleTests(suite).map(({ text }) => text);
  return lines.length === 0 ? "" : ` For example:\n\n${fenced(suite.language, lines.join("\n"))}`;
}
