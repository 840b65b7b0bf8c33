import { checkVersion } from "../../src/contract/specification-version.ts";
import { contentHash } from "../../src/core/taskset/content-hash.ts";
import type { ExecuteRequest, ExecuteResult } from "../execution.ts";
import { unreachedResult } from "../pool/requests.ts";
import type { Sandbox } from "../sandbox.ts";

/** An execution that several callers may wait for. */
interface Shared {
  readonly result: Promise<ExecuteResult>;
  readonly controller: AbortController;
  waiting: number;
}

/**
 * Creates a sandbox that runs identical requests once. Requests that arrive while an identical one is running share its
 * execution. Later ones get its cached result, if it is among the last `entries` (256 by default). `id` and `signal` do
 * not affect identity. The execution is aborted when no caller waits for it any more. Failed and aborted results are
 * not cached. Closing it closes the wrapped sandbox.
 */
export function deduplicated(sandbox: Sandbox, options: { readonly entries?: number } = {}): Sandbox {
  const { entries = 256 } = options;
  checkVersion(`Sandbox "${sandbox.info.backend}"`, sandbox);
  /** Ordered by last use, oldest first. */
  const shared = new Map<string, Shared>();

  const start = (key: string, request: ExecuteRequest): Shared => {
    const controller = new AbortController();
    const result = sandbox.execute({ ...request, signal: controller.signal });
    const entry: Shared = { result, controller, waiting: 0 };
    const forget = (): void => {
      if (shared.get(key) === entry) shared.delete(key);
    };
    result.then(({ status }) => {
      if (status === "infra_error" || status === "aborted") forget();
    }, forget);
    return entry;
  };

  const execute = async ({ id, signal, ...request }: ExecuteRequest): Promise<ExecuteResult> => {
    const named = id === undefined ? {} : { id };
    if (signal?.aborted === true) return sandbox.execute({ ...request, ...named, signal });
    const key = contentHash(request);
    const entry = shared.get(key) ?? start(key, request);
    shared.delete(key);
    shared.set(key, entry);
    if (shared.size > entries) shared.delete(shared.keys().next().value!);
    entry.waiting++;
    const { promise: left, resolve: leave } = Promise.withResolvers<ExecuteResult>();
    const onAbort = (): void => {
      if (--entry.waiting === 0) {
        if (shared.get(key) === entry) shared.delete(key);
        entry.controller.abort(signal?.reason);
      }
      leave(unreachedResult({ id: id ?? "", request, attempts: 1, error: signal?.reason, aborted: true }));
    };
    signal?.addEventListener("abort", onAbort, { once: true });
    try {
      return { ...(await Promise.race([entry.result, left])), ...named };
    } finally {
      signal?.removeEventListener("abort", onAbort);
    }
  };

  return {
    specificationVersion: "v1",
    info: sandbox.info,
    execute,
    warmUp: (warming) => sandbox.warmUp(warming),
    stats: () => sandbox.stats(),
    [Symbol.asyncDispose]: () => sandbox[Symbol.asyncDispose](),
  };
}
