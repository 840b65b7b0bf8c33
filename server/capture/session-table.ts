import { createHash } from "node:crypto";
import { LyceumError } from "../../src/contract/errors/index.ts";
import { type CaptureSessionOptions, RecordedSession } from "./capture-session.ts";

const idForm = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/;

/** The limits of a server's sessions. */
interface SessionLimits {
  readonly maxSessions?: number;
  readonly maxParallelCalls?: number;
}

/**
 * The open sessions of a server. They are found by the hash of their id, so that the time of a failed search says
 * nothing about the ids.
 */
export class SessionTable {
  readonly #maxSessions: number;
  readonly #maxParallelCalls: number;
  readonly #sessions = new Map<string, RecordedSession>();
  #closed = false;

  constructor({ maxSessions = 4096, maxParallelCalls = 64 }: SessionLimits) {
    this.#maxSessions = maxSessions;
    this.#maxParallelCalls = maxParallelCalls;
  }

  /** Opens a session. Throws `config.invalid` for a wrong or used id, `server.capacity`, and `server.closed`. */
  open(options: CaptureSessionOptions): RecordedSession {
    if (this.#closed) throw closedError();
    options.signal?.throwIfAborted();
    if (this.#sessions.size >= this.#maxSessions) throw capacityError(this.#maxSessions);
    const { sessionId } = options;
    if (sessionId !== undefined && !idForm.test(sessionId)) throw wrongId();
    if (sessionId !== undefined && this.get(sessionId) !== undefined) throw usedId();
    const session: RecordedSession = new RecordedSession(options, {
      maxParallelCalls: this.#maxParallelCalls,
      onClose: () => this.#sessions.delete(digest(session.id)),
    });
    this.#sessions.set(digest(session.id), session);
    return session;
  }

  get(id: string): RecordedSession | undefined {
    return this.#sessions.get(digest(id));
  }

  all(): readonly RecordedSession[] {
    return [...this.#sessions.values()];
  }

  /** Closes all sessions and opens no more. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(this.all().map((session) => session.close()));
  }
}

function digest(id: string): string {
  return createHash("sha256").update(id).digest("base64");
}

function wrongId(): LyceumError {
  return new LyceumError({
    code: "config.invalid",
    message: "The id of a session has up to 128 letters, digits, dots, dashes and underscores.",
    hint: "Omit the id: the server then chooses an unguessable one.",
  });
}

function usedId(): LyceumError {
  return new LyceumError({
    code: "config.invalid",
    message: "A session with this id is open already.",
    hint: "Close it first, or omit the id.",
  });
}

function capacityError(maximum: number): LyceumError {
  return new LyceumError({
    code: "server.capacity",
    message: `The server has ${maximum} open sessions, which is its limit.`,
    hint: "Close sessions that have ended, or raise maxSessions.",
    data: { maxSessions: maximum },
  });
}

function closedError(): LyceumError {
  return new LyceumError({
    code: "server.closed",
    message: "The capture server is closed.",
    hint: "Start another one.",
  });
}
