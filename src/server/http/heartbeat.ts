import type { WebSocket, WebSocketServer } from "ws";

/**
 * Asks each connection for a sign of life every `ms` milliseconds, and ends those that gave none since the last time.
 * A half-open connection is found in no other way.
 */
export function watchConnections(server: WebSocketServer, ms: number): NodeJS.Timeout {
  const silent = new WeakSet<WebSocket>();
  server.on("connection", (client: WebSocket) => client.on("pong", () => silent.delete(client)));
  const timer = setInterval(() => {
    for (const client of server.clients) {
      if (silent.has(client)) {
        client.terminate();
        continue;
      }
      silent.add(client);
      client.ping();
    }
  }, ms);
  timer.unref();
  return timer;
}
