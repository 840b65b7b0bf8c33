import type { ErrorData } from "../../contract/errors/index.ts";
import type { Json } from "../../contract/json.ts";

/** Adds the task and the turn to an environment's error. Returns other errors unchanged. */
export function addErrorContext(
  error: ErrorData,
  { task, turn }: { readonly task: string; readonly turn: number | undefined },
): ErrorData {
  const data = fieldsOf(error.data);
  const ofEnvironment = error.code.startsWith("environment.") || (error.code === "timeout" && "environment" in data);
  if (!ofEnvironment) return error;
  const place = turn === undefined ? `Task "${task}"` : `Task "${task}", turn ${turn}`;
  return {
    ...error,
    message: `${place}: ${error.message}`,
    data: { ...data, task, ...(turn === undefined ? {} : { turn }) },
  };
}

function fieldsOf(data: Json | undefined): { readonly [key: string]: Json } {
  return typeof data === "object" && data !== null && !Array.isArray(data) ? (data as { [key: string]: Json }) : {};
}
