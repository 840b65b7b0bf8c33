import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { numberGuessingEnvironment } from "../../../environments/index.ts";
import { serveEnvironments } from "../../../server/http/serve-environments.ts";
import { localRunner } from "../../../server/session/local-runner.ts";
import { createSessionHost } from "../../../server/session/session-host.ts";
import type { EnvironmentDefinition } from "../../../src/contract/environment.ts";
import { message, RawClient } from "./raw-client.ts";

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

describe("a connection", () => {
  it("that answers pings stays, and one that does not is ended", async () => {
    const definition = numberGuessingEnvironment() as EnvironmentDefinition;
    await using host = createSessionHost(await localRunner([{ name: "guess", definition }]));
    await using server = await serveEnvironments({ host, heartbeatMs: 200 });
    await using lively = await RawClient.connect(`${server.url}/ws`);
    const silent = new WebSocket(`${server.url.replace("http", "ws")}/ws`, { autoPong: false });
    const [code] = await once(silent, "close");
    expect(code).toBe(1006);
    await pause(1_000);
    expect((await lively.send(message("reset", {}))).type).toBe("observation");
    expect(host.activeSessions).toBe(1);
  });

  it("that was refused an upgrade is closed although its client stays", async () => {
    const definition = numberGuessingEnvironment() as EnvironmentDefinition;
    await using host = createSessionHost(await localRunner([{ name: "guess", definition }]));
    await using server = await serveEnvironments({ host });
    const socket = connect({ port: server.port, host: "127.0.0.1", allowHalfOpen: true });
    const reset = new Promise((resolve) => socket.on("error", resolve));
    socket.write(upgradeText({ port: server.port, path: "/nothing/ws" }));
    await once(socket.resume(), "end");
    const timer = setInterval(() => socket.write("x"), 20);
    expect(await reset).toMatchObject({ syscall: expect.stringMatching(/read|write/) });
    clearInterval(timer);
  });
});

it("a message that is nested too deeply is refused, and so are a large request and a wrong split", async () => {
  const definition = numberGuessingEnvironment() as EnvironmentDefinition;
  await using host = createSessionHost(await localRunner([{ name: "guess", definition }]));
  await using server = await serveEnvironments({ host, maxMessageBytes: 1_000_000 });
  const deep = `{"type":"step","data":{"text":"","metadata":{"a":${"[".repeat(50_000)}${"]".repeat(50_000)}}}}`;
  await using client = await RawClient.connect(`${server.url}/ws`);
  expect((await client.send(deep)).data.error).toMatchObject({ code: "server.invalid-request" });
  const post = async (path: string, body: string) => {
    const response = await fetch(server.url + path, { method: "POST", body });
    return [response.status, ((await response.json()) as { detail?: string }).detail];
  };
  expect(await post("/step", deep)).toEqual([422, expect.stringContaining("more than 100 lists")]);
  expect(await post("/guess/num_tasks", "{")).toEqual([422, expect.any(String)]);
  const many = JSON.stringify({ action: { text: "", tool_calls: Array(100_000).fill(1) } });
  const [status, detail] = await post("/step", many);
  expect([status, String(detail).length < 2_000]).toEqual([422, true]);
  expect(await post("/reset", "x".repeat(1_000_001))).toEqual([413, expect.stringContaining("1000000 bytes")]);
});

it("a session whose environment cannot be closed expires without an error of the process", async () => {
  const guess = numberGuessingEnvironment() as EnvironmentDefinition;
  const definition: EnvironmentDefinition = {
    ...guess,
    create: async () => ({
      ...(await guess.create()),
      close: async () => Promise.reject(new Error("It does not close.")),
    }),
  };
  await using host = createSessionHost(await localRunner([{ name: "guess", definition }]), { idleMs: 50 });
  await host.open({ environment: "guess" });
  await expect.poll(() => host.activeSessions).toBe(0);
});

/** Sends a request of a WebSocket as text, and returns what the server sends until it closes. */
async function rawUpgrade({ port, path }: { readonly port: number; readonly path: string }): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  socket.write(upgradeText({ port, path }));
  let answer = "";
  socket.on("data", (data) => {
    answer += String(data);
  });
  await once(socket, "close");
  return answer;
}

function upgradeText({ port, path }: { readonly port: number; readonly path: string }): string {
  const headers = [
    `Host: 127.0.0.1:${port}`,
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
  ];
  return `GET ${path} HTTP/1.1\r\n${headers.join("\r\n")}\r\n\r\n`;
}
