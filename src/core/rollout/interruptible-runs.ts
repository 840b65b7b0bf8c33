import { InterruptibleRun } from "./interruptible-run.ts";
import { failed, type Outcome } from "./outcome.ts";

/** A set of concurrent {@link InterruptibleRun}s. One interruption ends all of them, and all later ones. */
export class InterruptibleRuns {
  readonly #open = new Set<InterruptibleRun>();
  #interruption: Outcome | undefined;

  /** Interrupts all runs. Only the first interruption has an effect. */
  interrupt(outcome: Outcome): void {
    this.#interruption ??= outcome;
    for (const run of this.#open) run.interrupt(this.#interruption);
  }

  /** Runs a task. The task waits by the run that it receives. An error or an interruption is returned as an outcome. */
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

/** The result of a task: its value, or the outcome that ended it. */
export type Ran<T> = { readonly value: T } | { readonly outcome: Outcome };
