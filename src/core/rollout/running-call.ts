/** A call of the user's code: of an environment, or the import of a module. */
export interface RunningCall {
  /** What is called, such as `environment "math"` or `module "./shop.ts"`. */
  readonly subject: string;
  readonly call: string;
  readonly task?: string;
  readonly turn?: number;
  /** The maximum duration, in milliseconds, if the call has one. */
  readonly limitMs?: number;
}

/** Observes the beginning of a call. Returns what to do when the call returns its promise, and when the promise settles. */
export type CallObserver = (call: RunningCall) => { returned(): void; settled(): void };

let observer: CallObserver | undefined;

/** Tells `observe` about all later calls in this process, until it is disposed of. Replaces the previous observer. */
export function observeCalls(observe: CallObserver): Disposable {
  observer = observe;
  return {
    [Symbol.dispose]: () => {
      if (observer === observe) observer = undefined;
    },
  };
}

/** Starts a call of the user's code, and reports it to the observer until it has settled. */
export function startCall<T>(call: RunningCall, start: () => Promise<T>): Promise<T> {
  if (observer === undefined) return start();
  const { returned, settled } = observer(call);
  let result: Promise<T>;
  try {
    result = start();
  } catch (error) {
    returned();
    settled();
    throw error;
  }
  returned();
  // An environment may return any value.
  Promise.resolve(result).then(settled, settled);
  return result;
}
