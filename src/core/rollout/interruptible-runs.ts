import { InterruptibleRun } from "./interruptible-run.ts";
import { failed, type Outcome } from "./outcome.ts";

/** Many {@link InterruptibleRun}s at once, which one interruption ends, and all that come later. */
export class InterruptibleRuns {
  readonly #open = new Set<InterruptibleRun>();
  #interruption: Outcome | undefined;

  /** Ends them all. The first interruption counts. */
  interrupt(outcome: Outcome): void {
    this.#interruption ??= outcome;
    for (const run of this.#open) run.interrupt(this.#interruption);
  }

  /** Runs a task that waits with the run it is given. What it throws, or is interrupted by, is an outcome. */
  async run<T>(task: (run: InterruptibleRun) => Promise<T>): Promise<Ran<T>> {
    const run = new InterruptibleRun();
    if (this.#interruption !== undefined) run.interrupt(this.#interruption);
    this.#open.add(run);
    try {
      return { value: await task(run) };
    } catch (error) {
      return { outcome: run.interruption ?? failed(error) };
    } finally {
      run.stopClock();
      this.#open.delete(run);
    }
  }
}

/** What came of a task: its value, or why it ended. */
export type Ran<T> = { readonly value: T } | { readonly outcome: Outcome };
