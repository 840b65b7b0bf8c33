import { type CallOptions, Code, ConnectError } from "@connectrpc/connect";
import type { Http2SessionManager } from "@connectrpc/connect-node";
import { LyceumError } from "../../../src/contract/errors/index.ts";
import { lyceumErrorIn } from "../../grpc/wire/errors.ts";
import { answerError, callTimeoutError, connectionError } from "../remote-error.ts";
import type { RemoteSettings } from "../remote-options.ts";

/** Makes the calls of a gRPC client, with deadlines and typed errors, and closes an idle connection. */
export class GrpcCalls {
  readonly #connection: Http2SessionManager;
  readonly #shown: string;
  readonly #settings: RemoteSettings;
  #users = 0;

  constructor(options: {
    readonly connection: Http2SessionManager;
    /** The address for messages. */
    readonly shown: string;
    readonly settings: RemoteSettings;
  }) {
    this.#connection = options.connection;
    this.#shown = options.shown;
    this.#settings = options.settings;
  }

  /** Keeps the connection open until the returned function is called. */
  hold(): () => void {
    this.#users += 1;
    let released = false;
    return () => {
      if (released) return;
      released = true;
      this.#users -= 1;
      if (this.#users === 0) this.#connection.abort();
    };
  }

  /** Keeps the connection open during a task. */
  async use<T>(task: () => Promise<T>): Promise<T> {
    const release = this.hold();
    try {
      return await task();
    } finally {
      release();
    }
  }

  /** Makes a call. Rejects with a typed error, and with the signal's reason on abort. */
  async call<T>(
    name: string,
    run: (options: CallOptions) => Promise<T>,
    { signal, callMs = this.#settings.callMs }: { readonly signal?: AbortSignal | undefined; readonly callMs?: number },
  ): Promise<T> {
    const { token } = this.#settings;
    const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
    signal?.throwIfAborted();
    await this.#connect(signal);
    try {
      return await run({ signal, timeoutMs: callMs, headers });
    } catch (error) {
      signal?.throwIfAborted();
      throw this.#typed(name, error);
    }
  }

  /** Connects in time. Rejects with `environment.unavailable`. */
  async #connect(signal: AbortSignal | undefined): Promise<void> {
    const state = this.#connection.state();
    if (state === "open" || state === "idle") return;
    const { connectMs } = this.#settings;
    const { promise: stopped, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      this.#connection.abort();
      reject(connectionError(this.#shown, `no connection within ${connectMs} ms.`));
    }, connectMs);
    const onAbort = (): void => reject(signal!.reason);
    signal?.addEventListener("abort", onAbort, { once: true });
    try {
      const connected = await Promise.race([this.#connection.connect(), stopped]);
      if (connected === "error") throw connectionError(this.#shown, this.#connection.error());
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
    }
  }

  #typed(call: string, error: unknown): LyceumError {
    if (!(error instanceof ConnectError)) {
      return LyceumError.isInstance(error) ? error : answerError(this.#shown, String(error), error);
    }
    const lyceum = lyceumErrorIn(error);
    // The server's own hint says what to send, and this one where to set it.
    if (lyceum?.code === "server.unauthorized") return unauthorized(this.#shown, lyceum.message);
    if (lyceum !== undefined) return lyceum;
    const { code, rawMessage, cause } = error;
    switch (code) {
      case Code.DeadlineExceeded:
        return callTimeoutError(this.#shown, { call, ms: this.#settings.callMs });
      case Code.Unavailable:
      case Code.Canceled:
      case Code.Aborted:
        return connectionError(this.#shown, cause ?? rawMessage);
      case Code.Unauthenticated:
      case Code.PermissionDenied:
        return unauthorized(this.#shown, rawMessage);
      default:
        return isOfConnection(error)
          ? connectionError(this.#shown, rawMessage)
          : answerError(this.#shown, error.message, error);
    }
  }
}

/** True if the error says that the stream ended before the answer did. */
function isOfConnection({ cause, rawMessage }: ConnectError): boolean {
  const { code } = (cause ?? {}) as NodeJS.ErrnoException;
  if (typeof code === "string" && (code.startsWith("E") || code.startsWith("ERR_HTTP2_"))) return true;
  return /missing trailer|http\/2 stream closed|premature/i.test(rawMessage);
}

function unauthorized(shown: string, message: string): LyceumError {
  return new LyceumError({
    code: "server.unauthorized",
    message: `The environment server ${shown} refuses the token: ${message}`,
    hint: "Set the server's token in LYCEUM_SERVER_TOKEN, or in a variable that tokenVariable names.",
  });
}
