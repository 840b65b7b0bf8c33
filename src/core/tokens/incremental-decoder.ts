import type { Tokenizer } from "./tokenizer.ts";

/** Decodes a stream of ids, without U+FFFD for UTF-8 sequences that are split across ids. */
export interface IncrementalDecoder {
  /** Adds an id and returns the text that is now certain. The text is empty while a character is incomplete. */
  push(id: number): string;
  /** Returns what `push` would return for an id, without adding it. */
  peek(id: number): string;
  /** Returns the pending text, with an incomplete character as U+FFFD. Resets the decoder. */
  flush(): string;
}

const replacement = "\uFFFD";

/**
 * An incomplete UTF-8 sequence has at most three bytes, so at most three ids. With one id more, the beginning is
 * settled.
 */
const settledLength = 4;

/**
 * Creates a decoder. The joined results of all `push` calls and the last `flush` equal `tokenizer.decode` of all ids.
 * Each call decodes only a short window of the last ids. The first id of the window is context, because some decoders
 * trim a leading space.
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
  const read = (ids: readonly number[]) => {
    const text = tokenizer.decode(ids);
    const isComplete = !text.endsWith(replacement);
    const certain = isComplete ? text : text.slice(0, -1);
    return { text, isComplete, certain, added: certain.slice(given) };
  };
  return {
    peek: (id) => read([...window, id]).added,
    push: (id) => {
      window.push(id);
      const { text, isComplete, certain, added } = read(window);
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
