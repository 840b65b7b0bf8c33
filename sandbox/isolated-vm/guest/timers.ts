/** The timers of a guest. */
export interface Timers {
  /** Schedules work for when nothing else is left to run. Returns a number for {@link Timers.cancel}. */
  schedule(work: unknown, delay: unknown, args: unknown[], repeat?: boolean): number;
  cancel(id: unknown): void;
  /** Removes and returns the work that is due first. Undefined if there is none. */
  next(): (() => unknown) | undefined;
}

/**
 * Timers that do not wait: when nothing else is left to run, the timer that is due first runs. Sent to an isolate as
 * source text, so it refers to nothing outside itself.
 */
export function createTimers(): Timers {
  interface Timer {
    readonly id: number;
    readonly at: number;
    readonly every: number | undefined;
    readonly work: () => unknown;
    next: Timer | undefined;
  }
  const { apply } = Reflect;
  const NewError = Error;
  let now = 0;
  let first: Timer | undefined;
  let count = 0;
  const insert = (timer: Timer): void => {
    if (first === undefined || timer.at < first.at) {
      timer.next = first;
      first = timer;
      return;
    }
    let before = first;
    while (before.next !== undefined && before.next.at <= timer.at) before = before.next;
    timer.next = before.next;
    before.next = timer;
  };
  return {
    schedule: (work, delay, args, repeat = false) => {
      if (typeof work !== "function") throw new NewError("A timer takes a function.");
      const wait = typeof delay === "number" && delay > 1 ? delay : 1;
      const id = ++count;
      const call = (): unknown => apply(work, undefined, args);
      insert({ id, at: now + wait, every: repeat ? wait : undefined, work: call, next: undefined });
      return id;
    },
    cancel: (id) => {
      if (first?.id === id) first = first?.next;
      for (let at = first; at !== undefined; at = at.next) if (at.next?.id === id) at.next = at.next?.next;
    },
    next: () => {
      const timer = first;
      if (timer === undefined) return undefined;
      first = timer.next;
      now = timer.at;
      if (timer.every !== undefined) insert({ ...timer, at: now + timer.every });
      return timer.work;
    },
  };
}
