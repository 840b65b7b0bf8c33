import type { CodeError } from "../../execution.ts";
import type { JobEnd, ToChild } from "../protocol.ts";
import { send } from "./channel.ts";
import type { Interpreter } from "./interpreter.ts";
import { judge, serve } from "./serve.ts";
import { isMemoryError, memoryError, type Stop, stopped } from "./stop.ts";

const noExit: JobEnd["exit"] = { code: null, signal: null };

/** Runs a job, sends its observations, and returns how it ended. */
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
    error: stop.error,
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

/** Loads the entry. Returns why the job stopped, if loading ended it. */
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

/** Returns the entry's text without a byte order mark. */
function sourceOf({ entry, files }: Loadable): string {
  return (files[entry] ?? "").replace(/^\ufeff/, "");
}

function missing(interpreter: Interpreter, name: string): Stop | undefined {
  const found = interpreter.call("check", name);
  if (typeof found === "object") return stopped(interpreter, found);
  if (found === true) return undefined;
  return { status: "load_error", error: { type: "NameError", message: `There is no function "${name}".` } };
}
