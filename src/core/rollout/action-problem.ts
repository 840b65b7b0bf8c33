import type { Action } from "../../contract/action.ts";
import { messageProblem } from "../../contract/message-problem.ts";

const finishes: readonly unknown[] = ["stop", "length", "tool-calls", "error"] satisfies Action["finish"][];

/** Returns why a policy's action is invalid, as a phrase that follows "answered with". Undefined if it is valid. */
export function actionProblem(action: Action | undefined): string | undefined {
  const problem = messageProblem(action?.message);
  if (problem !== undefined) return `an action whose message ${problem}`;
  const { message, finish } = action!;
  if (message.role !== "assistant") return `an action in the role ${message.role}`;
  if (!finishes.includes(finish)) return `an action that finished by ${JSON.stringify(finish)}`;
  return undefined;
}
