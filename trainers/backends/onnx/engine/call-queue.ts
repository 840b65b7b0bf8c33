/** A call that waits for its turn. */
interface WaitingCall {
  readonly group: number | undefined;
  readonly run: () => Promise<void>;
}

/**
 * Runs calls one after another, in order. Calls of one group run together: when the first of them is next, all of them
 * start. A later call of this group joins them only if no other call waits. So every call starts at some time.
 */
export class CallQueue {
  #waiting: WaitingCall[] = [];
  #running = 0;
  #group: number | undefined;

  /** Adds a call, whose promise never rejects. Without a group it runs alone. */
  add(run: WaitingCall["run"], group?: number): void {
    this.#waiting.push({ run, group });
    this.#start();
  }

  #start(): void {
    const group = this.#running > 0 ? this.#group : this.#waiting[0]?.group;
    const isOf = (call: WaitingCall): boolean => group !== undefined && call.group === group;
    if (this.#running > 0 && !this.#waiting.every(isOf)) return;
    const starting = group === undefined ? this.#waiting.slice(0, 1) : this.#waiting.filter(isOf);
    this.#waiting = this.#waiting.filter((call) => !starting.includes(call));
    this.#group = group;
    this.#running += starting.length;
    for (const { run } of starting) {
      void run().then(() => {
        this.#running -= 1;
        this.#start();
      });
    }
  }
}
