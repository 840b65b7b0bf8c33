import type { CapturedOutput, CaseObservation, CodeError, ExecuteStatus } from "../execution.ts";
import type { PlainValue } from "../plain-value.ts";
import { missingCases } from "../pool/requests.ts";
import type { Job, WorkerResult } from "../pool/worker.ts";
import type { GuestReply } from "./guest/guest.ts";
import type { JobTools } from "./job-tools.ts";
import { Judge } from "./judge.ts";
import { Session } from "./session.ts";
import type { TypeScriptCache } from "./typescript-cache.ts";
import { Ended, valueTooLarge, Watchdog } from "./watchdog.ts";

/** Statuses after which an isolate can be disposed of. */
const harmless: ReadonlySet<ExecuteStatus> = new Set(["exited", "result_limit"]);

/**
 * An answer of the child process. If it is not `reusable`, code may still run in a thread. Otherwise, dispose of it to
 * end the isolates.
 */
export interface JobOutcome extends Disposable {
  readonly result: WorkerResult;
  readonly reusable: boolean;
}

/** Runs a job in fresh isolates of this process. Throws only errors that the code did not cause. */
export async function runJob(job: Job, tools: JobTools): Promise<JobOutcome> {
  const sessions: Session[] = [];
  let judge: Judge | undefined;
  const running = (): Session | undefined => sessions.at(-1);
  using watchdog = new Watchdog(job.limits, () => (running()?.cpuMs ?? 0) + (judge?.cpuMs ?? 0));
  const cases: CaseObservation[] = [];
  let cpuMs = 0;
  let ended: Ended | undefined;
  let reusable = true;
  let loadError: CodeError | undefined;
  const { task } = job.request;
  try {
    const files = javascriptFiles(job, tools.typeScript);
    const open = (stdin = ""): Session => {
      watchdog.startCase();
      const session = new Session({
        job,
        files,
        stdin,
        references: task.kind === "judge",
        watchdog,
        supply: tools.guests,
        nodeLibrary: tools.nodeLibrary,
        onCase: (reply) => {
          const before = caseMs;
          caseMs = session.cpuMs;
          cases.push(observation(cases.length, reply, caseMs - before));
        },
      });
      let caseMs = 0;
      sessions.push(session);
      return session;
    };
    const close = (session: Session): void => {
      cpuMs += session.cpuMs;
      session[Symbol.dispose]();
    };
    switch (task.kind) {
      case "calls": {
        const calls = task.cases.map(({ args, kwargs }) => {
          return kwargs === undefined ? args : [...args, { dict: Object.entries(kwargs) }];
        });
        const groups = task.isolate === "case" ? calls.map((args) => [args]) : [calls];
        for (const [index, group] of groups.entries()) {
          const session = open();
          requireLoaded(await session.load([rootOf(task.function)], { target: task.function, cases: group }));
          if (index < groups.length - 1) close(session);
          else cpuMs += session.cpuMs;
        }
        break;
      }
      case "program":
      case "script": {
        const inputs = task.kind === "program" ? task.stdin : [task.stdin ?? ""];
        for (const [index, stdin] of inputs.entries()) {
          const session = open(stdin);
          cases.push(await runProgram(session, index));
          close(session);
        }
        break;
      }
      case "judge": {
        const session = open();
        requireLoaded(await session.load(task.exports));
        judge = new Judge({ job, session, watchdog, tools });
        for (let index = 0; index < task.tests.length; index++) cases.push(await judge.run(index));
        cpuMs += session.cpuMs + judge.cpuMs;
        break;
      }
    }
  } catch (error) {
    if (error instanceof Ended) ended = error;
    else if (error instanceof LoadError) loadError = error.data;
    else throw error;
    cpuMs += (running()?.cpuMs ?? 0) + (judge?.cpuMs ?? 0);
    // Code that reached a limit may be uninterruptible, and a judge may wait for an answer of this thread. Disposing of
    // them would block too.
    reusable = judge === undefined && (ended === undefined || harmless.has(ended.status));
    if (reusable) dispose();
  }
  if (tools.typeScript.isBroken) reusable = false;
  const status: ExecuteStatus = loadError !== undefined ? "load_error" : (ended?.status ?? "ok");
  const error = loadError ?? (ended === undefined ? undefined : { type: ended.status, message: ended.message });
  const shown = task.kind === "program" ? [] : sessions;
  return {
    result: {
      status,
      cases: [...cases, ...missingCases(task, cases.length)],
      ...(error !== undefined && { error }),
      stdout: joined(shown.map((session) => session.output("stdout"))),
      stderr: joined(sessions.map((session) => session.output("stderr"))),
      exit: { code: ended?.exitCode ?? null, signal: null },
      usage: {
        cpuMs: Math.min(cpuMs, watchdog.processMs),
        wallMs: watchdog.wallMs,
        peakRssKb: Math.round(watchdog.peakRss / 1024),
        swept: 0,
      },
      integrity: { nonceOk: true, flags: [] },
    },
    reusable,
    [Symbol.dispose]: dispose,
  };

  function dispose(): void {
    for (const session of sessions) session[Symbol.dispose]();
    judge?.[Symbol.dispose]();
  }

  function joined(outputs: readonly CapturedOutput[]): CapturedOutput {
    const all = Buffer.from(outputs.map(({ text }) => text).join(""));
    const bytes = outputs.reduce((sum, output) => sum + output.bytes, 0);
    if (all.length <= job.limits.outputBytes) {
      return { text: all.toString(), bytes, truncated: outputs.some(({ truncated }) => truncated) };
    }
    return {
      text: new TextDecoder().decode(all.subarray(0, job.limits.outputBytes), { stream: true }),
      bytes,
      truncated: true,
    };
  }
}

/** The code did not load. */
class LoadError extends Error {
  readonly data: CodeError;

  constructor(data: CodeError) {
    super(data.message);
    this.data = data;
  }
}

/** Throws a LoadError if the code did not load, and {@link Ended} if a value of a case was too large. */
function requireLoaded({ outcome, error }: GuestReply): void {
  if (error !== undefined) throw new LoadError(error);
  if (outcome === "too-large") throw valueTooLarge();
}

function javascriptFiles({ request }: Job, typeScript: TypeScriptCache): Record<string, string> {
  const { files, entry, language } = request;
  return Object.fromEntries(
    Object.entries(files).map(([path, source]) => {
      const isTypeScript = path.endsWith(".ts") || (path === entry && language === "typescript");
      try {
        return [path, isTypeScript ? typeScript.javascriptOf(source) : source];
      } catch (error) {
        throw new LoadError({ type: "SyntaxError", message: error instanceof Error ? error.message : String(error) });
      }
    }),
  );
}

/** Runs the entry as a program. Its output is the value of the case, however it ended. */
async function runProgram(session: Session, index: number): Promise<CaseObservation> {
  let error: CodeError | undefined;
  try {
    ({ error } = await session.load([]));
    if (error === undefined) await session.runTimers();
    // A program ends with an error if a promise is rejected and nothing handles it.
    error ??= session.unhandled;
  } catch (end) {
    if (!(end instanceof Ended) || end.status !== "exited") throw end;
    // A program may end itself. Its isolate then loops until it is disposed of.
    if (end.exitCode !== 0) error = { type: "exit", message: `It ended with code ${end.exitCode}.` };
  }
  const value = session.output("stdout").text;
  return {
    index,
    outcome: error === undefined ? "returned" : "raised",
    value,
    ...(error && { error }),
    cpuMs: session.cpuMs,
  };
}

/** Returns the observation of a case. */
function observation(index: number, reply: GuestReply, cpuMs: number): CaseObservation {
  const { outcome, value, changedArgs, error } = reply;
  return {
    index,
    outcome: outcome as CaseObservation["outcome"],
    ...(outcome === "returned" && { value: value as PlainValue }),
    ...(changedArgs !== undefined && { changedArgs: changedArgs as readonly PlainValue[] }),
    ...(error !== undefined && { error }),
    cpuMs,
  };
}

function rootOf(name: string): string {
  return name.split(".")[0]!;
}
