import { constants } from "node:os";
import type { CapturedOutput, CaseObservation, CodeError, ExecuteStatus } from "../execution.ts";
import { missingCases } from "../pool/requests.ts";
import type { Job, WorkerResult } from "../pool/worker.ts";
import type { JobPart } from "./job-parts.ts";
import { type Report, readReport } from "./reports.ts";

/**
 * The observations of one process. The runner is trusted. Only `results` and the outputs come from the process itself.
 */
export interface ObservedRun {
  readonly role: "calls" | "program" | "candidate" | "judge";
  /** Why the runner killed the process. */
  readonly reason: "timeout_cpu" | "timeout_wall" | "output_limit" | "result_limit" | "aborted" | "judge-ended" | null;
  readonly results: string;
  readonly stdout: { readonly text: string; readonly bytes: number };
  readonly stderr: { readonly text: string; readonly bytes: number };
  readonly code: number | null;
  readonly signal: number | null;
  readonly cpuMs: number;
  readonly peakRssKb: number;
  readonly swept: number;
}

/** The observations of a job. */
export interface ObservedJob {
  readonly id: string;
  readonly wallMs: number;
  /** Number of processes that the kernel killed because the container's own memory was used up. */
  readonly oomKills: number;
  /**
   * Number of processes that the kernel killed on the whole machine because memory was used up, since the last job with
   * a killed process.
   */
  readonly machineOomKills: number;
  readonly parts: readonly (readonly ObservedRun[])[];
  /** False if files were left that cannot be removed. */
  readonly clean: boolean;
}

interface PartOutcome {
  readonly status: ExecuteStatus;
  readonly cases: readonly CaseObservation[];
  readonly error?: CodeError;
  readonly nonceOk: boolean;
}

/** The exit code of a child that had too little memory to start its job. */
const outOfMemoryCode = 71;

/** What a runner keeps a job's processes from. */
export interface Guards {
  /** True if no process of a job can end the job's process by SIGKILL. */
  readonly guarded: boolean;
  /** True if judges and the runner have other users than candidates, which therefore cannot end them. */
  readonly separate: boolean;
}

/** Derives the result of a job from the observations. */
export function resultOf(options: {
  readonly job: Job;
  readonly parts: readonly JobPart[];
  readonly observed: ObservedJob;
  readonly guards: Guards;
}): WorkerResult {
  const { job, parts, observed, guards } = options;
  const cases: CaseObservation[] = [];
  let last: PartOutcome = { status: "ok", cases: [], nonceOk: true };
  for (const [place, runs] of observed.parts.entries()) {
    last = outcomeOf({ job, part: parts[place]!, runs, oomKills: observed.oomKills });
    cases.push(...last.cases);
    if (last.status !== "ok") break;
  }
  const runs = observed.parts.flat();
  const candidates = runs.filter(({ role }) => role !== "judge");
  const final = candidates.at(-1);
  // A candidate is killed after its judge has ended. If the judge was killed, the judge's signal counts.
  const killed = final?.reason === "judge-ended" ? runs.at(-1) : final;
  const swept = sum(runs, ({ swept }) => swept);
  const isProgram = job.request.task.kind === "program";
  return {
    status: last.status,
    cases: [...cases, ...missingCases(job.request.task, cases.length)],
    error: last.error,
    stdout: isProgram ? nothing : captured(candidates, "stdout", job.limits.outputBytes),
    stderr: captured(candidates, "stderr", job.limits.outputBytes),
    exit: { code: final?.code ?? null, signal: signalName(killed?.signal) },
    usage: {
      cpuMs: sum(runs, ({ cpuMs }) => cpuMs),
      wallMs: observed.wallMs,
      peakRssKb: Math.max(0, ...candidates.map(({ peakRssKb }) => peakRssKb)),
      swept,
    },
    integrity: { nonceOk: last.nonceOk, flags: swept > 0 ? ["left-processes"] : [] },
    endedFromOutside: last.status === "signal" && killed !== undefined && isFromOutside(killed, observed, guards),
  };
}

/**
 * True if the job cannot be the cause of the signal. False if the kernel may have sent the SIGKILL because the job used
 * too much memory or processor time.
 */
function isFromOutside({ role, signal }: ObservedRun, { machineOomKills }: ObservedJob, guards: Guards): boolean {
  if (signal !== constants.signals.SIGKILL || machineOomKills > 0) return false;
  return role === "judge" ? guards.separate : guards.guarded;
}

function outcomeOf(options: {
  readonly job: Job;
  readonly part: JobPart;
  readonly runs: readonly ObservedRun[];
  readonly oomKills: number;
}): PartOutcome {
  const { job, part, runs, oomKills } = options;
  const candidate = runs[0]!;
  const speaker = runs.at(-1)!;
  const report = readReport(speaker.results, { ...part, depth: job.limits.depth });
  // The messages of a judge's candidate are no observations. Only its load error counts, and only until the judge
  // reports that the candidate is loaded: after that, the candidate may have seen the tests.
  const unloaded = part.candidateNonce !== undefined && !report.loaded;
  const loadError = report.loadError ?? (unloaded ? loadErrorOf(candidate, part.candidateNonce!) : undefined);
  const cases = part.role === "program" ? programCase(report, speaker, part.indices[0]!) : report.cases;
  const outcome = (status: ExecuteStatus, error?: CodeError): PartOutcome => ({
    status,
    cases: part.role === "program" && status !== "ok" ? [] : cases,
    nonceOk: !report.broken,
    error,
  });
  const killed = runs.map(({ reason }) => reason).find((reason) => reason !== null && reason !== "judge-ended");
  if (killed !== undefined) return outcome(killed as ExecuteStatus);
  if (report.broken) return outcome("violation");
  if (report.tooLarge) return outcome("result_limit");
  const killedForMemory = candidate.signal === constants.signals.SIGKILL && oomKills > 0;
  if (report.outOfMemory || killedForMemory || candidate.code === outOfMemoryCode) return outcome("memory");
  if (loadError !== undefined) return outcome(loadError.type === "MemoryError" ? "memory" : "load_error", loadError);
  if (report.ended) return outcome("ok");
  const signal = (candidate.reason === null ? candidate.signal : null) ?? speaker.signal;
  if (signal !== null) {
    const name = signalName(signal)!;
    // The kernel's limit counts whole seconds and every process that the candidate started. It sends either signal.
    const spent = name === "SIGKILL" && candidate.cpuMs >= job.limits.cpuMs;
    if (name === "SIGXCPU" || spent) return outcome("timeout_cpu");
    return outcome("signal", { type: name, message: `The process was ended by ${name}.` });
  }
  if (part.role === "program") return outcome("ok");
  return outcome("exited", { type: "Exit", message: `The process ended itself with code ${candidate.code}.` });
}

/** Observes a program from outside: how it ended, and its output. */
function programCase(report: Report, run: ObservedRun, index: number): CaseObservation[] {
  const said = report.cases[0];
  const failed = run.code !== 0;
  const error = said?.error ?? { type: "SystemExit", message: `exit code ${run.code}` };
  return [
    {
      index,
      outcome: failed ? "raised" : "returned",
      value: run.stdout.text,
      ...(failed ? { error } : {}),
      cpuMs: run.cpuMs,
    },
  ];
}

/** Returns the error that a judge's candidate reported. */
function loadErrorOf(candidate: ObservedRun, nonce: string): CodeError | undefined {
  return readReport(candidate.results, { nonce, indices: [], depth: 0 }).loadError;
}

const nothing: CapturedOutput = { text: "", bytes: 0, truncated: false };

function captured(runs: readonly ObservedRun[], stream: "stdout" | "stderr", limit: number): CapturedOutput {
  const bytes = sum(runs, (run) => run[stream].bytes);
  const text = runs.map((run) => run[stream].text).join("");
  return { text, bytes, truncated: runs.some((run) => run[stream].bytes > limit) };
}

function sum<T>(items: readonly T[], amount: (item: T) => number): number {
  return items.reduce((total, item) => total + amount(item), 0);
}

function signalName(number: number | null | undefined): string | null {
  if (number === null || number === undefined) return null;
  return Object.entries(constants.signals).find(([, each]) => each === number)?.[0] ?? `signal ${number}`;
}
