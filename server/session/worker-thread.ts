import { parentPort, workerData } from "node:worker_threads";
import { type ErrorData, fromErrorData, toErrorData } from "../../src/contract/errors/index.ts";
import { closedSessionError } from "./definition-session.ts";
import { type OpenedEnvironments, openModule } from "./environment-module.ts";
import type { EnvironmentRunner } from "./environment-runner.ts";
import { localRunner } from "./local-runner.ts";
import { messageBatch } from "./message-batch.ts";
import type { EnvironmentSession } from "./session.ts";
import type { WorkerCalls, WorkerReply, WorkerRequest, WorkerSettings } from "./worker-messages.ts";

/*
 * A thread of `workerRunner`. It opens the environments of a module and runs their sessions. Its signs of life show the
 * main thread whether environment code blocks it.
 */

/** The interval of the signs of life, in milliseconds. */
const beatMs = 100;

const { module, data, beat } = workerData as WorkerSettings;
const port = parentPort!;
const sessions = new Map<number, EnvironmentSession>();
const aborts = new Map<number, AbortController>();
let opened: OpenedEnvironments | undefined;
let runner: EnvironmentRunner | undefined;

type ThreadCalls = {
  readonly [Method in keyof WorkerCalls]: (
    argument: Parameters<WorkerCalls[Method]>[0],
    signal: AbortSignal,
  ) => Promise<ReturnType<WorkerCalls[Method]>>;
};

const calls: ThreadCalls = {
  start: async () => {
    opened = await openModule(module, data);
    runner = await localRunner(opened.environments);
    return runner.environments;
  },
  open: async ({ session, environment }, signal) => {
    const created = await runner!.open({ environment, signal });
    if (signal.aborted) {
      await created.close();
      throw signal.reason;
    }
    sessions.set(session, created);
  },
  reset: async ({ session, options }, signal) => find(session).reset({ ...options, signal }),
  step: async ({ session, options }, signal) => find(session).step({ ...options, signal }),
  state: async ({ session }) => find(session).state(),
  close: async ({ session }) => {
    const closing = sessions.get(session);
    sessions.delete(session);
    await closing?.close();
  },
  tasks: async (options, signal) => runner!.tasks({ ...options, signal }),
  scoreGroup: async (options, signal) => runner!.scoreGroup({ ...options, signal }),
  end: async () => {
    await runner?.close();
    await opened?.close?.();
  },
};

const reply = messageBatch<WorkerReply>({
  post: (replies) => port.postMessage(replies),
  onFailure: ({ id }, error) => reply({ type: "error", id, error: notCopied(error) }),
});

const showLife = (): void => void Atomics.store(beat, 0, process.hrtime.bigint());
showLife();
setInterval(showLife, beatMs);

port.on("message", (requests: readonly WorkerRequest[]) => {
  for (const request of requests) {
    if (request.type === "call") void answer(request);
    else aborts.get(request.id)?.abort(fromErrorData(request.reason));
  }
});

async function answer({ id, method, argument }: Extract<WorkerRequest, { type: "call" }>): Promise<void> {
  const abort = new AbortController();
  aborts.set(id, abort);
  try {
    const call = calls[method] as (argument: unknown, signal: AbortSignal) => Promise<unknown>;
    reply({ type: "result", id, result: await call(argument, abort.signal) });
  } catch (error) {
    reply({ type: "error", id, error: toErrorData(error, "environment.failed") });
  } finally {
    aborts.delete(id);
  }
}

function find(session: number): EnvironmentSession {
  const found = sessions.get(session);
  if (found === undefined) throw closedSessionError();
  return found;
}

function notCopied(error: unknown): ErrorData {
  return {
    name: "LyceumError",
    code: "environment.contract",
    message: `The environment returned a value that is no plain data: ${toErrorData(error).message}`,
    hint: "Return observations, rewards, info and state as plain data.",
  };
}
