import { randomBytes } from "node:crypto";
import { LyceumError } from "../../src/contract/errors/index.ts";
import { tryParseJson } from "../../src/contract/json.ts";
import type { CaseObservation, ExecuteTask } from "../execution.ts";
import { readObservation } from "../pool/observation.ts";
import { missingCases } from "../pool/requests.ts";
import { type StartProgress, watchedStart } from "../pool/watched-start.ts";
import type { Job, Worker, WorkerResult } from "../pool/worker.ts";
import { outsideSignals, PythonChild } from "./child-process.ts";
import { CpuWatch } from "./cpu-watch.ts";
import type { FromChild, JobEnd, Relay, ToChild } from "./protocol.ts";

/** Above this size, a worker is replaced: Python's memory never shrinks, and every restore copies all of it. */
const maxHeapBytes = 96 * 2 ** 20;
const maxJobs = 20_000;

type Judging = Extract<ExecuteTask, { kind: "judge" }>;

/** A process that runs untrusted Python, and a second process for trusted tests once a job has some. */
export class PyodideWorker implements Worker {
  readonly #boot: { readonly pyodide: string; readonly snapshot: string };
  readonly #candidate: PythonChild;
  #judge: PythonChild | undefined;
  #reusable = true;
  #jobs = 0;

  /** Starts a worker. Resolves when it accepts jobs. */
  static async start(
    boot: { readonly pyodide: string; readonly snapshot: string },
    progress: StartProgress,
  ): Promise<PyodideWorker> {
    return new PyodideWorker(boot, await startChild(boot, progress));
  }

  private constructor(boot: { readonly pyodide: string; readonly snapshot: string }, candidate: PythonChild) {
    this.#boot = boot;
    this.#candidate = candidate;
  }

  get reusable(): boolean {
    return this.#reusable && this.#jobs < maxJobs && this.#candidate.alive;
  }

  async run(job: Job, signal: AbortSignal): Promise<WorkerResult> {
    this.#jobs++;
    const { request, limits } = job;
    const { task } = request;
    // On a busy machine, the start of the judge may take longer than the job's time limit.
    const judge = task.kind === "judge" ? await this.#startJudge(signal) : undefined;
    const start = performance.now();
    const nonce = randomBytes(16).toString("hex");
    const cases: CaseObservation[] = [];
    const common = { nonce, files: request.files, entry: request.entry, limits, seed: job.seed };
    const maxBytes = 4 * limits.resultBytes + 16 * limits.outputBytes + 2 ** 20;
    using watch = new CpuWatch(this.#candidate, limits, signal);
    const jobChild: JobChild = { child: this.#candidate, nonce, maxBytes };
    let end: JobEnd | Violation;
    try {
      if (task.kind === "judge") {
        end = await this.#runJudge({ job, task, jobChild, judge: judge!, cases, signal });
      } else {
        this.#candidate.send({ kind: "run", ...common, task } satisfies ToChild);
        const fresh = task.kind === "program" || (task.kind === "calls" && task.isolate === "case");
        end = await collect(jobChild, cases, limits.depth, () => {
          if (fresh) watch.restart();
        });
      }
    } catch (error) {
      this.#reusable = false;
      const { exit } = this.#candidate;
      if (watch.overrun === undefined && !diedByItself(exit)) throw error;
      const status = watch.overrun ?? (exit.signal === null ? "exited" : "signal");
      const cpuMs = watch.overrun === "timeout_cpu" ? limits.cpuMs : 0;
      end = { ...nothing, status, exit, cpuMs };
    }
    if (end.spent || end.heapBytes > maxHeapBytes) this.#reusable = false;
    const { status, error, stdout, stderr, exit, cpuMs } = end;
    return {
      status,
      cases: [...cases, ...missingCases(task, cases.length)],
      error,
      stdout,
      stderr,
      exit,
      usage: { cpuMs, wallMs: performance.now() - start, peakRssKb: 0, swept: 0 },
      integrity: { nonceOk: status !== "violation", flags: [] },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#reusable = false;
    await Promise.all([this.#candidate.kill(), this.#judge?.kill()]);
  }

  async #startJudge(signal: AbortSignal): Promise<PythonChild> {
    this.#judge ??= await watchedStart({ start: (progress) => startChild(this.#boot, progress), signal });
    return this.#judge;
  }

  /** Runs tests in the judge, and passes its questions to the code and the answers back. */
  async #runJudge(options: {
    readonly job: Job;
    readonly task: Judging;
    readonly jobChild: JobChild;
    readonly judge: PythonChild;
    readonly cases: CaseObservation[];
    readonly signal: AbortSignal;
  }): Promise<JobEnd | Violation> {
    const { job, task, jobChild, cases, signal } = options;
    const { limits, seed, request } = job;
    const { child, nonce, maxBytes } = jobChild;
    const judge = { child: options.judge, nonce, maxBytes };
    const { files, entry } = request;
    child.send({ kind: "serve", nonce, files, entry, exports: task.exports, limits, seed } satisfies ToChild);
    const loaded = await receive(jobChild);
    if (loaded.kind === "end") return loaded;
    if (loaded.kind !== "loaded") return violation;
    using watch = new CpuWatch(judge.child, limits, signal);
    const { setup = "", tests, exports } = task;
    judge.child.send({ kind: "judge", nonce, setup, tests, exports, limits, seed } satisfies ToChild);
    let candidateEnd: JobEnd | undefined;
    let judgeEnd: JobEnd | Violation | undefined;
    while (judgeEnd === undefined) {
      let message: FromJob;
      try {
        message = await receive(judge);
      } catch (error) {
        // The tests are trusted, but their input may still have kept the judge busy for too long.
        this.#judge = undefined;
        await judge.child.kill();
        if (watch.overrun === undefined) throw error;
        judgeEnd = { ...nothing, status: watch.overrun };
        break;
      }
      if (message.kind === "ask") {
        child.send({ text: message.text } satisfies Relay);
        const answer = await receive(jobChild);
        if (answer.kind === "answer") judge.child.send({ text: answer.text } satisfies Relay);
        else if (answer.kind === "end") {
          candidateEnd = answer;
          judge.child.send({ finish: true } satisfies Relay);
        } else return violation;
      } else if (message.kind === "case") {
        const { index, text, cpuMs } = message;
        const observation = readObservation(tryParseJson(text), { index, depth: limits.depth, cpuMs });
        if (observation === undefined || index !== cases.length) return violation;
        cases.push(observation);
      } else if (message.kind === "end") judgeEnd = message;
      else return violation;
    }
    if (candidateEnd === undefined) {
      child.send({ finish: true } satisfies Relay);
      const last = await receive(jobChild);
      if (last.kind !== "end") return violation;
      candidateEnd = last;
    }
    if (judgeEnd.spent || judgeEnd.heapBytes > maxHeapBytes) {
      await this.#judge?.kill();
      this.#judge = undefined;
    }
    if (candidateEnd.status !== "ok" || judgeEnd.status === "ok") return candidateEnd;
    const { status, error } = judgeEnd;
    return { ...candidateEnd, status, ...(error === undefined ? {} : { error }) };
  }
}

/** A child in a job. */
interface JobChild {
  readonly child: PythonChild;
  readonly nonce: string;
  readonly maxBytes: number;
}

type FromJob = Exclude<FromChild, { kind: "ready" }>;
type Violation = Omit<JobEnd, "kind" | "nonce">;

const noOutput = { text: "", bytes: 0, truncated: false };
const nothing: Violation = {
  status: "violation",
  stdout: noOutput,
  stderr: noOutput,
  exit: { code: null, signal: null },
  cpuMs: 0,
  heapBytes: 0,
  spent: true,
};
const violation = nothing;

async function startChild(
  boot: { readonly pyodide: string; readonly snapshot: string },
  progress: StartProgress,
): Promise<PythonChild> {
  progress.signal.throwIfAborted();
  const child = new PythonChild(boot);
  try {
    const { kind } = JSON.parse((await child.firstMessage(1_000, progress)).toString()) as FromChild;
    if (kind === "ready") return child;
  } catch (error) {
    await child.kill();
    throw error;
  }
  await child.kill();
  throw new LyceumError({
    code: "sandbox.unavailable",
    message: "A Python process did not start.",
    hint: "Report this with your version of Node.",
  });
}

/**
 * Returns the next message of a job. Rejects if the process has ended. Throws if the nonce is wrong or the message too
 * long.
 */
async function receive({ child, nonce, maxBytes }: JobChild): Promise<FromJob> {
  const message = JSON.parse((await child.receive(maxBytes)).toString()) as FromJob;
  return message.nonce === nonce ? message : { ...violation, kind: "end", nonce };
}

/** Receives the cases of a job, each once and in order, until its end. */
async function collect(
  jobChild: JobChild,
  cases: CaseObservation[],
  depth: number,
  onCase: () => void,
): Promise<JobEnd | Violation> {
  for (;;) {
    const message = await receive(jobChild);
    if (message.kind === "end") return message;
    if (message.kind !== "case") return violation;
    const { index, text, cpuMs } = message;
    const observation = readObservation(tryParseJson(text), { index, depth, cpuMs });
    if (observation === undefined || index !== cases.length) return violation;
    cases.push(observation);
    onCase();
  }
}

function diedByItself({ code, signal }: PythonChild["exit"]): boolean {
  return code !== null || (signal !== null && !outsideSignals.includes(signal));
}
