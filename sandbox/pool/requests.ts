import { LyceumError, toErrorData } from "../../src/contract/errors/index.ts";
import type { CaseObservation, ExecuteRequest, ExecuteResult, ExecuteTask, Language } from "../execution.ts";
import type { WorkerResult } from "./worker.ts";

/** Throws `sandbox.request` if a request is invalid or the sandbox does not support its language. */
export function checkRequest(request: ExecuteRequest, languages: readonly Language[]): void {
  if (!languages.includes(request.language)) {
    throw refused(
      `This sandbox runs ${languages.join(" and ")}, not ${request.language}.`,
      "Choose another sandbox for this language.",
    );
  }
  if (!Object.hasOwn(request.files, request.entry)) {
    const names = Object.keys(request.files).join(", ");
    throw refused(`The entry "${request.entry}" is not among the files (${names}).`, "Name one of the files.");
  }
  for (const name of namesOf(request.task)) {
    if (!/^[\p{ID_Start}$_][\p{ID_Continue}$]*(\.[\p{ID_Start}$_][\p{ID_Continue}$]*)?$/u.test(name)) {
      throw refused(`"${name}" is not a function name.`, "Use an identifier, or Class.method.");
    }
  }
  for (const [name, limit] of Object.entries(request.limits ?? {})) {
    if (limit !== undefined && !(limit >= 0 && limit < Number.POSITIVE_INFINITY)) {
      throw refused(`The limit ${name} is ${limit}.`, "Use a number of at least 0.");
    }
  }
  for (const name of Object.keys(request.files)) {
    const parts = name.split("/");
    if (!/^[\w.\-/]{1,200}$/.test(name) || parts.includes("..") || parts.includes("") || parts.includes(".")) {
      throw refused(`"${name}" is not a relative file path.`, "Use letters, digits, '_', '-' and '.' between '/'.");
    }
  }
}

/** Returns the number of cases of a task. */
export function caseCount(task: ExecuteTask): number {
  switch (task.kind) {
    case "calls":
      return task.cases.length;
    case "program":
      return task.stdin.length;
    case "judge":
      return task.tests.length;
    case "script":
      return 1;
  }
}

/** Returns the observations of the cases that were not reached. */
export function missingCases(task: ExecuteTask, from = 0): CaseObservation[] {
  return Array.from({ length: caseCount(task) - from }, (_, i) => ({
    index: from + i,
    outcome: "missing",
    cpuMs: 0,
  }));
}

/** Returns the result of an execution whose worker failed or never started. */
export function unreachedResult(options: {
  readonly id: string;
  readonly request: ExecuteRequest;
  readonly attempts: number;
  readonly error: unknown;
  readonly aborted: boolean;
  /** The worker that failed. None by default. */
  readonly worker?: ExecuteResult["worker"];
}): ExecuteResult {
  const { id, request, attempts, error, aborted, worker = { id: "", generation: 0, jobs: 0 } } = options;
  const { code, message } = toErrorData(error, "sandbox.unavailable");
  const reported = unreported(request.task, {
    status: aborted ? "aborted" : "infra_error",
    error: { type: code, message },
  });
  const { usage, integrity } = reported;
  return {
    ...reported,
    id,
    usage: { ...usage, queueMs: 0 },
    worker,
    attempts,
    integrity: { ...integrity, nonceOk: false },
  };
}

/** Returns the result of a job whose worker reported nothing. */
export function unreported(task: ExecuteTask, why: Pick<WorkerResult, "status" | "error">): WorkerResult {
  const nothing = { text: "", bytes: 0, truncated: false };
  return {
    ...why,
    cases: missingCases(task),
    stdout: nothing,
    stderr: nothing,
    exit: { code: null, signal: null },
    usage: { cpuMs: 0, wallMs: 0, peakRssKb: 0, swept: 0 },
    integrity: { nonceOk: true, flags: [] },
  };
}

function namesOf(task: ExecuteTask): readonly string[] {
  if (task.kind === "calls") return [task.function];
  return task.kind === "judge" ? task.exports : [];
}

function refused(message: string, hint: string): LyceumError {
  return new LyceumError({ code: "sandbox.request", message, hint });
}
