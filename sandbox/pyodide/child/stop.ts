import type { CodeError, ExecuteStatus } from "../../execution.ts";
import type { JobEnd } from "../protocol.ts";
import type { Ending, Interpreter } from "./interpreter.ts";

/** Why a job stops: a status and its description. */
export interface Stop {
  readonly status: ExecuteStatus;
  readonly error?: CodeError;
  readonly exit?: JobEnd["exit"];
  readonly spent?: boolean;
}

/** Returns why a call stopped that did not return text. */
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

/** The error of code that has used up its memory. */
export const memoryError: CodeError = { type: "MemoryError", message: "The memory limit is reached." };

/** True if a text of runner.py reports that Python ran out of memory. */
export function isMemoryError(text: string): boolean {
  return /^(?:\{"outcome":"raised","error":)?\{"type":"MemoryError"/.test(text);
}
