import { parentPort, workerData } from "node:worker_threads";
import { toErrorData } from "../../../../src/contract/errors/index.ts";
import { CallQueue } from "./call-queue.ts";
import { createEngine } from "./engine.ts";
import type { CallContext, EngineCalls, EngineSettings } from "./engine-calls.ts";
import { type EngineReply, type EngineRequest, itemsPerReceipt } from "./engine-messages.ts";

/**
 * The engine's thread. A run of ONNX Runtime blocks its thread for seconds, so it must not be the main thread. An
 * abort takes effect between two runs.
 */
const port = parentPort!;
const engine = createEngine(workerData as EngineSettings);
/** The calls that run or wait. */
const calls = new Map<number, { readonly abort: AbortController; readonly dropped: Set<number> }>();
const queue = new CallQueue();

/** The items that the caller's thread has not said it received, and who waits for it to catch up. */
const unread = { count: 0, waiting: [] as (() => void)[] };
/** The number of unread items at which the sampling of streams waits. */
const maxUnread = 4 * itemsPerReceipt;

/** A stream's caller may be slower than the engine. Its messages would fill the memory, and other answers wait behind. */
const room = (): Promise<void> | undefined =>
  unread.count < maxUnread ? undefined : new Promise((resolve) => unread.waiting.push(resolve));

const reply = (message: EngineReply): void => port.postMessage(message);

port.on("message", (request: EngineRequest) => {
  if (request.type === "abort") {
    calls.get(request.id)?.abort.abort();
    return;
  }
  if (request.type === "received") {
    unread.count -= request.count;
    if (unread.count < maxUnread) for (const goOn of unread.waiting.splice(0)) goOn();
    return;
  }
  if (request.type === "drop") {
    for (const index of request.requests) calls.get(request.id)?.dropped.add(index);
    return;
  }
  const { id, method, argument } = request;
  const abort = new AbortController();
  const dropped = new Set<number>();
  calls.set(id, { abort, dropped });
  const emit = (item: unknown): void => {
    unread.count += 1;
    reply({ type: "item", id, item });
  };
  const context: CallContext = { signal: abort.signal, dropped, emit, room };
  const run = async (): Promise<void> => {
    try {
      const call = engine[method] as (argument: unknown, context: CallContext) => Promise<unknown>;
      reply({ type: "result", id, result: await call(argument, context) });
    } catch (error) {
      reply({ type: "error", id, error: toErrorData(error, "backend.failed") });
    } finally {
      calls.delete(id);
    }
  };
  queue.add(run, method === "sample" ? sharedSampler(argument as SampleArgument) : undefined);
});

type SampleArgument = Parameters<EngineCalls["sample"]>[0];

/** Returns the sampler whose shared batch a call may join. */
function sharedSampler({ sampler, shared }: SampleArgument): number | undefined {
  return shared === true ? sampler : undefined;
}
