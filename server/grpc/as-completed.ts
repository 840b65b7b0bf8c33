/**
 * Runs a task for each item of a stream and yields the results in the order in which they end. Reads no further item
 * while `concurrency` tasks run or have results that nobody has taken. Rejects with the first error of the stream or of a task.
 */
export async function* asCompleted<Item, Result>(
  items: AsyncIterable<Item>,
  options: { readonly concurrency: number; readonly run: (item: Item) => Promise<Result> },
): AsyncGenerator<Result> {
  const { concurrency, run } = options;
  const done: Result[] = [];
  let running = 0;
  let ended = false;
  let failure: { readonly error: unknown } | undefined;
  let wake = Promise.withResolvers<void>();
  const changed = (): void => {
    wake.resolve();
    wake = Promise.withResolvers<void>();
  };
  const fail = (error: unknown): void => {
    failure ??= { error };
    changed();
  };
  const start = async (item: Item): Promise<void> => {
    running += 1;
    try {
      done.push(await run(item));
    } catch (error) {
      fail(error);
    } finally {
      running -= 1;
      changed();
    }
  };
  const read = async (): Promise<void> => {
    for await (const item of items) {
      void start(item);
      while (running + done.length >= concurrency && failure === undefined) await wake.promise;
      if (failure !== undefined) return;
    }
    ended = true;
    changed();
  };
  void read().catch(fail);
  for (;;) {
    const next = done.shift();
    if (next !== undefined) {
      changed();
      yield next;
    } else if (failure !== undefined) throw failure.error;
    else if (ended && running === 0) return;
    else await wake.promise;
  }
}
