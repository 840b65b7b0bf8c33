import { randomUUID } from "node:crypto";
import { defineEnvironment, scored } from "lyceum";
import { ticTacToeEnvironment } from "lyceum/environments";
import { createSessionHost, localRunner, type SessionLimits, serveEnvironments } from "lyceum/server";
import { describe, expect, it } from "vitest";

/** Echoes a text until it is "end". The text "throw" throws. */
const echo = defineEnvironment({
  id: "echo",
  tasks: ["a", "b"],
  maxTurns: 4,
  reset: ({ task }) => `Task ${task}.`,
  step: ({ text }) => {
    if (text === "throw") throw new Error("planted");
    return text === "end" ? { reward: 1 } : { reward: 0, reply: text };
  },
});

const team = { name: "team", definition: ticTacToeEnvironment() as never };

/** Gives each episode the length of its answer. */
const grouped = {
  ...defineEnvironment({
    id: "grouped",
    tasks: ["a"],
    maxTurns: 1,
    reset: () => "Write.",
    step: () => ({ reward: 0 }),
  }),
  scoreGroup: async (
    episodes: readonly { id: string; agents: Readonly<Record<string, { nodes: readonly unknown[] }>> }[],
  ) => {
    if (episodes.length === 1) throw new Error("planted");
    return Object.fromEntries(episodes.map(({ id }, index) => [id, { agent: scored(index) }]));
  },
};

class Client implements AsyncDisposable {
  readonly url: string;
  readonly #close: () => Promise<void>;

  private constructor(url: string, close: () => Promise<void>) {
    this.url = url;
    this.#close = close;
  }

  static async start(options: SessionLimits & { token?: string } = {}): Promise<Client> {
    const { token, ...limits } = options;
    const named = [
      { name: "echo", definition: echo as never },
      team,
      { name: "grouped", definition: grouped as never },
    ];
    const host = createSessionHost(await localRunner(named), limits);
    const server = await serveEnvironments({ host, ...(token === undefined ? {} : { token }) });
    return new Client(server.url, async () => {
      await server.close();
      await host.close();
    });
  }

  async request(path: string, options: { id?: string; body?: unknown; headers?: Record<string, string> } = {}) {
    const { id, body, headers = {} } = options;
    const response = await fetch(`${this.url}${path}`, {
      headers: { "content-type": "application/json", ...(id === undefined ? {} : { "x-session-id": id }), ...headers },
      ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.includes("json") === true;
    // biome-ignore lint/suspicious/noExplicitAny: tests read fields of any answer.
    return { status: response.status, headers: response.headers, text, body: (isJson ? JSON.parse(text) : {}) as any };
  }

  /** Creates a session on a task. */
  async create(body: Record<string, unknown> = { split: "train", index: 0 }): Promise<string> {
    const id = randomUUID();
    const created = await this.request("/create", { id, body });
    expect([created.status, created.body]).toEqual([200, { sid: id }]);
    return id;
  }

  /** Returns the events of a stream, and the JSON of its result, read as ORS's client reads it. */
  async stream(path: string, id: string, body: unknown) {
    const { text, status } = await this.request(path, { id, body });
    const events = text.split("\n\n").flatMap((part) => {
      const field = (name: string) => part.match(new RegExp(`^${name}:(.*)$`, "m"))?.[1]?.trimStart() ?? "";
      return part === "" ? [] : [{ event: field("event"), data: field("data") }];
    });
    const parts = events.filter(({ event }) => event === "chunk" || event === "end").map(({ data }) => data);
    const error = events.find(({ event }) => event === "error")?.data;
    const last = events.at(-1)?.event === "end";
    return { status, events, error, result: last ? JSON.parse(parts.join("")) : undefined };
  }

  say(id: string, text: string, rest: object = {}) {
    return this.stream("/echo/call", id, { name: "answer", input: { text }, ...rest });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
  }
}

describe("the ORS routes", () => {
  it("play an episode, at the root and under a name", async () => {
    await using client = await Client.start();
    for (const prefix of ["", "/echo"]) {
      const id = await client.create();
      expect((await client.request(`${prefix}/prompt`, { id })).body).toMatchObject([{ text: "Task a." }]);
      expect((await client.request(`${prefix}/task_tools`, { id })).body.tools).toMatchObject([{ name: "answer" }]);
      const call = (text: string) => client.stream(`${prefix}/call`, id, { name: "answer", input: { text } });
      expect((await call("hello")).result).toMatchObject({
        ok: true,
        output: { blocks: [{ type: "text", text: "hello" }], reward: 0, finished: false },
      });
      expect((await call("end")).result).toMatchObject({ output: { blocks: [], reward: 1, finished: true } });
      expect((await call("end")).result).toMatchObject({ ok: false, reason: "episode_finished" });
    }
  });

  it("take tasks as the server lists them, with a seed", async () => {
    await using client = await Client.start();
    const listed = await client.request("/echo/task", { body: { split: "train", index: 1 } });
    expect(listed.body.env_name).toBe("echo");
    const id = await client.create({ task_spec: { ...listed.body.task, seed: 3 }, env_name: "ECHO" });
    expect((await client.request("/echo/messages", { id })).body).toMatchObject([
      { role: "user", blocks: [{ type: "text", text: "Task b." }] },
    ]);
  });

  it("send long results in parts that lose nothing", async () => {
    await using client = await Client.start();
    const id = await client.create();
    const text = `${" ".repeat(9_000)}ünïcödé 😀 \u00a0\u2028"\\`.repeat(3);
    const { result, events } = await client.say(id, text);
    expect(result.output.blocks).toMatchObject([{ text }]);
    expect(events.every(({ data }) => data.length <= 4_096)).toBe(true);
    expect(events.length).toBeGreaterThan(10);
  });

  it("give a lost result again, without another step", async () => {
    await using client = await Client.start();
    const id = await client.create();
    const first = await client.say(id, "one");
    const again = await client.say(id, "one", { task_id: first.events[0]!.data });
    expect(again).toEqual(first);
    expect(await client.say(id, "x", { task_id: "unknown" })).toMatchObject({ status: 422 });
    for (const text of ["two", "three"]) await client.say(id, text);
    // The fourth message is the last one.
    expect((await client.say(id, "four")).result).toMatchObject({ output: { finished: true } });
  });

  it("report an error of the environment as an event", async () => {
    await using client = await Client.start();
    expect(await client.say(await client.create(), "throw")).toMatchObject({
      error: expect.stringContaining("planted"),
      result: undefined,
    });
    const id = await client.create({ split: "train", index: 99 });
    expect((await client.request("/echo/prompt", { id })).body).toMatchObject({ code: "VALIDATION_ERROR" });
  });

  it.each([
    ["no task", {}],
    ["two tasks", { split: "train", index: 0, task_spec: { split: "train", index: 0 } }],
    ["half a task", { split: "train" }],
    ["a negative index", { split: "train", index: -1 }],
    ["a toolset", { split: "train", index: 0, toolset_name: "codex" }],
    ["an unknown field", { split: "train", index: 0, more: 1 }],
    ["an environment of several agents", { env_name: "team", split: "train", index: 0 }],
  ])("refuse to create %s", async (_, body) => {
    await using client = await Client.start();
    expect(await client.request("/create", { id: randomUUID(), body })).toMatchObject({ status: 422 });
  });

  it("refuse wrong sessions", async () => {
    await using client = await Client.start();
    const body = { split: "train", index: 0 };
    for (const id of ["", "short", "x".repeat(200), "a b c d e f g h i j"]) {
      expect(await client.request("/create", { id, body })).toMatchObject({ status: 422 });
    }
    expect(await client.request("/create", { id: randomUUID(), body: { ...body, env_name: "none" } })).toMatchObject({
      status: 404,
    });
    const id = await client.create();
    expect(await client.request("/create", { id, body })).toMatchObject({ status: 422 });
    expect(await client.request("/grouped/prompt", { id })).toMatchObject({ status: 404 });
    expect(await client.request("/ping", { id: randomUUID(), body: {} })).toMatchObject({ status: 404 });
    expect((await client.say(id, "x")).status).toBe(200);
    for (const call of [
      { name: "other", input: {} },
      { name: "answer", input: {} },
      { name: "answer", input: 1 },
    ]) {
      const { result } = await client.stream("/echo/call", id, call);
      expect(result).toMatchObject({ ok: false, reason: call.name === "other" ? "not_found" : "input_validation" });
    }
  });

  it("close sessions, count them and let idle ones expire, unless their client pings", async () => {
    await using client = await Client.start({ maxSessions: 2, idleMs: 300 });
    const [kept, idle] = [await client.create(), await client.create()];
    const body = { split: "train", index: 0 };
    expect(await client.request("/create", { id: randomUUID(), body })).toMatchObject({ status: 503 });
    await expect
      .poll(
        async () => {
          expect(await client.request("/ping", { id: kept, body: {} })).toMatchObject({ status: 200 });
          return (await client.request("/create", { id: randomUUID(), body })).status;
        },
        { timeout: 5_000, interval: 30 },
      )
      .toBe(200);
    expect((await client.request("/echo/prompt", { id: idle })).status).toBe(404);
    expect(await client.request("/delete", { id: kept, body: {} })).toMatchObject({ status: 200, body: { sid: kept } });
    expect((await client.request("/echo/prompt", { id: kept })).status).toBe(404);
    expect(await client.request("/delete_session", { id: kept, body: {} })).toMatchObject({ status: 200 });
  });

  it("need the token, as X-API-Key too", async () => {
    await using client = await Client.start({ token: "secret" });
    const create = (headers: Record<string, string>) => client.request("/create_session", { body: {}, headers });
    expect((await create({})).status).toBe(401);
    expect((await create({ "x-api-key": "wrong" })).status).toBe(401);
    expect((await create({ "x-api-key": "secret" })).text).toContain("event: task_id");
    expect((await create({ authorization: "Bearer secret" })).status).toBe(200);
  });

  it("score groups by scoreGroup, and only then", async () => {
    await using client = await Client.start();
    const said = (text: string) => ({ messages: [{ role: "assistant", blocks: [{ type: "text", text }] }] });
    const id = await client.create({ env_name: "grouped", split: "train", index: 0 });
    const { result } = await client.stream("/grouped/score_group", id, {
      candidates: [said("a"), { ...said("b"), metadata: { own: 1 } }],
    });
    expect(result.scores).toMatchObject([{ reward: 0 }, { reward: 1, metadata: { candidate: { own: 1 } } }]);
    const failed = await client.stream("/grouped/score_group", id, { candidates: [said("a")] });
    expect(failed.error).toContain("planted");
    const other = await client.create();
    expect(await client.request("/echo/score_group", { id: other, body: { candidates: [said("a")] } })).toMatchObject({
      status: 404,
    });
    for (const candidates of [[], [{ messages: [{ role: "tool", blocks: [] }] }], [{ messages: [{ role: "user" }] }]]) {
      expect(await client.request("/grouped/score_group", { id, body: { candidates } })).toMatchObject({ status: 422 });
    }
  });
});
