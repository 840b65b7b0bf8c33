import { closedSessionError } from "./definition-session.ts";
import type { EnvironmentWorker } from "./environment-worker.ts";
import type { EnvironmentSession } from "./session.ts";

/**
 * Opens a session in a worker thread. A session whose call does not end after the timeout is closed. After the thread
 * has ended, all calls but `close` throw `server.unknown-session`.
 */
export async function workerSession(options: {
  readonly worker: EnvironmentWorker;
  readonly environment: string;
  readonly signal: AbortSignal | undefined;
}): Promise<EnvironmentSession> {
  const { worker, environment, signal: openSignal } = options;
  const session = worker.newSession();
  worker.sessions += 1;
  try {
    await worker.call("open", { session, environment }, { signal: openSignal });
  } catch (error) {
    worker.sessions -= 1;
    throw error;
  }
  let closed: Promise<void> | undefined;
  const end = async (): Promise<void> => {
    try {
      await worker.call("close", { session });
    } catch (error) {
      if (worker.endReason === undefined) throw error;
    } finally {
      worker.sessions -= 1;
    }
  };
  const close = (): Promise<void> => {
    closed ??= end();
    return closed;
  };
  const onHang = (): void => void close().catch(() => {});
  const checkOpen = (): void => {
    if (closed !== undefined) throw closedSessionError();
  };
  return {
    reset: async ({ signal, ...reset } = {}) => {
      checkOpen();
      return worker.call("reset", { session, options: reset }, { signal, onHang });
    },
    step: async ({ signal, ...step }) => {
      checkOpen();
      return worker.call("step", { session, options: step }, { signal, onHang });
    },
    state: async () => {
      checkOpen();
      return worker.call("state", { session }, { onHang });
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
