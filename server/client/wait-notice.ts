/** Reports that a server is waited for: once, however many instances wait at a time. */
export class WaitNotice {
  readonly #report: (message: string) => void;
  #waiting = false;

  constructor(report: (message: string) => void) {
    this.#report = report;
  }

  /** Reports the reason, unless the server is waited for already. */
  begin(reason: string): void {
    if (this.#waiting) return;
    this.#waiting = true;
    this.#report(reason);
  }

  /** Reports that the server answers, if it was waited for. */
  end(message: string): void {
    if (!this.#waiting) return;
    this.#waiting = false;
    this.#report(message);
  }
}
