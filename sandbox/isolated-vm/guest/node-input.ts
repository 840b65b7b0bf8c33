import type { NodeBytes, NodeCallback } from "./node-modules.ts";
import type { Timers } from "./timers.ts";

/** What the input of a program uses of the guest. */
export interface NodeInputOptions {
  /** The class of Node's `events`. */
  readonly events: () => unknown;
  readonly readStdin: () => string;
  readonly bytesOf: (value: unknown) => NodeBytes;
  readonly timers: Timers;
  readonly later: (work: NodeCallback, ...args: unknown[]) => unknown;
}

/**
 * Creates `process.stdin` and Node's `readline` over the whole input. Sent to an isolate as source text, so it refers to
 * nothing but its argument.
 */
export function createNodeInput(options: NodeInputOptions): {
  readonly stdin: () => unknown;
  readonly readline: { readonly promises: object };
} {
  type Emitter = {
    on(name: string, listener: NodeCallback): unknown;
    emit(name: string, ...args: unknown[]): boolean;
    listenerCount(name: string): number;
  };
  const { bytesOf, timers, later } = options;
  const events = options.events as () => new () => Emitter;
  const custom = Symbol.for("nodejs.util.promisify.custom");

  // Input arrives after the code has run once, so that it has added its listeners by then.
  const createStdin = (): unknown => {
    let encoding: string | undefined;
    let isStarted = false;
    let rest: string | undefined = options.readStdin();
    const read = (): unknown => {
      const text = rest;
      rest = undefined;
      if (text === undefined || text === "") return null;
      return encoding === undefined ? bytesOf(text) : text;
    };
    const stream = new (events())();
    const { on } = stream;
    const start = (): void => {
      if (isStarted) return;
      isStarted = true;
      later(() => {
        if (stream.listenerCount("readable") > 0) {
          stream.emit("readable");
          stream.emit("readable");
        } else {
          const chunk = read();
          if (chunk !== null) stream.emit("data", chunk);
        }
        stream.emit("end");
        stream.emit("close");
      });
    };
    const listen = function (this: unknown, name: string, listener: NodeCallback): unknown {
      if (name === "data" || name === "readable" || name === "end") start();
      return Reflect.apply(on, this, [name, listener]);
    };
    const same = (): unknown => stream;
    return Object.assign(stream, {
      fd: 0,
      on: listen,
      addNodeCallback: listen,
      read,
      resume: same,
      pause: same,
      unref: same,
      setEncoding: (name = "utf8") => {
        encoding = name;
        return stream;
      },
      async *[Symbol.asyncIterator]() {
        const chunk = read();
        if (chunk !== null) yield chunk;
      },
    });
  };
  let stdin: unknown;

  const createInterface = (choices: { output?: { write(text: string): void } } = {}): object => {
    const text = options.readStdin();
    const lines = text === "" ? [] : text.replace(/\r?\n$/, "").split(/\r?\n/);
    const questions: ((line: string) => void)[] = [];
    let isClosed = false;
    let isRead = false;
    const lineReader = new (events())();
    const { on } = lineReader;
    // As in Node, lines that are there already are still read after `close`.
    const next = (): void => {
      if (isRead) return;
      while (lines.length > 0) {
        const asked = isClosed ? undefined : questions.shift();
        if (asked !== undefined) {
          asked(lines.shift()!);
          // Not at once, so that the code between two questions runs first.
          later(next);
          return;
        }
        if (lineReader.listenerCount("line") === 0) {
          // Another question may follow. Timers do not wait.
          timers.schedule(close, 60_000, []);
          return;
        }
        lineReader.emit("line", lines.shift());
      }
      close();
    };
    const close = (): void => {
      if (isClosed) return;
      isClosed = true;
      lineReader.emit("close");
    };
    const listen = function (this: unknown, name: string, listener: NodeCallback): unknown {
      if (name === "line" || name === "close") later(next);
      return Reflect.apply(on, this, [name, listener]);
    };
    const same = (): unknown => lineReader;
    const question = (query: unknown, ...rest: unknown[]): void => {
      choices.output?.write(String(query));
      questions.push(rest.at(-1) as (line: string) => void);
      later(next);
    };
    return Object.assign(lineReader, {
      on: listen,
      addNodeCallback: listen,
      close,
      question: Object.assign(question, {
        [custom]: (query: unknown) => new Promise((resolve) => question(query, resolve)),
      }),
      setPrompt: () => undefined,
      prompt: () => undefined,
      write: () => undefined,
      pause: same,
      resume: same,
      async *[Symbol.asyncIterator]() {
        isRead = true;
        while (lines.length > 0 && !isClosed) yield lines.shift();
        close();
      },
      [Symbol.dispose]: close,
    });
  };
  const readline = {
    createInterface,
    clearLine: () => true,
    cursorTo: () => true,
    promises: {
      createInterface: (choices?: object) => {
        const made = createInterface(choices) as { question: { [custom]: unknown } };
        return Object.assign(made, { question: made.question[custom] });
      },
    },
  };
  return { stdin: () => (stdin ??= createStdin()), readline };
}
