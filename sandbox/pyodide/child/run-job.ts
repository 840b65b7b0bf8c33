import type { CodeError, ExecuteStatus } from "../../execution.ts";
import type { JobEnd, ToChild } from "../protocol.ts";
import { send } from "./channel.ts";
import type { Ending, Interpreter } from "./interpreter.ts";
import { judge, serve } from "./serve.ts";

/** Why a job stops: a status, and what to say of it. */
export interface Stop {
  readonly status: ExecuteStatus;
  readonly error?: CodeError;
  readonly exit?: JobEnd["exit"];
  readonly spent?: boolean;
}

const noExit: JobEnd["exit"] = { code: null, signal: null };

/** Runs a job, sends what it observes, and returns its end. */
export function runJob(interpreter: Interpreter, job: ToChild): JobEnd {
  interpreter.stdout.reset(job.limits.outputBytes);
  interpreter.stderr.reset(job.limits.outputBytes);
  const usage = { cpuMs: 0 };
  const stop = run(interpreter, job, usage);
  interpreter.call("flush");
  const end: JobEnd = {
    kind: "end",
    nonce: job.nonce,
    status: stop.status,
    ...(stop.error === undefined ? {} : { error: stop.error }),
    stdout: interpreter.stdout.output,
    stderr: interpreter.stderr.output,
    exit: stop.exit ?? noExit,
    cpuMs: usage.cpuMs + interpreter.cpuMs,
    heapBytes: interpreter.heapBytes,
    spent: stop.spent ?? false,
  };
  send(end);
  return end;
}

function run(interpreter: Interpreter, job: ToChild, usage: { cpuMs: number }): Stop {
  const { nonce, limits, seed } = job;
  if (job.kind === "judge") return judge(interpreter, job);
  const prepare = (stdin = ""): void => interpreter.prepare({ files: job.files, stdin, limits, seed });
  const again = (stdin?: string): void => {
    usage.cpuMs += interpreter.cpuMs;
    interpreter.rewind();
    prepare(stdin);
  };
  if (job.kind === "serve") {
    prepare();
    return load(interpreter, job) ?? serve(interpreter, job);
  }
  const { task, entry } = job;
  switch (task.kind) {
    case "calls": {
      prepare();
      const stop = load(interpreter, job) ?? missing(interpreter, task.function);
      if (stop !== undefined) return stop;
      let room = limits.resultBytes;
      for (const [index, { args, kwargs }] of task.cases.entries()) {
        if (task.isolate === "case" && index > 0) {
          again();
          const failed = load(interpreter, job);
          if (failed !== undefined) return failed;
        }
        const before = interpreter.cpuMs;
        const text = interpreter.call("call", task.function, JSON.stringify({ args, kwargs }), limits.depth, room);
        if (typeof text !== "string") return stopped(interpreter, text);
        room -= text.length;
        if (room < 0 || text.startsWith('{"outcome":"too-large"')) return { status: "result_limit" };
        if (isMemoryError(text)) return { status: "memory", error: memoryError };
        send({ kind: "case", nonce, index, text, cpuMs: interpreter.cpuMs - before });
      }
      return { status: "ok" };
    }
    case "program": {
      for (const [index, stdin] of task.stdin.entries()) {
        if (index === 0) prepare(stdin);
        else again(stdin);
        interpreter.stdout.reset(limits.outputBytes);
        const error = interpreter.call("program", `/work/${entry}`, sourceOf(job), seed);
        if (typeof error !== "string") return stopped(interpreter, error);
        const flushed = interpreter.call("flush");
        if (typeof flushed === "object") return stopped(interpreter, flushed);
        if (isMemoryError(error)) return { status: "memory", error: memoryError };
        const { text: value, truncated } = interpreter.stdout.output;
        if (truncated) return { status: "output_limit" };
        const outcome =
          error === "" ? { outcome: "returned", value } : { outcome: "raised", value, error: JSON.parse(error) };
        send({ kind: "case", nonce, index, text: JSON.stringify(outcome), cpuMs: interpreter.cpuMs });
      }
      interpreter.stdout.reset(limits.outputBytes);
      return { status: "ok", exit: { code: 0, signal: null } };
    }
    case "script": {
      prepare(task.stdin);
      const error = interpreter.call("program", `/work/${entry}`, sourceOf(job), seed);
      if (typeof error !== "string") return stopped(interpreter, error);
      if (isMemoryError(error)) return { status: "memory", error: memoryError };
      const outcome = error === "" ? { outcome: "returned" } : { outcome: "raised", error: JSON.parse(error) };
      send({ kind: "case", nonce, index: 0, text: JSON.stringify(outcome), cpuMs: interpreter.cpuMs });
      return { status: "ok", exit: { code: error === "" ? 0 : 1, signal: null } };
    }
  }
}

type Loadable = Pick<Extract<ToChild, { kind: "run" }>, "entry" | "files" | "seed">;

/** Loads the entry; why that ended the job, if it did. */
function load(interpreter: Interpreter, job: Loadable): Stop | undefined {
  const { entry, seed } = job;
  const name = entry.slice(entry.lastIndexOf("/") + 1).replace(/\.py$/, "");
  const text = interpreter.call("start", `/work/${entry}`, name, sourceOf(job), seed);
  if (typeof text !== "string") return stopped(interpreter, text);
  if (text === "") return undefined;
  if (isMemoryError(text)) return { status: "memory", error: memoryError };
  const error = JSON.parse(text) as CodeError;
  if (error.type !== "SystemExit") return { status: "load_error", error };
  const code = error.message === "" || error.message === "None" ? 0 : Number(error.message);
  return { status: "exited", error, exit: { code: Number.isInteger(code) ? code : 1, signal: null } };
}

/** The entry's text, without the mark that some editors begin a file with. */
function sourceOf({ entry, files }: Loadable): string {
  return (files[entry] ?? "").replace(/^\ufeff/, "");
}

function missing(interpreter: Interpreter, name: string): Stop | undefined {
  const found = interpreter.call("check", name);
  if (typeof found === "object") return stopped(interpreter, found);
  if (found === true) return undefined;
  return { status: "load_error", error: { type: "NameError", message: `There is no function "${name}".` } };
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
