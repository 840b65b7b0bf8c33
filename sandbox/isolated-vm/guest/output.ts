import type { createInspect } from "./inspect.ts";

/** The output stream of a program. */
export type Stream = "stdout" | "stderr";

/** Sends a message out of an isolate: its kind, a number and a text. */
export type Send = (kind: Stream | "exit" | "case", count: number, text: string) => void;

/** The output of a guest. */
export interface Output {
  readonly console: object;
  write(stream: Stream, piece: string): void;
  /** Writes lines with the indentation of `console.group`. */
  writeLines(stream: Stream, text: string): void;
  /** Sends the buffered output. */
  flush(): void;
}

/**
 * Truncates output to its limit and sends it. The first pieces are sent at once, so that they survive an infinite loop.
 * Later pieces are buffered. Sent to an isolate as source text, so it refers to nothing but its arguments. The first
 * may be filled in later.
 */
export function createOutput(
  options: { readonly send: Send; readonly outputBytes: number },
  makeInspect: typeof createInspect,
): Output {
  const inspect = makeInspect();
  const prompt = 100;
  const gather = 4096;
  const streams = {
    stdout: { sent: 0, reported: 0, kept: 0, bytes: 0, buffered: "" },
    stderr: { sent: 0, reported: 0, kept: 0, bytes: 0, buffered: "" },
  };
  const flushOne = (name: Stream): void => {
    const stream = streams[name];
    if (stream.reported === stream.bytes) return;
    stream.reported = stream.bytes;
    stream.sent++;
    options.send(name, stream.bytes, stream.buffered);
    stream.buffered = "";
  };
  const flush = (): void => {
    flushOne("stdout");
    flushOne("stderr");
  };
  const write = (name: Stream, piece: string): void => {
    const stream = streams[name];
    let end = piece.length;
    for (let i = 0; i < piece.length; i++) {
      const letter = piece[i]!;
      const wide = letter >= "\ud800" && letter <= "\udfff" ? 2 : 3;
      const size = letter <= "\x7f" ? 1 : letter <= "\u07ff" ? 2 : wide;
      stream.bytes += size;
      if (end === piece.length && stream.kept + size <= options.outputBytes) stream.kept += size;
      else if (end === piece.length) {
        end = i;
        stream.kept = options.outputBytes;
      }
    }
    if (end === piece.length) stream.buffered += piece;
    else for (let i = 0; i < end; i++) stream.buffered += piece[i];
    if (stream.buffered !== "" && (stream.sent < prompt || stream.buffered.length >= gather)) flushOne(name);
  };

  let indent = "";
  const writeLines = (name: Stream, text: string): void =>
    write(name, `${indent}${text.replaceAll("\n", `\n${indent}`)}\n`);
  const logTo =
    (name: Stream) =>
    (...values: unknown[]): void =>
      writeLines(name, inspect(values));
  const log = logTo("stdout");
  const warn = logTo("stderr");
  const counts = new Map<string, number>();
  const started = new Map<string, number>();
  const elapsed = (label: string, rest: readonly unknown[]): void => {
    const start = started.get(label);
    if (start !== undefined) log(`${label}: ${Date.now() - start}ms`, ...rest);
  };
  const group = (...label: unknown[]): void => {
    if (label.length > 0) log(...label);
    indent += "  ";
  };
  const console = {
    log,
    info: log,
    debug: log,
    error: warn,
    warn,
    trace: warn,
    table: log,
    dir: log,
    dirxml: log,
    // Only a terminal is cleared.
    clear: (): void => {},
    assert: (holds?: unknown, ...rest: unknown[]): void => {
      if (holds) return;
      const [first, ...others] = rest;
      if (typeof first === "string") warn(`Assertion failed: ${first}`, ...others);
      else warn("Assertion failed", ...rest);
    },
    group,
    groupCollapsed: group,
    groupEnd: (): void => {
      indent = indent.slice(2);
    },
    count: (label: unknown = "default"): void => {
      const count = (counts.get(`${label}`) ?? 0) + 1;
      counts.set(`${label}`, count);
      log(`${label}: ${count}`);
    },
    countReset: (label: unknown = "default"): void => {
      counts.delete(`${label}`);
    },
    time: (label: unknown = "default"): void => {
      if (!started.has(`${label}`)) started.set(`${label}`, Date.now());
    },
    timeLog: (label: unknown = "default", ...rest: unknown[]): void => elapsed(`${label}`, rest),
    timeEnd: (label: unknown = "default"): void => {
      elapsed(`${label}`, []);
      started.delete(`${label}`);
    },
  };
  return { console, write, writeLines, flush };
}
