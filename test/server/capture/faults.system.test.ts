import { getEventListeners, once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { type CaptureServer, captureServer } from "../../../server/capture/index.ts";
import { scriptedPolicy } from "../../../src/core/policy/scripted-policy.ts";
import { ask } from "./plain-client.ts";

const policy = scriptedPolicy(() => "hello");
const messages = [{ role: "user", text: "hi" }] as const;

async function rawSocket(server: CaptureServer, text: string): Promise<Socket> {
  const socket = connect(server.port, "127.0.0.1");
  socket.on("error", () => {});
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  socket.write(text);
  return socket;
}

test("half-sent requests and killed clients disturb nobody, and the server still closes", async () => {
  const server = await captureServer();
  await using session = server.open({ policy });
  const head = `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${session.id}\r\n`;
  await rawSocket(server, "POST /v1/chat/comp");
  await rawSocket(server, `${head}Content-Length: 100\r\n\r\n{"messages":`);
  await rawSocket(server, `${head}Transfer-Encoding: chunked\r\n\r\n5\r\n{"mes\r\n`);
  (await rawSocket(server, `${head}Content-Length: 100\r\n\r\n{"messages":`)).destroy();
  const nonsense = await rawSocket(server, "\u0000\u0001 nonsense\r\n\r\n");
  const [answer] = await once(nonsense, "data");
  expect(String(answer)).toMatch(/^HTTP\/1.1 400/);
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => ask({ url: server.url, key: session.id, protocol: "messages", messages })),
  );
  expect(answers.map(({ text }) => text)).toEqual(Array(20).fill("hello"));
  await server.close();
  await expect(ask({ url: server.url, key: session.id, protocol: "chat", messages })).rejects.toThrow();
  expect(session.errors()).toEqual([]);
});

test("a request of 100 MB is refused, announced or not", async () => {
  await using server = await captureServer();
  await using session = server.open({ policy });
  const piece = Buffer.alloc(2 ** 20, "x");
  const streamed = (count: number) =>
    new ReadableStream({
      pull: (controller) => {
        if (count-- > 0) controller.enqueue(piece);
        else controller.close();
      },
    });
  for (const body of [Buffer.alloc(100 * 2 ** 20, "x"), streamed(100)]) {
    const headers = { authorization: `Bearer ${session.id}` };
    const request = { method: "POST", headers, body, duplex: "half" } as RequestInit;
    const response = await fetch(`${server.url}/v1/chat/completions`, request);
    expect(response.status).toBe(413);
    await response.text();
  }
  expect((await ask({ url: server.url, key: session.id, protocol: "chat", messages })).text).toBe("hello");
});

test("10,000 sessions leave nothing behind", async () => {
  await using server = await captureServer({ maxSessions: 10 });
  const ended = new AbortController();
  for (let index = 0; index < 10_000; index++) {
    const session = server.open({ policy, ...(index % 2 === 0 ? {} : { signal: ended.signal }) });
    if (index % 1000 === 0) await ask({ url: server.url, key: session.id, protocol: "chat", messages });
    await session.close();
  }
  const { sessions } = (await (await fetch(`${server.url}/health`)).json()) as { sessions: number };
  expect(sessions).toBe(0);
  expect(getEventListeners(ended.signal, "abort")).toEqual([]);
});
