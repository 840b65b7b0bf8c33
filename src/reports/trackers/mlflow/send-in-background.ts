import { LyceumError } from "../../../contract/errors/index.ts";

/** Sends items in their order, in batches, one batch at a time, while others are added. */
export interface BackgroundQueue<Item> {
  /** Keeps items and begins to send them. Throws what ended the sending, if anything did. */
  add(items: readonly Item[]): void;
  /** Throws what ended the sending, if anything did. */
  check(): void;
  /** Sends what is left. Rejects with what ended the sending, the signal included. */
  close(signal: AbortSignal): Promise<void>;
}

/** How long one batch is tried for: a server may be started anew in the meantime. */
const batchMs = 120_000;
/** More items than these do not wait: a run of weeks must not fill the memory. */
const mostWaiting = 100_000;

/** A queue over `send`, which rejects for a batch that cannot be sent; nothing is sent after that. */
export function sendInBackground<Item>(options: {
  readonly batchSize: number;
  send(batch: readonly Item[], signal: AbortSignal): Promise<void>;
}): BackgroundQueue<Item> {
  const { batchSize, send } = options;
  let waiting: Item[] = [];
  let failure: { readonly error: unknown } | undefined;
  let sending: Promise<void> | undefined;
  const closing = new AbortController();

  const sendAll = async (): Promise<void> => {
    try {
      while (waiting.length > 0 && failure === undefined) {
        const batch = waiting.slice(0, batchSize);
        waiting = waiting.slice(batchSize);
        await send(batch, AbortSignal.any([closing.signal, AbortSignal.timeout(batchMs)]));
      }
    } catch (error) {
      failure ??= { error };
    }
    sending = undefined;
  };
  const check = (): void => {
    if (failure !== undefined) throw failure.error;
  };
  return {
    add: (items) => {
      check();
      if (waiting.length + items.length > mostWaiting) failure = { error: overflow() };
      check();
      waiting.push(...items);
      sending ??= sendAll();
    },
    check,
    close: async (signal) => {
      const abort = (): void => closing.abort(signal.reason);
      if (signal.aborted) abort();
      signal.addEventListener("abort", abort, { once: true });
      try {
        while (sending !== undefined) await sending;
        check();
      } finally {
        signal.removeEventListener("abort", abort);
      }
    },
  };
}

function overflow(): LyceumError {
  return new LyceumError({
    code: "tracker.failed",
    message: `The server takes metrics more slowly than the run makes them: ${mostWaiting} wait.`,
    hint: "Look what holds the server up.",
  });
}
