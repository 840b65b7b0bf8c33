import type { CallCase, ExecuteRequest, ExecuteResult, ExecuteTask } from "../../sandbox/execution.ts";
import type { Limits } from "../../sandbox/limits.ts";
import type { PlainValue } from "../../sandbox/plain-value.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";

/** Returns a number as a plain value. */
export function float(value: number | string): PlainValue {
  return { float: Object.is(value, -0) ? "-0.0" : String(value) };
}

/** Returns a list of plain values. */
export function list(...items: PlainValue[]): PlainValue {
  return { list: items };
}

/** Returns cases of one call each, from their arguments. */
export function callsOf(name: string, ...cases: PlainValue[][]): ExecuteTask {
  return { kind: "calls", function: name, cases: cases.map((args): CallCase => ({ args })) };
}

/** Runs JavaScript in a sandbox. */
export function runJavaScript(
  sandbox: Sandbox,
  code: string,
  task: ExecuteTask,
  options: Partial<Omit<ExecuteRequest, "task" | "limits">> & { readonly limits?: Partial<Limits> } = {},
): Promise<ExecuteResult> {
  const { files, ...rest } = options;
  return sandbox.execute({
    language: "javascript",
    entry: "main.js",
    task,
    files: { "main.js": code, ...files },
    ...rest,
  });
}

/** Returns whether a process runs. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
