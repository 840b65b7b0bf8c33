import type { ExecuteRequest, Language } from "../execution.ts";
import { defaultLimits } from "../limits.ts";
import type { Job, WorkerResult } from "./worker.ts";

const double: Readonly<Record<Language, string>> = {
  python: "def f(x):\n    return x + x",
  javascript: "function f(x) { return x + x; }",
  typescript: "function f(x: string) { return x + x; }",
};

/**
 * Creates a canary job: a small job with a known result. If it succeeds, the worker works, and an earlier failure was
 * caused by the other job.
 */
export function canaryJob(language: Language): Job {
  const request: ExecuteRequest = {
    language,
    files: { canary: double[language] },
    entry: "canary",
    task: { kind: "calls", function: "f", cases: [{ args: ["ab"] }] },
  };
  return { id: "canary", request, limits: defaultLimits, seed: 0 };
}

/** True if a canary job returned its known result. */
export function canarySucceeded({ status, cases }: WorkerResult): boolean {
  return status === "ok" && cases.length === 1 && cases[0]!.value === "abab";
}
