import { randomInt } from "node:crypto";
import { defineEnvironment } from "lyceum";
import { numberGuessingEnvironment, ticTacToeEnvironment } from "lyceum/environments";
import {
  createSessionHost,
  type EnvironmentServer,
  type EnvironmentServerOptions,
  localRunner,
  type NamedDefinition,
  type SessionHost,
  type SessionLimits,
  serveEnvironments,
} from "lyceum/server";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { message, RawClient } from "./raw-client.ts";

/** One turn. The reward is 1 for the text "yes". The text "throw" throws, and "wait" waits for the abort. */
const answers = defineEnvironment({
  id: "answers",
  description: "Say yes.",
  tasks: ["a", "b", "c"],
  maxTurns: 3,
  reset: ({ task }) => `Task ${task}: say yes.`,
  step: async ({ text, signal }) => {
    if (text === "throw") throw new Error("planted");
    if (text === "wait")
      await new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
    return text === "more" ? { reward: 0, reply: "Say more." } : { reward: text === "yes" ? 1 : 0 };
  },
});

const counter = defineEnvironment({
  id: "counter",
  tasks: ["count"],
  maxTurns: 5,
  reset: () => "Count to 2.",
  tools: {
    add: {
      description: "Adds a number.",
      inputSchema: z.object({ amount: z.int() }),
      execute: ({ amount }) => `added ${amount}`,
    },
  },
  step: ({ text }) => ({ reward: text === "done" ? 1 : 0 }),
});

interface Served extends AsyncDisposable {
  readonly server: EnvironmentServer;
  readonly host: SessionHost;
}

async function serve(
  options: Omit<EnvironmentServerOptions, "host"> & SessionLimits & { environments?: readonly NamedDefinition[] } = {},
): Promise<Served> {
  const { environments = [{ name: "answers", definition: answers as never }], maxSessions, idleMs, ...rest } = options;
  const host = createSessionHost(await localRunner(environments), { maxSessions, idleMs });
  const server = await serveEnvironments({ host, ...rest });
  return {
    server,
    host,
    [Symbol.asyncDispose]: async () => {
      await server.close();
      await host.close();
    },
  };
}

/** A response. Tests read fields of any body. */
interface Reply {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests read fields of any answer.
  readonly body: any;
}

async function get(url: string, headers: Record<string, string> = {}): Promise<Reply> {
  const response = await fetch(url, { headers });
  return {
    status: response.status,
    body: response.headers.get("content-type")?.includes("json") ? await response.json() : await response.text(),
  };
}

async function post(url: string, body: unknown, headers: Record<string, string> = {}): Promise<Reply> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const response = await fetch(url, {
    method: "POST",
    body: text,
    headers: { "content-type": "application/json", ...headers },
  });
  return { status: response.status, body: await response.json() };
}

describe("a WebSocket session", () => {
  it("plays an episode: reset, two steps, state, close", async () => {
    await using served = await serve();
    await using client = await RawClient.connect(`${served.server.url}/ws`);
    const started = await client.send(message("reset", { seed: 4, episode_id: "mine", unknown: true }));
    expect(started).toMatchObject({
      type: "observation",
      data: {
        observation: { text: "Task b: say yes.", episode_id: "mine", seed: 4, index: 1, split: "train" },
        reward: null,
        done: false,
      },
    });
    const more = await client.send(message("step", { text: "more" }));
    expect(more).toMatchObject({ type: "observation", data: { observation: { text: "Say more." }, done: false } });
    expect(await client.send(message("state"))).toMatchObject({
      type: "state",
      data: { episode_id: "mine", step_count: 1, done: false },
    });
    const last = await client.send(message("step", { text: "yes" }));
    expect(last.data).toMatchObject({ reward: 1, done: true, observation: { text: "" } });
    client.socket.send(message("close"));
    expect(await client.closed).toBe(1000);
    expect(client.received).toHaveLength(4);
  });

  it("answers each wrong message with one error and goes on", async () => {
    await using served = await serve();
    await using client = await RawClient.connect(`${served.server.url}/ws`);
    const codes: string[] = [];
    for (const text of ["{", "[]", "{}", message("dance"), message("step", { text: "yes" }), message("step", {})]) {
      const { type, data } = await client.send(text);
      expect(type).toBe("error");
      codes.push(data.code);
    }
    expect(codes).toEqual([
      "INVALID_JSON",
      ...["VALIDATION_ERROR", "VALIDATION_ERROR", "UNKNOWN_TYPE", "VALIDATION_ERROR", "VALIDATION_ERROR"],
    ]);
    await client.send(message("reset", {}));
    expect((await client.send(message("reset", { index: 3 }))).data.code).toBe("VALIDATION_ERROR");
    await client.send(message("reset", { index: 0 }));
    const thrown = await client.send(message("step", { text: "throw" }));
    expect(thrown.data).toMatchObject({ code: "EXECUTION_ERROR", error: { code: "environment.failed" } });
    expect((await client.send(message("reset", { index: 2 }))).data.observation.text).toBe("Task c: say yes.");
  });

  it("repeats the result of a step with the same id", async () => {
    await using served = await serve();
    await using client = await RawClient.connect(`${served.server.url}/ws`);
    await client.send(message("reset", {}));
    const first = await client.send(message("step", { text: "more", step_id: "1" }));
    expect(await client.send(message("step", { text: "more", step_id: "1" }))).toEqual(first);
    expect((await client.send(message("state"))).data.step_count).toBe(1);
  });

  it("takes pipelined messages in order, and refuses a flood", async () => {
    await using served = await serve();
    await using client = await RawClient.connect(`${served.server.url}/ws`);
    client.socket.send(message("reset", { index: 2 }));
    client.socket.send(message("step", { text: "more" }));
    client.socket.send(message("step", { text: "yes" }));
    expect((await client.answer(0)).data.observation.text).toBe("Task c: say yes.");
    expect((await client.answer(2)).data).toMatchObject({ reward: 1, done: true });
    await client.send(message("reset", {}));
    client.socket.send(message("step", { text: "wait" }));
    for (let index = 0; index < 200; index += 1) client.socket.send(message("state"));
    expect(await client.closed).toBe(1008);
    await expect.poll(() => served.host.activeSessions).toBe(0);
  });

  it("aborts the running step and frees the session if the client vanishes", async () => {
    await using served = await serve();
    const client = await RawClient.connect(`${served.server.url}/ws`);
    await client.send(message("reset", {}));
    client.socket.send(message("step", { text: "wait" }));
    await expect.poll(() => served.host.activeSessions).toBe(1);
    client.socket.terminate();
    await expect.poll(() => served.host.activeSessions).toBe(0);
  });

  it("tells a client that the server is full, and closes", async () => {
    await using served = await serve({ maxSessions: 1 });
    await using first = await RawClient.connect(`${served.server.url}/ws`);
    await first.send(message("reset", {}));
    await using second = await RawClient.connect(`${served.server.url}/ws`);
    expect(await second.answer(0)).toMatchObject({
      type: "error",
      data: { code: "CAPACITY_REACHED", active_sessions: 1, max_sessions: 1 },
    });
    expect(await second.closed).toBe(1000);
  });

  it("survives random frames, with one answer to each", async () => {
    await using served = await serve();
    await using client = await RawClient.connect(`${served.server.url}/ws`);
    const pieces = [
      "{",
      "}",
      '"type"',
      ":",
      '"reset"',
      '"step"',
      ",",
      '"data"',
      "null",
      "1e999",
      '"text"',
      "[",
      "]",
      "\u2028",
    ];
    for (let index = 0; index < 300; index += 1) {
      const text = Array.from({ length: randomInt(1, 9) }, () => pieces[randomInt(pieces.length)]).join("");
      const before = client.received.length;
      await client.send(text);
      expect(client.received).toHaveLength(before + 1);
    }
    expect((await client.send(message("reset", {}))).type).toBe("observation");
  });
});

describe("several agents", () => {
  it("each agent that has an observation acts by its name", async () => {
    const environments = [{ name: "game", definition: ticTacToeEnvironment() as never }];
    await using served = await serve({ environments });
    await using client = await RawClient.connect(`${served.server.url}/game/ws`);
    const { data } = await client.send(message("reset", {}));
    const [first] = Object.keys(data.observation.observations);
    const moved = await client.send(message("step", { text: "", actions: { [first!]: { text: "5" } } }));
    expect(moved.type).toBe("observation");
    const wrong = await client.send(message("step", { text: "", actions: { [first!]: { text: "5" } } }));
    expect(wrong.data.message).toContain("must act");
  });
});

describe("tools", () => {
  const environments = [{ name: "counter", definition: counter as never }];

  it("OpenEnv's tool actions list and call them", async () => {
    await using served = await serve({ environments });
    await using client = await RawClient.connect(`${served.server.url}/ws`);
    await client.send(message("reset", {}));
    const listed = await client.send(message("step", { type: "list_tools" }));
    expect(listed.data.observation.tools[0]).toMatchObject({ name: "add", input_schema: { type: "object" } });
    const called = await client.send(
      message("step", { type: "call_tool", tool_name: "add", arguments: { amount: 2 } }),
    );
    expect(called.data.observation).toMatchObject({ tool_name: "add", result: "added 2", error: null });
    const unknown = await client.send(message("step", { type: "call_tool", tool_name: "no", arguments: {} }));
    expect(unknown.data.observation.error.error_type).toBe("tool_not_found");
    expect((await client.send(message("step", { text: "done" }))).data).toMatchObject({ reward: 1, done: true });
  });

  it("MCP creates a session, a WebSocket attaches to it, and it stays open after the socket", async () => {
    await using served = await serve({ environments });
    const rpc = async (method: string, params: unknown = {}) =>
      (await post(`${served.server.url}/mcp`, { jsonrpc: "2.0", id: 1, method, params })).body;
    expect((await rpc("tools/list")).result.tools[0]).toMatchObject({ name: "add", inputSchema: { type: "object" } });
    expect((await rpc("tools/call", { name: "add" })).error.message).toContain("names no session");
    const { session_id } = (await rpc("openenv/session/create")).result;
    const called = await rpc("tools/call", { name: "add", arguments: { amount: 1 }, session_id });
    expect(called.result).toMatchObject({ isError: false, content: [{ type: "text", text: "added 1" }] });
    {
      await using client = await RawClient.connect(`${served.server.url}/ws?session_id=${session_id}`);
      expect((await client.send(message("state"))).data.step_count).toBe(1);
      await using second = await RawClient.connect(`${served.server.url}/ws?session_id=${session_id}`);
      expect((await second.answer(0)).data.message).toContain("Another connection uses this session");
    }
    {
      await using again = await RawClient.connect(`${served.server.url}/ws?session_id=${session_id}`);
      expect((await again.send(message("state"))).type).toBe("state");
    }
    expect((await get(`${served.server.url}/state?session_id=${session_id}`)).body.step_count).toBe(1);
    await rpc("openenv/session/close", { session_id });
    expect((await get(`${served.server.url}/state?session_id=${session_id}`)).status).toBe(404);
    expect((await rpc("dance")).error.code).toBe(-32_601);
  });

  it("a session is unknown to other environments of the server", async () => {
    const both = [...environments, { name: "answers", definition: answers as never }];
    await using served = await serve({ environments: both });
    const create = { jsonrpc: "2.0", id: 1, method: "openenv/session/create", params: {} };
    const { session_id } = (await post(`${served.server.url}/counter/mcp`, create)).body.result;
    expect((await get(`${served.server.url}/counter/state?session_id=${session_id}`)).status).toBe(200);
    expect((await get(`${served.server.url}/answers/state?session_id=${session_id}`)).status).toBe(404);
  });

  it("a WebSocket at /mcp has a session of its own", async () => {
    await using served = await serve({ environments });
    await using client = await RawClient.connect(`${served.server.url}/mcp`);
    const called = (await client.send(
      JSON.stringify({
        jsonrpc: "2.0",
        id: 7,
        method: "tools/call",
        params: { name: "add", arguments: { amount: 3 } },
      }),
    )) as unknown as { id: number; result: unknown };
    expect(called).toMatchObject({ id: 7, result: { result: "added 3" } });
  });
});

describe("HTTP", () => {
  it("a request without a session is an episode of its own", async () => {
    await using served = await serve();
    const { url } = served.server;
    expect((await post(`${url}/reset`, { index: 1 })).body.observation.text).toBe("Task b: say yes.");
    expect((await post(`${url}/step`, { action: { text: "yes" }, index: 1 })).body).toMatchObject({
      reward: 1,
      done: true,
    });
    expect((await post(`${url}/step`, { action: { txt: "yes" } })).status).toBe(422);
    expect((await post(`${url}/step`, "{")).status).toBe(422);
    const late = await post(`${url}/step`, { action: { text: "wait" }, timeout_s: 0.05 });
    expect(late).toMatchObject({ status: 504, body: { error: { code: "timeout" } } });
    expect(served.host.activeSessions).toBe(0);
  });

  it("the Task API names the splits and tasks", async () => {
    await using served = await serve({
      environments: [
        { name: "answers", definition: answers as never },
        { name: "guess", definition: numberGuessingEnvironment() as never },
      ],
    });
    const { url } = served.server;
    expect((await get(`${url}/list_environments`)).body).toEqual(["answers", "guess"]);
    expect((await get(`${url}/guess/list_environments`)).body).toEqual(["guess"]);
    expect((await get(`${url}/answers/splits`)).body).toEqual([{ name: "train", type: "train" }]);
    expect((await post(`${url}/answers/num_tasks`, { split: "train" })).body).toEqual({ num_tasks: 3 });
    const { tasks } = (await post(`${url}/answers/task_range`, { split: "train", start: 1 })).body;
    expect(tasks.map(({ index }: { index: number }) => index)).toEqual([1, 2]);
    expect((await post(`${url}/answers/task`, { split: "train", index: 2 })).body.task).toEqual(tasks[1]);
    expect((await post(`${url}/answers/task`, { split: "train", index: 3 })).status).toBe(400);
    expect((await post(`${url}/answers/task`, { split: "no", index: 0 })).status).toBe(400);
    expect((await get(`${url}/other/splits`)).status).toBe(404);
    expect(JSON.stringify(tasks)).not.toContain('"a"');
  });

  it("refuses a wrong or missing token, and a guessed session", async () => {
    await using served = await serve({ token: "correct horse" });
    const { url } = served.server;
    const right = { authorization: "Bearer correct horse" };
    for (const headers of [{}, { authorization: "Bearer wrong" }, { authorization: "correct horse" }]) {
      expect((await get(`${url}/metadata`, headers as never)).status).toBe(401);
      await expect(RawClient.connect(`${url}/ws`, headers as never)).rejects.toThrow("401");
    }
    expect((await get(`${url}/metadata`, right)).status).toBe(200);
    expect((await get(`${url}/health`)).status).toBe(200);
    await using client = await RawClient.connect(`${url}/ws?session_id=00000000-0000-4000-8000-000000000000`, right);
    expect((await client.answer(0)).data.code).toBe("SESSION_ERROR");
    expect((await get(`${url}/metrics`, right)).body).toContain('lyceum_refused_total{reason="token"} 6');
  });

  it("refuses pages of other sites, and other machines without a token", async () => {
    await using served = await serve();
    const { url } = served.server;
    await expect(RawClient.connect(`${url}/ws`, { origin: "https://example.com" })).rejects.toThrow("403");
    await expect(RawClient.connect(`${url}/ws`, { host: "example.com" })).rejects.toThrow("403");
    await expect(serve({ hostname: "0.0.0.0" })).rejects.toMatchObject({ code: "config.invalid" });
  });

  it("a draining server is not ready and opens no session", async () => {
    await using served = await serve();
    const { url } = served.server;
    await using client = await RawClient.connect(`${url}/ws`);
    await client.send(message("reset", {}));
    expect((await get(`${url}/ready`)).status).toBe(200);
    const drained = served.host.drain();
    expect((await get(`${url}/ready`)).status).toBe(503);
    await using late = await RawClient.connect(`${url}/ws`);
    expect((await late.answer(0)).data.code).toBe("SESSION_ERROR");
    expect((await client.send(message("step", { text: "yes" }))).data.reward).toBe(1);
    client.socket.send(message("close"));
    await drained;
  });

  it("closes a session that is idle for too long", async () => {
    await using served = await serve({ idleMs: 100 });
    await using client = await RawClient.connect(`${served.server.url}/ws`);
    await client.send(message("reset", {}));
    await expect.poll(() => served.host.activeSessions).toBe(0);
    expect((await client.send(message("state"))).data.code).toBe("SESSION_ERROR");
  });

  it("ends a message that is too large, and goes on", async () => {
    await using served = await serve({ maxMessageBytes: 1000 });
    const { url } = served.server;
    await using client = await RawClient.connect(`${url}/ws`);
    client.socket.send(message("step", { text: "x".repeat(2000) }));
    expect(await client.closed).toBe(1009);
    expect(
      (await post(`${url}/reset`, { seed: 1, note: "x".repeat(2000) }).catch(() => ({ status: 413 }))).status,
    ).toBe(413);
    expect((await get(`${url}/health`)).body).toEqual({ status: "healthy" });
  });
});
