import { once } from "node:events";
import { createServer } from "node:http";
import { connect, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { endSlowReaders } from "../../server/http/heartbeat.ts";
import { listen } from "../../src/core/network/listen.ts";

/** Sends a request for a path on a connection of its own. */
async function ask(port: number, path: string): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  await once(socket, "connect");
  socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
  return socket;
}

test("idle connections and clients that do not read are ended, and one that waits for an answer stays", async () => {
  const finish = Promise.withResolvers<void>();
  const server = createServer(async ({ url }, response) => {
    if (url === "/late") await finish.promise;
    response.end(url === "/large" ? Buffer.alloc(64 * 2 ** 20) : "done");
  });
  server.keepAliveTimeout = 50;
  endSlowReaders(server, 100);
  const { port } = await listen(server, { hostname: "127.0.0.1", port: 0 });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const open = (): Promise<number> =>
    new Promise((resolve, reject) => server.getConnections((error, count) => (error ? reject(error) : resolve(count))));
  const late = await ask(port, "/late");
  for (const path of ["/short", "/large"]) (await ask(port, path)).pause();
  await expect.poll(open).toBe(1);
  await pause(300);
  finish.resolve();
  const [bytes] = await once(late, "data");
  expect(String(bytes)).toContain("done");
  await expect.poll(open).toBe(0);
});
