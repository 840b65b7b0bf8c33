import { parentPort, workerData } from "node:worker_threads";
import { toErrorData } from "../../../../src/contract/errors/index.ts";
import { createEngine } from "./engine.ts";
import type { CallContext, EngineSettings } from "./engine-calls.ts";
import type { EngineReply, EngineRequest } from "./engine-messages.ts";

/**
 * The engine's thread. A run of ONNX Runtime blocks its thread for seconds, so it must not be the main thread. Calls
 * run one after another. An abort takes effect between two runs.
 */
const port = parentPort!;
const engine = createEngine(workerData as EngineSettings);
const aborts = new Map<number, AbortController>();
let queue: Promise<void> = Promise.resolve();

const reply = (message: EngineReply): void => port.postMessage(message);

port.on("message", (request: EngineRequest) => {
  if (request.type === "abort") {
    aborts.get(request.id)?.abort();
    return;
  }
  const { id, method, argument } = request;
  const abort = new AbortController();
  aborts.set(id, abort);
  const context: CallContext = { signal: abort.signal, emit: (item) => reply({ type: "item", id, item }) };
  queue = queue.then(async () => {
    try {
      const call = engine[method] as (argument: unknown, context: CallContext) => Promise<unknown>;
      reply({ type: "result", id, result: await call(argument, context) });
    } catch (error) {
      reply({ type: "error", id, error: toErrorData(error, "backend.failed") });
    } finally {
      aborts.delete(id);
    }
  });
});
