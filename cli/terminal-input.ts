import { createInterface } from "node:readline";

/** Answers that a person types or that are piped in. */
export interface TerminalInput extends Disposable {
  /**
   * Returns the lines up to a lone `.` or the end of the input, joined. A lone `.` as the first line is an empty
   * answer. Returns undefined at the end of the input, if only blank lines are left. Rejects if the signal aborts.
   */
  answer(signal: AbortSignal): Promise<string | undefined>;
}

/** Reads answers from a stream, line by line. */
export function readAnswers(input: NodeJS.ReadableStream): TerminalInput {
  // Ctrl-C and Ctrl-D keep their meaning in the terminal: a signal, and the end of the input.
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
        if (line === undefined) return lines.every((said) => said.trim() === "") ? undefined : lines.join("\n");
        if (line === ".") return lines.join("\n");
        lines.push(line);
      }
    },
    [Symbol.dispose]: () => reader.close(),
  };
}
