import type { CodeProblem } from "../code-benchmarks/code-problem.ts";
import { helpersOf } from "../code-benchmarks/human-eval.ts";
import { fenced, languageNames } from "../code-turns/code-block.ts";
import { visibleTests } from "../code-turns/visible-tests.ts";

/** How an answer looks. */
const answer = "one code block that holds the whole function, and its imports and helpers";

/** The first prompt: what is to be written, and how to answer. A problem in words comes with its visible tests. */
export function codePrompt({ prompt, entryPoint, suite }: CodeProblem): string {
  const { language } = suite;
  const isSource = prompt.includes(`${entryPoint}(`);
  const task = isSource
    ? `Complete the ${languageNames[language]} function \`${entryPoint}\`:\n\n${fenced(language, prompt)}`
    : `${prompt.trim()}\n\nWrite it in ${languageNames[language]}, as the function \`${entryPoint}\`.${examples(suite)}`;
  return `${task}\n\nAnswer with ${answer}.`;
}

/** What ends the prompt of a later turn. */
export function codeRevisionAsk({ entryPoint }: CodeProblem): string {
  return `Revise \`${entryPoint}\`. Answer with ${answer}.`;
}

/** What is run before an agent's code: what a Python prompt defines before the function (imports, helpers). */
export function promptHelpers({ prompt, entryPoint, suite }: CodeProblem): string {
  return suite.language === "python" ? `${helpersOf(prompt, entryPoint)}\n` : "";
}

function examples(suite: CodeProblem["suite"]): string {
  const lines = visibleTests(suite).map(({ text }) => text);
  return lines.length === 0 ? "" : ` For example:\n\n${fenced(suite.language, lines.join("\n"))}`;
}
