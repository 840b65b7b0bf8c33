/** Reports once that we are waiting for a server, even if many instances wait. */
export class WaitNotice {
  readonly #report: (message: string) => void;
  #waiting = false;

  constructor(report: (message: string) => void) {
    this.#report = report;
  }

  /** Reports the reason, unless we are already waiting. */
  begin(reason: string): void {
    if (this.#waiting) return;
    this.#waiting = true;
    this.#report(reason);
  }

  /** Reports that the server answers, if we were waiting. */
  end(message: string): void {
    if (!this.#waiting) return;
    this.#waiting = false;
    this.#report(message);
  }
}
