import { type RawData, WebSocket } from "ws";
import { isJsonObject, type Json, type JsonObject, tryParseJson } from "../../../src/contract/json.ts";
import { answerError, callTimeoutError, connectionError } from "../remote-error.ts";
import type { RemoteSettings } from "../remote-options.ts";
import { unauthorized } from "./openenv-http.ts";

/** The maximum size of an answer in bytes. */
const maxAnswerBytes = 256 * 1024 * 1024;

/** An answer of a server: its type and its data. */
export interface SocketAnswer {
  readonly type: string;
  readonly data: JsonObject;
}

interface Pending {
  readonly resolve: (answer: SocketAnswer) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * A WebSocket to an OpenEnv server, with one request at a time. Answers have no ids, so a request that ends without its
 * answer (a timeout, an abort) closes the socket: a late answer then reaches no one.
 */
export class OpenEnvSocket {
  readonly #socket: WebSocket;
  readonly #shown: string;
  readonly #settings: RemoteSettings;
  #pending: Pending | undefined;
  /** An answer that came without a request: servers refuse a connection so. */
  #early: SocketAnswer | undefined;
  #failure: unknown;
  readonly #heartbeat: NodeJS.Timeout;

  private constructor(socket: WebSocket, { shown, settings }: { shown: string; settings: RemoteSettings }) {
    this.#socket = socket;
    this.#shown = shown;
    this.#settings = settings;
    socket.on("message", (data, isBinary) => this.#receive(data, isBinary));
    socket.on("error", (error) => this.#fail(connectionError(shown, error)));
    socket.on("close", (code) => {
      clearInterval(this.#heartbeat);
      this.#fail(connectionError(shown, `the connection was closed (code ${code}).`));
    });
    this.#heartbeat = this.#watch();
  }

  /** Connects. Rejects with `environment.unavailable`, and with `server.unauthorized` for a refused token. */
  static connect(
    url: string,
    options: { readonly shown: string; readonly settings: RemoteSettings; readonly signal?: AbortSignal | undefined },
  ): Promise<OpenEnvSocket> {
    const { shown, settings, signal } = options;
    const { token, connectMs } = settings;
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(signal.reason);
      const socket = new WebSocket(url, {
        handshakeTimeout: connectMs,
        maxPayload: maxAnswerBytes,
        perMessageDeflate: false,
        headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      });
      const onAbort = (): void => {
        reject(signal!.reason);
        socket.terminate();
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      const end = (): void => signal?.removeEventListener("abort", onAbort);
      // Also listens after the connection, so that an error never ends the process.
      socket.on("error", (error) => {
        end();
        reject(connectionError(shown, error));
      });
      socket.once("unexpected-response", (request, response) => {
        end();
        request.destroy();
        const { statusCode = 0 } = response;
        const refused = statusCode === 401 || statusCode === 403;
        reject(
          refused ? unauthorized(shown, statusCode) : connectionError(shown, `/ws answers with status ${statusCode}.`),
        );
      });
      const opened = new OpenEnvSocket(socket, { shown, settings });
      socket.once("open", () => {
        end();
        resolve(opened);
      });
    });
  }

  /** True while the socket can take a request. */
  get isOpen(): boolean {
    return this.#failure === undefined && this.#socket.readyState === WebSocket.OPEN;
  }

  /** Sends a message and returns the answer. */
  request(
    message: { readonly type: string; readonly data?: Json },
    { signal }: { readonly signal?: AbortSignal | undefined },
  ): Promise<SocketAnswer> {
    const { callMs } = this.#settings;
    const early = this.#early;
    if (early !== undefined) {
      this.#early = undefined;
      return Promise.resolve(early);
    }
    return new Promise((resolve, reject) => {
      if (this.#failure !== undefined) return reject(this.#failure);
      if (signal?.aborted === true) return reject(signal.reason);
      const onAbort = (): void => this.#fail(signal!.reason);
      const timer = setTimeout(
        () => this.#fail(callTimeoutError(this.#shown, { call: message.type, ms: callMs })),
        callMs,
      );
      signal?.addEventListener("abort", onAbort, { once: true });
      const end = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", onAbort);
        this.#pending = undefined;
      };
      this.#pending = {
        resolve: (answer) => {
          end();
          resolve(answer);
        },
        reject: (error) => {
          end();
          reject(error);
        },
      };
      this.#socket.send(JSON.stringify(message));
    });
  }

  /** Closes the socket without waiting for the server. */
  close(): void {
    if (this.#socket.readyState === WebSocket.OPEN && this.#failure === undefined) {
      this.#socket.send(JSON.stringify({ type: "close" }));
      this.#socket.close();
      setTimeout(() => this.#socket.terminate(), this.#settings.connectMs).unref();
      return;
    }
    this.#socket.terminate();
  }

  #receive(raw: RawData, isBinary: boolean): void {
    const parsed = isBinary ? undefined : tryParseJson<Json>(raw.toString());
    if (!isJsonObject(parsed) || typeof parsed.type !== "string" || !isJsonObject(parsed.data)) {
      this.#fail(answerError(this.#shown, "a message is no JSON object with type and data."));
      return;
    }
    const answer = { type: parsed.type, data: parsed.data };
    if (this.#pending !== undefined) this.#pending.resolve(answer);
    else if (answer.type === "error") this.#early = answer;
    else this.#fail(answerError(this.#shown, `it sent "${answer.type}" without a request.`));
  }

  #fail(error: unknown): void {
    this.#failure ??= error;
    this.#socket.terminate();
    this.#pending?.reject(error);
  }

  /** Asks for signs of life. A half-open connection gives none, and nothing else would notice it. */
  #watch(): NodeJS.Timeout {
    const { heartbeatMs } = this.#settings;
    let isAlive = true;
    this.#socket.on("pong", () => {
      isAlive = true;
    });
    const timer = setInterval(() => {
      if (this.#socket.readyState !== WebSocket.OPEN) return;
      if (!isAlive) {
        this.#fail(connectionError(this.#shown, `no sign of life within ${heartbeatMs} ms.`));
        return;
      }
      isAlive = false;
      this.#socket.ping();
    }, heartbeatMs);
    timer.unref();
    return timer;
  }
}
