/** A reference to a shared resource. Dispose of it to release the resource. */
export interface SharedResource<T> extends AsyncDisposable {
  readonly value: T;
}

/**
 * Returns an `open` function for a resource that all instances of an environment share, such as a connection to a
 * server. The resource is opened for the first instance that needs it. It is disposed of after the last instance has
 * released it. If opening fails, the instance's `open` rejects with the error, and the next call tries again. Create it
 * before the definition that uses it, so that its type is inferred.
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
