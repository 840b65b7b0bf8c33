/**
 * A queue of events from many producers to one consumer, in order. Producers await `room` before they start work that
 * creates events, so that a slow consumer slows them down.
 */
export class EventQueue<Event> implements AsyncIterable<Event> {
  #capacity: number;
  #events: Event[] = [];
  #end: { readonly error?: unknown } | undefined;
  #consumer: (() => void) | undefined;
  #producers: (() => void)[] = [];

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  push(event: Event): void {
    this.#events.push(event);
    this.#wakeConsumer();
  }

  /** Ends the iteration after the last event. Throws `error` to the consumer, if there is one. */
  end(error?: unknown): void {
    this.#end ??= error === undefined ? {} : { error };
    this.#wakeConsumer();
  }

  /** Returns a promise to await if the queue is full, else undefined. */
  room(): Promise<void> | undefined {
    if (this.#events.length < this.#capacity) return undefined;
    return new Promise((resolve) => this.#producers.push(resolve));
  }

  /** Call this if the consumer has stopped. All producers continue. */
  abandon(): void {
    this.#capacity = Infinity;
    this.#wakeProducers();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Event, void, undefined> {
    for (;;) {
      const events = this.#events;
      this.#events = [];
      this.#wakeProducers();
      yield* events;
      if (this.#events.length > 0) continue;
      if (this.#end !== undefined) {
        if (this.#end.error !== undefined) throw this.#end.error;
        return;
      }
      await new Promise<void>((resolve) => {
        this.#consumer = resolve;
      });
    }
  }

  #wakeConsumer(): void {
    this.#consumer?.();
    this.#consumer = undefined;
  }

  #wakeProducers(): void {
    const producers = this.#producers;
    this.#producers = [];
    for (const producer of producers) producer();
  }
}
