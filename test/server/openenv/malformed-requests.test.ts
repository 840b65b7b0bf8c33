import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { numberGuessingEnvironment } from "../../../environments/index.ts";
import type { EnvironmentDefinition } from "../../../src/contract/environment.ts";
import { serveEnvironments } from "../../../src/server/http/serve-environments.ts";
import { localRunner } from "../../../src/server/session/local-runner.ts";
import { createSessionHost } from "../../../src/server/session/session-host.ts";

describe("requests that no client library sends", () => {
  it.each([
    ["/%ZZ/ws", "404"],
    ["//", "404"],
    ["/%E0%A4%A/mcp?session_id=%", "404"],
  ])("an upgrade of %s is refused, and the server goes on", async (path, status) => {
    const definition = numberGuessingEnvironment() as EnvironmentDefinition;
    await using host = createSessionHost(await localRunner([{ name: "guess", definition }]));
    await using server = await serveEnvironments({ host });
    const answer = await rawUpgrade({ port: server.port, path });
    expect(answer.split("\r\n")[0]).toContain(status);
    expect((await fetch(`${server.url}/health`)).status).toBe(200);
  });
});

/** Sends a request of a WebSocket as text, and returns what the server sends until it closes. */
async function rawUpgrade({ port, path }: { readonly port: number; readonly path: string }): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  const headers = [
    `Host: 127.0.0.1:${port}`,
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
  ];
  socket.write(`GET ${path} HTTP/1.1\r\n${headers.join("\r\n")}\r\n\r\n`);
  let answer = "";
  socket.on("data", (data) => {
    answer += String(data);
  });
  await once(socket, "close");
  return answer;
}
