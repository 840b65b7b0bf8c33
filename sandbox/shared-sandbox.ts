import type { Sandbox } from "./sandbox.ts";

/** A sandbox that several holders share: opened for the first, closed when the last lets go. */
export class SharedSandbox {
  readonly #open: () => Promise<Sandbox>;
  #opened: Promise<Sandbox> | undefined;
  #holders = 0;

  constructor(open: () => Promise<Sandbox>) {
    this.#open = open;
  }

  /** The sandbox, until the hold is disposed of. Rejects with what opening rejects with; the next hold tries again. */
  async hold(): Promise<SandboxHold> {
    this.#holders++;
    this.#opened ??= this.#open();
    const opened = this.#opened;
    try {
      const sandbox = await opened;
      let held = true;
      return {
        sandbox,
        [Symbol.asyncDispose]: async () => {
          if (!held) return;
          held = false;
          await this.#release();
        },
      };
    } catch (error) {
      this.#holders--;
      if (this.#opened === opened) this.#opened = undefined;
      throw error;
    }
  }

  async #release(): Promise<void> {
    this.#holders--;
    if (this.#holders > 0) return;
    const opened = this.#opened;
    this.#opened = undefined;
    await (await opened)?.[Symbol.asyncDispose]();
  }
}

/** One holder's share of a sandbox; disposing of it twice is harmless. */
export interface SandboxHold extends AsyncDisposable {
  readonly sandbox: Sandbox;
}
