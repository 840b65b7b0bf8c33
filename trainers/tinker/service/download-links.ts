import { randomUUID } from "node:crypto";

/** What a link leads to. */
export interface Download {
  /** The path of a checkpoint. */
  readonly path: string;
  /** The name of one of its files. Undefined for an archive of all. */
  readonly file?: string;
}

/** Links for downloads of checkpoints without a key. They expire. */
export class DownloadLinks {
  readonly #keepMs: number;
  readonly #links = new Map<string, { readonly download: Download; readonly expires: number }>();

  /** Links are valid for `keepMs` milliseconds. */
  constructor(options: { readonly keepMs: number }) {
    this.#keepMs = options.keepMs;
  }

  /** Creates a link. Its token cannot be guessed. */
  create(download: Download): { readonly token: string; readonly expires: Date } {
    this.#expire();
    const token = randomUUID();
    const expires = Date.now() + this.#keepMs;
    this.#links.set(token, { download, expires });
    return { token, expires: new Date(expires) };
  }

  /** Returns what a link leads to. Undefined if it is unknown or has expired. */
  find(token: string): Download | undefined {
    this.#expire();
    return this.#links.get(token)?.download;
  }

  #expire(): void {
    for (const [token, { expires }] of this.#links) if (expires <= Date.now()) this.#links.delete(token);
  }
}
