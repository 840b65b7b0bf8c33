import { randomUUID } from "node:crypto";

/** Links for downloads of checkpoints without a key. They expire. */
export class DownloadLinks {
  readonly #keepMs: number;
  readonly #links = new Map<string, { readonly path: string; readonly expires: number }>();

  /** Links are valid for `keepMs` milliseconds. */
  constructor(options: { readonly keepMs: number }) {
    this.#keepMs = options.keepMs;
  }

  /** Creates a link to a path. Its token cannot be guessed. */
  create(path: string): { readonly token: string; readonly expires: Date } {
    this.#expire();
    const token = randomUUID();
    const expires = Date.now() + this.#keepMs;
    this.#links.set(token, { path, expires });
    return { token, expires: new Date(expires) };
  }

  /** Returns the path of a link. Undefined if it is unknown or has expired. */
  path(token: string): string | undefined {
    this.#expire();
    return this.#links.get(token)?.path;
  }

  #expire(): void {
    for (const [token, { expires }] of this.#links) if (expires <= Date.now()) this.#links.delete(token);
  }
}
