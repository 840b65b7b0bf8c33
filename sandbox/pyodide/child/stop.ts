import type { CodeError, ExecuteStatus } from "../../execution.ts";
import type { JobEnd } from "../protocol.ts";
import type { Ending, Interpreter } from "./interpreter.ts";

/** Why a job stops: a status, and what to say of it. */
export interface Stop {
  readonly status: ExecuteStatus;
  readonly error?: CodeError;
  readonly exit?: JobEnd["exit"];
  readonly spent?: boolean;
}

/** A call that did not return text. */
export function stopped(interpreter: Interpreter, ending: string | boolean | undefined | Ending): Stop {
  if (typeof ending !== "object") return { status: "violation" };
  switch (ending.kind) {
    case "timeout_cpu":
      return { status: "timeout_cpu" };
    case "exited":
      return { status: "exited", exit: { code: ending.code, signal: null }, spent: true };
    case "crashed":
      if (interpreter.outOfMemory) return { status: "memory", error: memoryError, spent: true };
      return {
        status: "signal",
        error: { type: "FatalError", message: `Python has crashed: ${ending.message}` },
        exit: { code: null, signal: "SIGABRT" },
        spent: true,
      };
  }
}

/** What is said of code that has used up its memory. */
export const memoryError: CodeError = { type: "MemoryError", message: "The memory limit is reached." };

/** Whether a text of runner.py says that Python had no memory left. */
export function isMemoryError(text: string): boolean {
  return /^(?:\{"outcome":"raised","error":)?\{"type":"MemoryError"/.test(text);
}
