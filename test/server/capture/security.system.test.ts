import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { captureServer } from "../../../server/capture/index.ts";
import { textMessage } from "../../../src/contract/message.ts";
import type { Policy } from "../../../src/contract/policy.ts";
import { openAICompatiblePolicy } from "../../../src/core/policy/openai-compatible/openai-compatible-policy.ts";
import { scriptedPolicy } from "../../../src/core/policy/scripted-policy.ts";
import { ask, protocols } from "./plain-client.ts";

const messages = [{ role: "user", text: "hi" }] as const;
const paths = ["chat/completions", "responses", "messages", "messages/count_tokens"] as const;
const hello = scriptedPolicy(() => "hello");

/** A policy that answers when it is released, or rejects when its signal aborts. */
function waitingPolicy(): { policy: Policy; started: () => number; aborted: () => number; release: () => void } {
  let started = 0;
  let aborted = 0;
  const released = Promise.withResolvers<void>();
  const policy: Policy = {
    ...hello,
    act: async ({ signal }) => {
      started += 1;
      const stopped = new Promise<never>((_, reject) => {
        signal!.addEventListener("abort", () => {
          aborted += 1;
          reject(signal!.reason);
        });
      });
      await Promise.race([released.promise, stopped]);
      return { action: { message: textMessage("assistant", "done"), finish: "stop" } };
    },
  };
  return { policy, started: () => started, aborted: () => aborted, release: released.resolve };
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(5);
}

describe("keys", () => {
  test("no guess at a session's key or at the admin key gets in", async () => {
    await using server = await captureServer({ adminKey: "the-admin-key", policy: hello });
    await using session = server.open({ policy: hello });
    const guesses = ["", "x", session.id.slice(1), `${session.id}x`, session.id.toUpperCase(), "the-admin-key", "*"];
    for (const key of guesses) {
      for (const path of paths) {
        const headers = { authorization: `Bearer ${key}`, "x-api-key": key };
        const { status } = await fetch(`${server.url}/v1/${path}`, { method: "POST", headers, body: "{}" });
        expect(status).toBe(401);
      }
    }
    for (const key of ["", "the-admin-ke", "the-admin-key2", session.id]) {
      for (const path of ["sessions", `sessions/${session.id}`, `sessions/${session.id}/trace_entries`]) {
        const answer = await fetch(`${server.url}/${path}`, { headers: { authorization: `Bearer ${key}` } });
        expect(answer.status).toBe(401);
      }
    }
    expect(session.calls()).toEqual([]);
  });

  test("the admin routes of a server without an admin key are closed", async () => {
    await using server = await captureServer({ policy: hello });
    for (const key of ["", "undefined", "null"]) {
      const headers = { authorization: `Bearer ${key}` };
      const { status } = await fetch(`${server.url}/sessions`, { method: "POST", headers, body: "{}" });
      expect(status).toBe(401);
    }
  });

  test("ids of sessions are unguessable, and a used or malformed one is refused", async () => {
    await using server = await captureServer({ maxSessions: 3 });
    const one = server.open({ policy: hello });
    const two = server.open({ policy: hello, sessionId: "mine" });
    expect(one.id).toMatch(/^lyceum-[\w-]{32}$/);
    expect(two.id).toBe("mine");
    expect(() => server.open({ policy: hello, sessionId: "mine" })).toThrow("open already");
    expect(() => server.open({ policy: hello, sessionId: "../etc" })).toThrow("The id of a session");
    server.open({ policy: hello });
    expect(() => server.open({ policy: hello })).toThrow("3 open sessions");
    await two.close();
    expect(server.open({ policy: hello, sessionId: "mine" }).id).toBe("mine");
  });

  test("neither the key of an upstream server nor the text of an unknown error reaches the client", async () => {
    const apiKey = "sk-very-secret-upstream-key";
    const upstream = createServer((request, response) => {
      response.writeHead(400, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: { message: `bad request with ${request.headers.authorization}` } }));
    });
    upstream.listen(0, "127.0.0.1");
    await once(upstream, "listening");
    const { port } = upstream.address() as AddressInfo;
    const served = openAICompatiblePolicy({ baseUrl: `http://127.0.0.1:${port}/v1`, model: "m", apiKey });
    const broken: Policy = { ...hello, act: () => Promise.reject(new Error(`failed with ${apiKey}`)) };
    await using server = await captureServer();
    for (const policy of [served, broken]) {
      for (const protocol of protocols) {
        await using session = server.open({ policy });
        const { status, text } = await ask({ url: server.url, key: session.id, protocol, messages });
        expect(status).toBe(policy === served ? 400 : 500);
        expect(text).not.toContain("secret");
        expect(session.errors()).toHaveLength(1);
      }
    }
    upstream.close();
  });
});

describe("bodies", () => {
  test("an invalid body gets a typed error in the form of its protocol, and no call", async () => {
    let calls = 0;
    const counting = scriptedPolicy(() => String(calls++));
    await using server = await captureServer();
    await using session = server.open({ policy: counting });
    const field = fc.constantFrom(
      ..."model messages input system tools tool_choice max_tokens stream stop n temperature top_p seed".split(" "),
    );
    const bodies = fc.oneof(
      fc.json(),
      fc.string({ unit: "binary" }),
      fc.dictionary(field, fc.jsonValue()).map((body) => JSON.stringify(body)),
      fc.jsonValue().map((content) => JSON.stringify({ messages: [{ role: "user", content }], max_tokens: 1 })),
      fc.integer({ min: 5_000, max: 20_000 }).map((depth) => {
        const deep = `${"[".repeat(depth)}${"]".repeat(depth)}`;
        const call = `{"id":"a","type":"function","function":{"name":"f","arguments":${JSON.stringify(deep)}}}`;
        const assistant = `{"role":"assistant","tool_calls":[${call}]}`;
        return `{"messages":[${assistant}],"tools":[{"name":"f","input_schema":{"a":${deep}}}],"max_tokens":1}`;
      }),
    );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...paths), bodies, async (path, body) => {
        const headers = { authorization: `Bearer ${session.id}` };
        const response = await fetch(`${server.url}/v1/${path}`, { method: "POST", headers, body });
        const text = await response.text();
        expect([200, 400]).toContain(response.status);
        if (response.status === 200) return;
        const { error, type } = JSON.parse(text);
        expect(error.message).toBeTypeOf("string");
        expect(type).toBe(path.startsWith("messages") ? "error" : undefined);
      }),
      { numRuns: 200 },
    );
    expect(session.calls()).toHaveLength(calls);
    expect(session.errors()).toEqual([]);
  });

  test("a body beyond the limit is refused", async () => {
    await using server = await captureServer({ maxBodyBytes: 1000 });
    await using session = server.open({ policy: hello });
    const text = "x".repeat(2000);
    const long = await ask({ url: server.url, key: session.id, protocol: "chat", messages: [{ role: "user", text }] });
    expect(long.status).toBe(413);
    expect((await ask({ url: server.url, key: session.id, protocol: "chat", messages })).text).toBe("hello");
  });

  test("unknown paths are not found", async () => {
    await using server = await captureServer({ adminKey: "key" });
    for (const path of ["/", "/v2/messages", "/v1/embeddings", "/sessions/a/b", "/sessionsx"]) {
      const response = await fetch(server.url + path, { headers: { authorization: "Bearer key" } });
      expect(response.status).toBe(404);
    }
  });
});

describe("calls", () => {
  test("a client that leaves aborts its call, and a closed session aborts all", async () => {
    const { policy, started, aborted } = waitingPolicy();
    await using server = await captureServer();
    const session = server.open({ policy });
    const leaving = new AbortController();
    const asked = { url: server.url, key: session.id, protocol: "chat", messages } as const;
    const left = ask({ ...asked, signal: leaving.signal }).catch(() => "left");
    const waiting = ask(asked);
    await until(() => started() === 2);
    leaving.abort();
    await until(() => aborted() === 1);
    expect(await left).toBe("left");
    await session.close();
    expect(aborted()).toBe(2);
    expect((await waiting).status).toBe(404);
    expect((await ask(asked)).status).toBe(401);
    expect(session.calls()).toEqual([]);
  });

  test("a session has a limit of calls at a time", async () => {
    const { policy, started, release } = waitingPolicy();
    await using server = await captureServer({ maxParallelCalls: 2 });
    await using session = server.open({ policy });
    const asked = { url: server.url, key: session.id, protocol: "messages", messages } as const;
    const running = [ask(asked), ask(asked)];
    await until(() => started() === 2);
    expect((await ask(asked)).status).toBe(429);
    release();
    expect((await Promise.all(running)).map(({ text }) => text)).toEqual(["done", "done"]);
  });

  test.each(
    protocols,
  )("calls beyond maxModelCalls end the client's loop and are not recorded (%s)", async (protocol) => {
    let answered = 0;
    const policy = scriptedPolicy(() => String(answered++));
    await using server = await captureServer();
    await using session = server.open({ policy, maxModelCalls: 2 });
    const texts: string[] = [];
    for (let index = 0; index < 4; index++) {
      texts.push((await ask({ url: server.url, key: session.id, protocol, messages })).text);
    }
    expect(texts).toEqual(["0", "1", ...Array(2).fill("Step budget exhausted; stopping.")]);
    expect(answered).toBe(2);
    expect(session.calls()).toHaveLength(2);
  });
});
