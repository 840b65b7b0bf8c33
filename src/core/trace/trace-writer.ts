import { type FileHandle, open } from "node:fs/promises";
import type { Episode } from "../../contract/episode.ts";
import { LyceumError } from "../../contract/errors/index.ts";
import { isDiskFull, writeFailed } from "../../contract/errors/write-failed.ts";
import { sum } from "../statistics.ts";
import { endsLine, findTraceEnd } from "./find-trace-end.ts";
import { headerLine } from "./trace-format.ts";

/** The number of queued characters above which `write` makes its callers wait. */
const maximumWaiting = 1 << 20;

/** The place of a line in its file, in bytes. The length includes the newline. */
export interface TracePosition {
  readonly offset: number;
  readonly length: number;
}

/** Complete lines that wait for the disk. */
interface WaitingLines {
  text: string;
  /**
   * The episodes of these lines, with the length of each line in characters. Kept only if there is an `onWritten`
   * callback.
   */
  readonly episodes: { readonly episode: Episode; readonly line: string }[];
}

/** Writes episodes to a file as they end, one line of JSON each. */
export interface TraceWriter extends AsyncDisposable {
  /** The number of episodes accepted so far. */
  readonly episodes: number;
  /**
   * Adds an episode. Resolves when there is room for the next one (not when this one is on disk). Rejects with
   * `trace.write-failed` after a failed write.
   */
  write(episode: Episode): Promise<void>;
  /**
   * Waits until every accepted episode is on disk. Returns the length of the file in bytes, for `append`. Rejects with
   * `trace.write-failed`.
   */
  flush(): Promise<number>;
  /**
   * Waits until all episodes are written, and closes the file. It can be called more than once. Rejects with
   * `trace.write-failed` if a write failed. Disposal rejects only if no earlier call has reported the failure.
   */
  close(): Promise<void>;
}

/**
 * Opens a trace for writing. Throws `trace.write-failed` if the file exists, unless `append` is set. `append: true`
 * continues an existing trace and removes an incomplete last line. `append: { length }` goes back to a length that
 * `flush` returned, and removes everything after it. If no line ends at that length, the file is a different trace, and
 * only an incomplete last line is removed.
 */
export async function createTraceWriter(options: {
  readonly path: string;
  readonly append?: boolean | { readonly length: number };
  /** Called for each episode in order after its line is in the file (not when it is on disk). It must not throw. */
  readonly onWritten?: (episode: Episode, position: TracePosition) => void;
}): Promise<TraceWriter> {
  const { path, append = false, onWritten } = options;
  const length = typeof append === "object" ? append.length : undefined;
  const existing = append === false ? undefined : await openExisting(path, length);
  if (existing !== undefined) return traceWriterOn(existing.file, { path, position: existing.end, onWritten });
  const file = await open(path, "wx").catch((error: unknown) => {
    throw writeError(path, error);
  });
  return traceWriterOn(file, { path, position: 0, onWritten });
}

async function openExisting(
  path: string,
  length: number | undefined,
): Promise<{ readonly file: FileHandle; readonly end: number } | undefined> {
  let file: FileHandle;
  try {
    file = await open(path, "r+");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw writeError(path, error);
  }
  try {
    const whole = await findTraceEnd(file, path);
    const end = length !== undefined && length < whole && (await endsLine(file, length)) ? length : whole;
    await file.truncate(end);
    return { file, end };
  } catch (error) {
    await file.close();
    throw writeError(path, error);
  }
}

/**
 * Creates a writer for an open file, and closes the file at the end. Writes from `position` on, with a header if it is
 * 0.
 */
export function traceWriterOn(file: FileHandle, options: FileTraceOptions): TraceWriter {
  return new FileTraceWriter(file, options);
}

interface FileTraceOptions {
  readonly path: string;
  readonly position: number;
  readonly onWritten?: (episode: Episode, position: TracePosition) => void;
}

class FileTraceWriter implements TraceWriter {
  episodes = 0;
  readonly #file: FileHandle;
  readonly #path: string;
  readonly #onWritten: FileTraceOptions["onWritten"];
  /** The offset of the next complete line. */
  #position: number;
  /** The queued lines in chunks of about 1 MiB, because a single string could exceed the maximum string length. */
  readonly #waiting: WaitingLines[] = [];
  /** The number of queued characters. */
  #waitingLength = 0;
  #draining: Promise<void> | undefined;
  #failure: LyceumError | undefined;
  /** True if a call has rejected with the failure. */
  #reported = false;
  #closed: Promise<void> | undefined;

  constructor(file: FileHandle, { path, position, onWritten }: FileTraceOptions) {
    this.#file = file;
    this.#path = path;
    this.#onWritten = onWritten;
    this.#position = position;
    if (position === 0) this.#add(headerLine());
  }

  async write(episode: Episode): Promise<void> {
    if (this.#closed !== undefined) throw writeError(this.#path, new Error("The trace is closed."));
    if (this.#failure === undefined) {
      this.#add(this.#lineOf(episode), episode);
      this.episodes += 1;
      this.#draining ??= this.#drain();
      while (this.#waitingLength > maximumWaiting && this.#failure === undefined) await this.#draining;
    }
    this.#check();
  }

  async flush(): Promise<number> {
    if (this.#closed !== undefined) throw writeError(this.#path, new Error("The trace is closed."));
    if (this.#waiting.length > 0) this.#draining ??= this.#drain();
    await this.#draining;
    const length = this.#position;
    if (this.#failure === undefined) {
      await this.#file.datasync().catch((error: unknown) => {
        this.#failure ??= writeError(this.#path, error);
      });
    }
    this.#check();
    return length;
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const wasReported = this.#reported;
    await this.close().catch((error: unknown) => {
      if (!wasReported) throw error;
    });
  }

  #add(line: string, episode?: Episode): void {
    let lines = this.#waiting.at(-1);
    if (lines === undefined || lines.text.length + line.length > maximumWaiting) {
      lines = { text: "", episodes: [] };
      this.#waiting.push(lines);
    }
    lines.text += line;
    if (episode !== undefined && this.#onWritten !== undefined) lines.episodes.push({ episode, line });
    this.#waitingLength += line.length;
  }

  #lineOf(episode: Episode): string {
    try {
      return `${JSON.stringify(episode)}\n`;
    } catch (cause) {
      throw new LyceumError({
        code: "trace.write-failed",
        message: `The episode ${episode.id} cannot be a line of the trace ${this.#path}: ${(cause as Error).message}`,
        hint: "Environments and policies must use plain data, with less than 0.5 GiB per episode.",
        data: { path: this.#path, episode: episode.id },
        cause,
      });
    }
  }

  /** Throws the failure, if there is one. */
  #check(): void {
    if (this.#failure === undefined) return;
    this.#reported = true;
    throw this.#failure;
  }

  async #close(): Promise<void> {
    if (this.#waiting.length > 0) this.#draining ??= this.#drain();
    await this.#draining;
    await this.#file.close();
    this.#check();
  }

  /** Writes the queued lines, and those that are added meanwhile. At least one must be queued. Never rejects. */
  async #drain(): Promise<void> {
    while (this.#waiting.length > 0 && this.#failure === undefined) {
      const { text, episodes } = this.#waiting.shift()!;
      this.#waitingLength -= text.length;
      const lines = Buffer.from(text);
      try {
        await this.#writeAll(lines);
        this.#position += lines.length;
        this.#reportWritten(episodes);
      } catch (error) {
        this.#failure = writeError(this.#path, error);
        // Goes back to the last complete line. If even that fails, readers skip the incomplete line.
        await this.#file.truncate(this.#position).catch(() => {});
      }
    }
    this.#draining = undefined;
  }

  /** Reports the last lines of the file to `onWritten`. */
  #reportWritten(episodes: WaitingLines["episodes"]): void {
    const lengths = episodes.map(({ line }) => Buffer.byteLength(line));
    let offset = this.#position - sum(lengths);
    for (const [index, { episode }] of episodes.entries()) {
      const length = lengths[index]!;
      this.#onWritten!(episode, { offset, length });
      offset += length;
    }
  }

  async #writeAll(bytes: Buffer): Promise<void> {
    let offset = 0;
    while (offset < bytes.length) {
      const { bytesWritten } = await this.#file.write(bytes, offset, bytes.length - offset, this.#position + offset);
      offset += bytesWritten;
    }
  }
}

function writeError(path: string, cause: unknown): LyceumError {
  const hint = isDiskFull(cause)
    ? "Then resume the run or append to the trace. The episodes written before are intact."
    : (cause as NodeJS.ErrnoException).code === "EEXIST"
      ? "Use append to continue an existing trace."
      : undefined;
  return writeFailed({ path, cause, what: `The trace ${path}`, hint });
}
