import { randomUUID } from "node:crypto";
import { LyceumError } from "../../src/contract/errors/index.ts";
import type { EnvironmentRunner } from "./environment-runner.ts";
import type { EnvironmentSession } from "./session.ts";

/** The limits of a server's sessions. */
export interface SessionLimits {
  /** The maximum number of sessions at a time. 256 by default. */
  readonly maxSessions?: number;
  /** The time in milliseconds without a call after which a session is closed. 15 minutes by default. */
  readonly idleMs?: number;
}

/** A session with its unguessable id. */
export interface HostedSession extends EnvironmentSession {
  readonly id: string;
  readonly environment: string;
  /** Counts as a call: the session does not expire for its idle time. */
  touch(): void;
}

/** The sessions of a server, for all of its protocols. */
export interface SessionHost extends AsyncDisposable {
  readonly runner: EnvironmentRunner;
  readonly maxSessions: number;
  readonly activeSessions: number;
  /** True until the host drains or closes. It then opens no more sessions. */
  readonly isOpen: boolean;
  /**
   * Opens a session. `id` is a random one by default. Throws `server.capacity` if there are `maxSessions`,
   * `server.closed` while draining, and `server.invalid-request` if another session has the id.
   */
  open(options: {
    readonly environment: string;
    readonly id?: string;
    readonly signal?: AbortSignal;
  }): Promise<HostedSession>;
  /** Returns an open session. Throws `server.unknown-session`. */
  get(id: string): HostedSession;
  /** Returns an open session. Returns undefined if there is none. */
  find(id: string): HostedSession | undefined;
  /** Refuses new sessions, and resolves when the last open one has closed. Rejects if the signal aborts before. */
  drain(options?: { readonly signal?: AbortSignal }): Promise<void>;
  /** Closes all sessions and the runner. */
  close(): Promise<void>;
}

/** Counts, names and expires the sessions of a runner. */
export function createSessionHost(runner: EnvironmentRunner, limits: SessionLimits = {}): SessionHost {
  const { maxSessions = 256, idleMs = 15 * 60_000 } = limits;
  const sessions = new Map<string, HostedSession & { readonly idleSince: () => number }>();
  /** The ids of the sessions that open. */
  const opening = new Set<string>();
  let draining = false;
  let drained: (() => void)[] = [];
  let closed: Promise<void> | undefined;

  const active = (): number => sessions.size + opening.size;
  const settleDrain = (): void => {
    if (active() > 0) return;
    for (const resolve of drained) resolve();
    drained = [];
  };
  const expiry = setInterval(
    () => {
      const now = performance.now();
      for (const session of sessions.values()) {
        // The session ends even if its environment fails to close.
        if (now - session.idleSince() > idleMs) session.close().catch(() => {});
      }
    },
    Math.max(50, Math.min(idleMs / 4, 5_000)),
  );
  expiry.unref();

  const open: SessionHost["open"] = async ({ environment, id = randomUUID(), signal }) => {
    if (draining || closed !== undefined) throw closedError();
    if (active() >= maxSessions) throw capacityError(active(), maxSessions);
    if (opening.has(id) || sessions.has(id)) throw knownSession();
    opening.add(id);
    try {
      const session = await runner.open({ environment, signal });
      return register({ id, environment, session });
    } finally {
      opening.delete(id);
      settleDrain();
    }
  };

  const register = ({ id, environment, session }: Registered): HostedSession => {
    let running = 0;
    let lastCall = performance.now();
    const timed = async <T>(call: () => Promise<T>): Promise<T> => {
      running += 1;
      try {
        return await call();
      } catch (error) {
        // The session's worker has ended.
        if (LyceumError.isInstance(error) && error.code === "server.unknown-session") await close().catch(() => {});
        throw error;
      } finally {
        running -= 1;
        lastCall = performance.now();
      }
    };
    const close = async (): Promise<void> => {
      sessions.delete(id);
      try {
        await session.close();
      } finally {
        settleDrain();
      }
    };
    const hosted = {
      id,
      environment,
      idleSince: () => (running > 0 ? Infinity : lastCall),
      reset: (options) => timed(() => session.reset(options)),
      step: (options) => timed(() => session.step(options)),
      state: () => timed(() => session.state()),
      touch: () => {
        lastCall = performance.now();
      },
      close,
      [Symbol.asyncDispose]: close,
    } satisfies HostedSession & { idleSince: () => number };
    sessions.set(id, hosted);
    return hosted;
  };

  const close = (): Promise<void> => {
    closed ??= (async () => {
      clearInterval(expiry);
      await Promise.allSettled([...sessions.values()].map((session) => session.close()));
      await runner.close();
    })();
    return closed;
  };
  return {
    runner,
    maxSessions,
    get activeSessions() {
      return active();
    },
    get isOpen() {
      return !draining && closed === undefined;
    },
    open,
    get: (id) => sessions.get(id) ?? raise(unknownSession()),
    find: (id) => sessions.get(id),
    drain: ({ signal } = {}) => {
      draining = true;
      return new Promise((resolve, reject) => {
        signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
        drained.push(resolve);
        settleDrain();
      });
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** What a host registers when a session has opened. */
interface Registered {
  readonly id: string;
  readonly environment: string;
  readonly session: EnvironmentSession;
}

function raise(error: LyceumError): never {
  throw error;
}

function capacityError(active: number, maximum: number): LyceumError {
  return new LyceumError({
    code: "server.capacity",
    message: `The server is at capacity: ${active} of ${maximum} sessions are active.`,
    hint: "Wait until a session closes, or start the server with a greater --max-sessions.",
    data: { activeSessions: active, maxSessions: maximum },
  });
}

function knownSession(): LyceumError {
  return new LyceumError({
    code: "server.invalid-request",
    message: "Another session has this id.",
    hint: "Choose another id, or close that session first.",
  });
}

function closedError(): LyceumError {
  return new LyceumError({
    code: "server.closed",
    message: "The server is about to end and opens no more sessions.",
    hint: "Connect to another server, or wait until this one has restarted.",
  });
}

/** The message does not repeat the id: it can be a guess, and a log must not confirm it. */
function unknownSession(): LyceumError {
  return new LyceumError({
    code: "server.unknown-session",
    message: "There is no such session: it was closed, or it expired.",
    hint: "Open another session.",
  });
}
