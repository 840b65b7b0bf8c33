import type { WebSocket } from "ws";
import { toErrorData } from "../../src/contract/errors/index.ts";
import { messageLimits, parseLimitedJson } from "../../src/core/network/limited-json.ts";
import { warn } from "../../src/core/text/warn.ts";
import type { HostedSession, SessionHost } from "../session/session-host.ts";
import { answerMessage, type ServerMessage, tooManyMessages } from "./connection.ts";
import { openEnvError } from "./error.ts";
import { answerRpc, type RpcContext } from "./mcp.ts";
import type { OpenEnvSession } from "./openenv-session.ts";

/** The maximum number of messages that a connection may send ahead of their answers. */
const maxQueued = 64;
/** The maximum number of characters in them, besides those of the first. */
const maxQueuedCharacters = 16 * 1024 * 1024;
/** Above this number of unsent bytes, the next message waits until the client has read. */
const maxUnsentBytes = 1024 * 1024;

/** The time in milliseconds that a client with a malformed or too large message has to read the close code. */
const closeGraceMs = 2_000;

/** What a connection is for. */
export interface SocketOptions {
  readonly host: SessionHost;
  /** `messages` for `/ws`, `rpc` for `/mcp`. */
  readonly kind: "messages" | "rpc";
  /** Opens the session of the connection. */
  open(signal: AbortSignal): Promise<OpenEnvSession>;
  /** True if the session stays open after the connection. */
  readonly keepsSession: boolean;
  rpc(session: OpenEnvSession): RpcContext;
  /** Called with the duration of each answered message in milliseconds. */
  onAnswer?(options: { readonly type: string; readonly ms: number; readonly failed: boolean }): void;
}

/**
 * Serves one WebSocket: opens its session, answers its messages in order, and closes the session with it. A message
 * waits while the client has not read the answers before. A client that sends many messages ahead loses its session and
 * is disconnected, so that neither a slow reader nor a fast writer fills the memory.
 */
export function serveSocket(socket: WebSocket, options: SocketOptions): void {
  const { kind, keepsSession, open, rpc, onAnswer } = options;
  const gone = new AbortController();
  const queue: string[] = [];
  let running = false;
  let refused = false;
  let session: OpenEnvSession | undefined;

  const send = (message: unknown): Promise<void> => {
    if (socket.readyState !== socket.OPEN) return Promise.resolve();
    const text = textOf(message);
    if (socket.bufferedAmount < maxUnsentBytes) {
      socket.send(text);
      return Promise.resolve();
    }
    return new Promise((resolve) => socket.send(text, () => resolve()));
  };
  // A listener that stays is faster: otherwise each call makes Node create and drop the signal's table of listeners.
  gone.signal.addEventListener("abort", () => queue.splice(0), { once: true });
  const end = async (): Promise<void> => {
    gone.abort();
    const hosted: HostedSession | undefined = session?.hosted;
    if (!keepsSession) await hosted?.close().catch(() => {});
  };
  /** Ends the connection after an error that is no answer: otherwise it would end the process. */
  const fail = (error: unknown): void => {
    warn("Server", `A connection failed: ${toErrorData(error).message}`);
    socket.close(1011);
    void end();
  };
  const run = async (): Promise<void> => {
    if (running || session === undefined) return;
    running = true;
    for (let text = queue.shift(); text !== undefined && !gone.signal.aborted; text = queue.shift()) {
      const started = performance.now();
      const answer: ServerMessage | undefined =
        kind === "rpc"
          ? { type: "mcp", data: await answerRpc(() => parseLimitedJson(text, messageLimits), rpc(session)) }
          : await answerMessage(text, { session, rpc: rpc(session), signal: gone.signal });
      if (answer === undefined) {
        socket.close(1000);
        break;
      }
      onAnswer?.({ type: answer.type, ms: performance.now() - started, failed: answer.type === "error" });
      await send(kind === "rpc" ? answer.data : answer);
    }
    running = false;
  };

  socket.on("message", (data, isBinary) => {
    if (refused) return;
    const ahead = queue.reduce((sum, text) => sum + text.length, 0);
    queue.push(isBinary ? "" : String(data));
    if (queue.length > maxQueued || ahead > maxQueuedCharacters) {
      refused = true;
      void end();
      void send({ type: "error", data: openEnvError(tooManyMessages(maxQueued)) });
      socket.close(1008, "too many messages");
      return;
    }
    run().catch(fail);
  });
  // The close code, such as 1009 for a message that is too large, is sent already. Ending the connection at once would
  // reset it, and the client would often not read the code.
  socket.on("error", () => void setTimeout(() => socket.terminate(), closeGraceMs).unref());
  socket.on("close", () => void end());
  open(gone.signal)
    .then(
      (opened) => {
        session = opened;
        if (gone.signal.aborted) return end();
        return run();
      },
      async (error) => {
        await send({ type: "error", data: openEnvError(error) });
        socket.close(1000);
      },
    )
    .catch(fail);
}

/** Returns the text of a message. An environment can return values that are nested too deeply for a text. */
function textOf(message: unknown): string {
  try {
    return JSON.stringify(message);
  } catch (error) {
    return JSON.stringify({ type: "error", data: openEnvError(error) });
  }
}
