/** A hold on what several share, until it is disposed of. */
export interface SharedResource<T> extends AsyncDisposable {
  readonly value: T;
}

/**
 * An `open` for what all instances of an environment share, such as the connection to a server: it is opened for the
 * first instance that needs it, and disposed of after the last has let go. What `open` rejects with, the hold rejects
 * with; the next hold tries again. Make it before the definition that takes it, so that its type is inferred.
 */
export function sharedResource<T extends AsyncDisposable>(open: () => Promise<T>): () => Promise<SharedResource<T>> {
  let opened: Promise<T> | undefined;
  let holders = 0;
  return async () => {
    holders++;
    opened ??= open();
    const own = opened;
    let holds = true;
    const release = async (): Promise<void> => {
      if (!holds) return;
      holds = false;
      holders--;
      if (holders > 0 || opened !== own) return;
      opened = undefined;
      await (await own)[Symbol.asyncDispose]();
    };
    try {
      return { value: await own, [Symbol.asyncDispose]: release };
    } catch (error) {
      if (opened === own) opened = undefined;
      holders--;
      throw error;
    }
  };
}
