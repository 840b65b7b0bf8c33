import type { IncomingMessage } from "node:http";
import type { Http2ServerRequest, Http2Session } from "node:http2";
import {
  type ContextKey,
  type ContextValues,
  createContextKey,
  createContextValues,
  type HandlerContext,
} from "@connectrpc/connect";

const connectionKey: ContextKey<Http2Session | undefined> = createContextKey<Http2Session | undefined>(undefined, {
  description: "the connection of a call",
});

/** Returns the values of a call that {@link stepSignal} needs. */
export function connectionValues(request: IncomingMessage | Http2ServerRequest): ContextValues {
  const connection = "stream" in request ? request.stream.session : undefined;
  return createContextValues().set(connectionKey, connection);
}

/**
 * Returns the signal of a step. It aborts if the client cancels the call or its deadline passes. If the connection is
 * lost instead, a step with a name goes on: the client can reconnect and ask for its result by the name.
 */
export function stepSignal({ signal, values }: HandlerContext, stepId: string | undefined): AbortSignal {
  if (stepId === undefined) return signal;
  const controller = new AbortController();
  const connection = values.get(connectionKey);
  const onAbort = (): void => {
    const isLost = connection !== undefined && (connection.closed || connection.destroyed);
    if (!isLost) controller.abort(signal.reason);
  };
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });
  return controller.signal;
}
