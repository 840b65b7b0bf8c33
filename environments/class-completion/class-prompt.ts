import { fenced } from "../shared/code-turns/code-block.ts";
import type { ClassTask } from "./class-task.ts";

/** Returns an agent's first prompt: the class and the methods that the agent writes. */
export function classPrompt(options: {
  readonly task: ClassTask;
  readonly own: readonly string[];
  readonly agents: number;
}): string {
  const { task, own, agents } = options;
  const alone = agents === 1 ? "" : " Other agents write the others at the same time; leave those out.";
  return [
    `A Python class is to be completed:\n\n${fenced("python", task.skeleton)}`,
    `Write ${namedMethods(own)}.${alone} ${answer}`,
  ].join("\n\n");
}

/** Returns the end of the prompt of a later turn. */
export function classRevisionAsk(own: readonly string[]): string {
  return `Revise ${namedMethods(own)}. ${answer}`;
}

const answer =
  "Answer with one code block that contains these methods as complete functions, and the imports and helper functions that they need.";

function namedMethods(names: readonly string[]): string {
  const quoted = names.map((name) => `\`${name}\``);
  const last = quoted.at(-1)!;
  return quoted.length === 1 ? `the method ${last}` : `the methods ${quoted.slice(0, -1).join(", ")} and ${last}`;
}
