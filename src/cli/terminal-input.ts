import { createInterface } from "node:readline";

/** Answers that a person types, or that are piped in. */
export interface TerminalInput extends Disposable {
  /**
   * The lines up to an empty one, a lone `.` or the end of the input, joined. Empty lines before the first are skipped;
   * a lone `.` at the beginning is the empty answer. Undefined at the end of the input; rejects when the signal aborts.
   */
  answer(signal: AbortSignal): Promise<string | undefined>;
}

/** Reads answers from a stream, line by line. */
export function readAnswers(input: NodeJS.ReadableStream): TerminalInput {
  // Ctrl-C and Ctrl-D stay what the terminal makes of them: a signal, and the end of the input.
  const reader = createInterface({ input, terminal: false });
  const waiting: string[] = [];
  let ended = false;
  let wake = (): void => {};
  reader.on("line", (line) => {
    waiting.push(line);
    wake();
  });
  reader.on("close", () => {
    ended = true;
    wake();
  });

  const nextLine = async (signal: AbortSignal): Promise<string | undefined> => {
    while (waiting.length === 0 && !ended) {
      const { promise, resolve } = Promise.withResolvers<void>();
      wake = resolve;
      signal.addEventListener("abort", wake, { once: true });
      await promise;
      signal.removeEventListener("abort", wake);
      signal.throwIfAborted();
    }
    return waiting.shift();
  };

  return {
    answer: async (signal) => {
      signal.throwIfAborted();
      const lines: string[] = [];
      for (;;) {
        const line = await nextLine(signal);
        if (line === undefined) return lines.length === 0 ? undefined : lines.join("\n");
        if (line === ".") return lines.join("\n");
        if (line.trim() !== "") lines.push(line);
        else if (lines.length > 0) return lines.join("\n");
      }
    },
    [Symbol.dispose]: () => reader.close(),
  };
}
