import type { Tokenizer } from "./tokenizer.ts";

/** Turns a stream of ids into text, without U+FFFD for a UTF-8 sequence that is split across ids. */
export interface IncrementalDecoder {
  /** The text that is certain now that `id` has come: empty while a character is incomplete. */
  push(id: number): string;
  /** What was held back, an incomplete character as U+FFFD. The decoder then begins anew. */
  flush(): string;
}

const replacement = "\uFFFD";

/** An incomplete UTF-8 sequence has at most three bytes, so at most three ids; with one more, the start is settled. */
const settledLength = 4;

/**
 * The texts of all `push` calls and the last `flush`, joined, are `tokenizer.decode` of all ids. Each call decodes
 * only a short window of the last ids, the first of which is context (some decoders trim a leading space).
 */
export function createIncrementalDecoder(tokenizer: Tokenizer): IncrementalDecoder {
  let window: number[] = [];
  let given = 0;
  const settle = (text: string): void => {
    const head = tokenizer.decode(window.slice(0, -settledLength));
    const tail = window.slice(-settledLength);
    if (head + tokenizer.decode(tail) !== text) return;
    window = tail;
    given -= head.length;
  };
  return {
    push: (id) => {
      window.push(id);
      const text = tokenizer.decode(window);
      const isComplete = !text.endsWith(replacement);
      const certain = isComplete ? text : text.slice(0, -1);
      const added = certain.slice(given);
      given = Math.max(given, certain.length);
      if (isComplete) {
        window = [id];
        given = tokenizer.decode(window).length;
      } else if (window.length > 2 * settledLength) settle(text);
      return added;
    },
    flush: () => {
      const rest = window.length === 0 ? "" : tokenizer.decode(window).slice(given);
      window = [];
      given = 0;
      return rest;
    },
  };
}
