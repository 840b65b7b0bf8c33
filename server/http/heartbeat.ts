import { randomBytes } from "node:crypto";
import type { Server as HttpServer } from "node:http";
import type { Server as HttpsServer } from "node:https";
import type { Socket } from "node:net";
import type { WebSocket, WebSocketServer } from "ws";

/**
 * Sends each connection a ping every `ms` milliseconds, and ends those that have not answered the last one. A half-open
 * connection and a client that never reads are found in no other way. The answer repeats random bytes, so that a client
 * must read to send it.
 */
export function watchConnections(server: WebSocketServer, ms: number): NodeJS.Timeout {
  const unanswered = new WeakMap<WebSocket, Buffer>();
  server.on("connection", (client: WebSocket) => {
    client.on("pong", (data) => unanswered.get(client)?.equals(data) && unanswered.delete(client));
  });
  const look = (): void => {
    for (const client of server.clients) {
      if (unanswered.has(client)) {
        client.terminate();
        continue;
      }
      const asked = randomBytes(8);
      unanswered.set(client, asked);
      client.ping(asked);
    }
  };
  // Answers that arrived while this thread was busy are read first.
  const timer = setInterval(() => setImmediate(look), ms);
  timer.unref();
  return timer;
}

/**
 * Ends the connections of an HTTP server on which nothing has happened for `ms` milliseconds: those whose client does not
 * read bytes that wait for it, and those without a request. A connection that waits for an answer stays.
 */
export function endSlowReaders(server: HttpServer | HttpsServer, ms: number): void {
  const busy = new WeakSet<Socket>();
  server.on("request", ({ socket }, response) => {
    busy.add(socket);
    response.once("close", () => busy.delete(socket));
  });
  server.setTimeout(ms);
  // Without this listener, Node ends every connection at the timeout.
  server.on("timeout", (socket) => {
    if (socket.writableLength > 0 || !busy.has(socket)) socket.destroy();
  });
}
