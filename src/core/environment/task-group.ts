import { describeValue } from "../../contract/describe-value.ts";
import type { EnvironmentDefinition } from "../../contract/environment.ts";
import { visibleLine } from "../text/visible-text.ts";
import { contractError, environmentFailure } from "./environment-error.ts";

/** The number of characters of a group's name that are shown. */
const longestName = 64;

/**
 * Returns the group of a task (`groupOf`) as one short line without control characters. Returns undefined if it has
 * none. Throws `environment.contract` if the environment returns anything but a text, and `environment.failed` if it
 * throws.
 */
export function taskGroup<Task>(
  environment: Pick<EnvironmentDefinition<Task>, "spec" | "groupOf">,
  task: Task,
): string | undefined {
  const place = { environment: environment.spec.id, by: environment.groupOf };
  let group: unknown;
  try {
    group = environment.groupOf?.(task);
  } catch (error) {
    throw environmentFailure({ ...place, call: "groupOf", error });
  }
  if (group === undefined) return undefined;
  if (typeof group !== "string" || group.trim() === "") {
    throw contractError({
      ...place,
      problem: `returned ${describeValue(group)} from groupOf`,
      rule: "Return the name of the task's group as a short text, or undefined if it has none. groupOf cannot be async.",
    });
  }
  const characters = [...visibleLine(group.slice(0, 4 * longestName))];
  return characters.length > longestName ? `${characters.slice(0, longestName - 1).join("")}…` : characters.join("");
}
