import { LyceumError } from "../../../src/contract/errors/index.ts";

/** Sends items in order and in batches, one batch at a time, while more items are added. */
export interface BackgroundQueue<Item> {
  /** Adds items and starts to send them. Throws the error that stopped the queue, if any. */
  add(items: readonly Item[]): void;
  /** Throws the error that stopped the queue, if any. */
  check(): void;
  /** Sends the remaining items. Rejects with the error that stopped the queue, or if the signal aborts. */
  close(signal: AbortSignal): Promise<void>;
}

/** The time for which a batch is retried. A server can be restarted in this time. */
const batchMs = 120_000;
/** The maximum length of the queue, so that a run of weeks does not fill the memory. */
const mostWaiting = 100_000;

/** Creates a queue for `send`. If `send` rejects, the queue stops. */
export function sendInBackground<Item>(options: {
  readonly batchSize: number;
  send(batch: readonly Item[], signal: AbortSignal): Promise<void>;
}): BackgroundQueue<Item> {
  const { batchSize, send } = options;
  let queue: Item[] = [];
  let failure: { readonly error: unknown } | undefined;
  let sending: Promise<void> | undefined;
  const closing = new AbortController();

  const sendAll = async (): Promise<void> => {
    try {
      while (queue.length > 0 && failure === undefined) {
        const batch = queue.slice(0, batchSize);
        queue = queue.slice(batchSize);
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
      if (queue.length + items.length > mostWaiting) failure = { error: overflow() };
      check();
      queue.push(...items);
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
    message: `The server accepts metrics more slowly than the run produces them: ${mostWaiting} are queued.`,
    hint: "Check why the server is slow.",
  });
}
