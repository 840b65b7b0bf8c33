import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import { WebSocketServer } from "ws";
import { remoteEnvironment } from "../../../server/client/remote-environment.ts";
import type { RemoteOptions } from "../../../server/client/remote-options.ts";
import type { Action } from "../../../src/contract/action.ts";
import type { Environment, EnvironmentDefinition } from "../../../src/contract/environment.ts";
import type { Episode } from "../../../src/contract/episode.ts";
import { textMessage } from "../../../src/contract/message.ts";
import { defineEnvironment } from "../../../src/core/environment/define-environment.ts";
import { scriptedPolicy } from "../../../src/core/policy/scripted-policy.ts";
import { EpisodeWarnings } from "../../../src/core/rollout/episode-warnings.ts";
import { rollout } from "../../../src/core/rollout/rollout.ts";
import { halfOpenProxy } from "./half-open-proxy.ts";
import { type Protocol, type ServerUnderTest, serveUnderTest } from "./server-under-test.ts";

let resources = new AsyncDisposableStack();
afterEach(async () => {
  await resources.disposeAsync();
  resources = new AsyncDisposableStack();
});

const protocols: readonly Protocol[] = ["openenv", "grpc"];
const turns = 4;

/** Counts to `turns`, with a step that waits for `onStep`. Each step's reward depends on the seed and the answer. */
function counter(
  options: { readonly deterministic?: boolean; readonly onStep?: (turn: number, signal?: AbortSignal) => unknown } = {},
): EnvironmentDefinition<string> {
  const { deterministic = true, onStep = () => {} } = options;
  return defineEnvironment<string, { readonly salt: number }>({
    id: "counter",
    tasks: ["a", "b", "c"],
    maxTurns: turns,
    rewardRange: [0, 1000],
    deterministic,
    reset: ({ task, random }) => ({ prompt: `Count ${task}.`, state: { salt: random.integer(0, 9) } }),
    step: async ({ state, text, turn, signal }) => {
      const addition = await onStep(turn, signal);
      const reward = state.salt + text.length + turn;
      return turn + 1 === turns
        ? { reward, done: true }
        : { reward, reply: `Turn ${turn + 1}.${typeof addition === "string" ? addition : ""}`, state };
    },
  }) as EnvironmentDefinition<string>;
}

const quick: RemoteOptions = { connectMs: 2_000, callMs: 20_000, reconnectMs: 20_000, onWait: () => {} };
const say = (text: string): { agent: Action } => ({
  agent: { message: textMessage("assistant", text), finish: "stop" },
});

async function serve(
  definition: EnvironmentDefinition<string>,
  protocol: Protocol,
  options: Parameters<typeof serveUnderTest>[1] | object = {},
): Promise<ServerUnderTest> {
  return resources.use(await serveUnderTest(definition as EnvironmentDefinition, { protocol, ...options }));
}

async function firstTask(environment: EnvironmentDefinition): Promise<unknown> {
  return (await (await environment.tasks("train")).get(0)).task;
}

async function instanceOf(environment: EnvironmentDefinition): Promise<Environment> {
  const instance = await environment.create();
  resources.defer(() => instance.close());
  return instance;
}

async function play(
  environment: EnvironmentDefinition,
  options: { readonly concurrency?: number; readonly onAct?: (turn: number) => unknown } = {},
): Promise<Episode[]> {
  const { concurrency = 2, onAct = () => {} } = options;
  const policies = scriptedPolicy(async ({ messages }) => {
    await onAct((messages.length - 1) / 2);
    return "x".repeat(messages.length);
  });
  const played: Episode[] = [];
  const tasks = await environment.tasks("train");
  for await (const event of rollout({ environment, policies, tasks, groupSize: 2, seed: 1, concurrency })) {
    if (event.type === "episode-end") played.push({ ...event.episode, durationMs: 0 });
  }
  return played.toSorted((first, second) => (first.id < second.id ? -1 : 1));
}

const withoutInfo = (episodes: readonly Episode[]) => episodes.map(({ info: _, lost: __, ...episode }) => episode);

describe.each(protocols)("over %s", (protocol) => {
  test("a server that is killed and restarted in the middle of a rollout changes no reward", async () => {
    const server = await serve(counter(), protocol);
    const waits: string[] = [];
    const remote = (await remoteEnvironment(server.url, {
      ...quick,
      onWait: (message) => waits.push(message),
    })) as EnvironmentDefinition;
    let killed = false;
    const episodes = await play(remote, {
      onAct: async (turn) => {
        if (turn !== 2 || killed) return;
        killed = true;
        await server.stop();
        setTimeout(() => void server.start(), 700);
      },
    });
    expect(withoutInfo(episodes)).toEqual(withoutInfo(await play(counter() as EnvironmentDefinition)));
    const restarted = episodes.filter(({ info = [] }) => JSON.stringify(info).includes('"restarts":1'));
    expect(restarted.length).toBeGreaterThan(0);
    expect(waits.join("\n")).toMatch(/Waiting up to 20 s for .*\n.* answers again after/s);
    expect(new EpisodeWarnings(remote).of(episodes)).toEqual([expect.stringContaining("lost the episode")]);
  });

  test("an episode of an environment that is not deterministic is played again by the rollout", async () => {
    const server = await serve(counter({ deterministic: false }), protocol);
    const remote = (await remoteEnvironment(server.url, quick)) as EnvironmentDefinition;
    let killed = false;
    const episodes = await play(remote, {
      concurrency: 1,
      onAct: async (turn) => {
        if (turn !== 2 || killed) return;
        killed = true;
        await server.stop();
        await server.start();
      },
    });
    expect(episodes.map(({ status }) => status)).toEqual(Array(6).fill("completed"));
    const [lost, ...others] = episodes.filter((episode) => episode.lost !== undefined);
    expect(others).toEqual([]);
    expect(lost!.lost).toMatchObject([{ code: "environment.unavailable", data: { reason: "lost-episode" } }]);
    expect(new EpisodeWarnings(remote).of(episodes)).toEqual([expect.stringContaining("lost the episode")]);
  });

  test("a server that answers otherwise after its restart fails the episode", async () => {
    let bonus = "";
    const server = await serve(counter({ onStep: () => bonus }), protocol);
    const remote = (await remoteEnvironment(server.url, quick)) as EnvironmentDefinition;
    const instance = await instanceOf(remote);
    await instance.reset({ task: await firstTask(remote), seed: 1 });
    await instance.step(say("a"));
    await server.stop();
    bonus = " It is another version.";
    await server.start();
    await expect(instance.step(say("b"))).rejects.toMatchObject({
      code: "environment.unavailable",
      data: { reason: "changed-answer" },
    });
  });

  test("more episodes than sessions take turns", async () => {
    const server = await serve(counter(), protocol, { maxSessions: 2 });
    const remote = (await remoteEnvironment(server.url, quick)) as EnvironmentDefinition;
    const episodes = await play(remote, { concurrency: 6 });
    expect(episodes).toEqual(await play(counter() as EnvironmentDefinition));
  });

  test("a late answer after a timeout answers no other request", async () => {
    let slow = true;
    const definition = counter({ onStep: async () => slow && (await pause(600)) });
    const server = await serve(definition, protocol);
    const remote = await remoteEnvironment(server.url, { ...quick, callMs: 200 });
    const environment = remote as EnvironmentDefinition;
    const instance = await instanceOf(environment);
    const task = await firstTask(environment);
    await instance.reset({ task, seed: 1 });
    await expect(instance.step(say("late"))).rejects.toMatchObject({ code: "timeout" });
    slow = false;
    await instance.reset({ task, seed: 1 });
    await pause(700);
    const { agents } = await instance.step(say("xx"));
    const local = await counter().create();
    await local.reset({ task: "a", seed: 1 });
    expect(agents).toEqual((await local.step(say("xx"))).agents);
  });

  test("a connection that goes silent is noticed, and the episode goes on", async () => {
    const server = await serve(counter(), protocol);
    const proxy = resources.use(await halfOpenProxy(server.port));
    const url = server.url.replace(String(server.port), String(proxy.port));
    const remote = (await remoteEnvironment(url, { ...quick, heartbeatMs: 200 })) as EnvironmentDefinition;
    const instance = await instanceOf(remote);
    await instance.reset({ task: await firstTask(remote), seed: 1 });
    await instance.step(say("a"));
    proxy.silence();
    const { agents } = await instance.step(say("bb"));
    const local = await counter().create();
    await local.reset({ task: "a", seed: 1 });
    await local.step(say("a"));
    expect(agents).toEqual((await local.step(say("bb"))).agents);
  });

  test("an abort ends a call at once and frees the session", async () => {
    const started = Promise.withResolvers<void>();
    const aborted = Promise.withResolvers<void>();
    const definition = counter({
      onStep: (_, signal) => {
        started.resolve();
        signal?.addEventListener("abort", () => aborted.resolve());
        return protocol === "grpc" ? aborted.promise : pause(300);
      },
    });
    const server = await serve(definition, protocol);
    const remote = (await remoteEnvironment(server.url, quick)) as EnvironmentDefinition;
    const instance = await instanceOf(remote);
    await instance.reset({ task: await firstTask(remote), seed: 1 });
    const controller = new AbortController();
    const step = instance.step(say("a"), { signal: controller.signal });
    await started.promise;
    controller.abort(new Error("enough"));
    await expect(step).rejects.toThrow("enough");
    await expect.poll(() => server.host.activeSessions).toBe(0);
  });

  test("a wrong token is a typed error that does not contain it", async () => {
    const server = await serve(counter(), protocol, { token: "right-token" });
    const environment = (await remoteEnvironment(server.url, {
      ...quick,
      token: "right-token",
    })) as EnvironmentDefinition;
    expect((await play(environment)).map(({ status }) => status)).toEqual(Array(6).fill("completed"));
    const error = await remoteEnvironment(server.url, { ...quick, token: "wrong-token" }).catch((thrown) => thrown);
    expect(error).toMatchObject({ code: "server.unauthorized" });
    expect(JSON.stringify([error.message, error.hint, error.data])).not.toContain("wrong-token");
  });

  test("a server that never comes ends the wait after the stated time", async () => {
    const server = await serve(counter(), protocol);
    const remote = await remoteEnvironment(server.url, { ...quick, reconnectMs: 300 });
    await server.stop();
    const instance = await instanceOf(remote as EnvironmentDefinition);
    await expect(instance.reset({ task: { split: "train", index: 0, hash: "" }, seed: 1 })).rejects.toMatchObject({
      code: "environment.unavailable",
      message: expect.stringContaining("was not available within 0.3 s"),
    });
  });
});

test("over grpc, a step whose answer was lost is not made twice", async () => {
  let steps = 0;
  const started = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const definition = counter({
    deterministic: false,
    onStep: async (turn, signal) => {
      steps += 1;
      if (turn !== 1) return;
      started.resolve();
      await goOn.promise;
      signal?.throwIfAborted();
    },
  });
  const server = await serve(definition, "grpc");
  const remote = (await remoteEnvironment(server.url, quick)) as EnvironmentDefinition;
  const instance = await instanceOf(remote);
  await instance.reset({ task: await firstTask(remote), seed: 1 });
  await instance.step(say("a"));
  const second = instance.step(say("bb"));
  await started.promise;
  await server.stop({ keepSessions: true });
  goOn.resolve();
  await server.start();
  const { agents, info } = await second;
  expect(agents.agent!.reward!.status).toBe("scored");
  expect(info).toBeUndefined();
  expect(steps).toBe(2);
});

describe("wrong answers of an OpenEnv server", () => {
  const observation = { observation: { text: "Hi." }, reward: 0.5, done: false };
  test.each([
    ["no JSON", "<html>"],
    ["a list", "[]"],
    ["a binary frame", Buffer.from([0, 255])],
    ["another type", JSON.stringify({ type: "state", data: {} })],
    ["no observation", JSON.stringify({ type: "observation", data: { done: false } })],
    ["a reward that is no number", JSON.stringify({ type: "observation", data: { ...observation, reward: "much" } })],
    ["NaN", '{"type":"observation","data":{"observation":{},"reward":NaN,"done":false}}'],
  ])("%s", async (_, wrong) => {
    let steps = 0;
    const http = createServer((request, response) => {
      const routes: Record<string, object> = {
        "/metadata": { name: "wrong", description: "" },
        "/schema": { action: { properties: { text: { type: "string" } }, required: ["text"] } },
      };
      const found = routes[request.url ?? ""];
      response.writeHead(found === undefined ? 404 : 200, { "content-type": "application/json" });
      response.end(JSON.stringify(found ?? {}));
    });
    const sockets = new WebSocketServer({ server: http, path: "/ws" });
    sockets.on("connection", (client) => {
      client.on("message", () => {
        steps += 1;
        client.send(steps === 2 ? wrong : JSON.stringify({ type: "observation", data: observation }));
      });
    });
    await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
    resources.defer(() => {
      for (const client of sockets.clients) client.terminate();
      http.close();
    });
    const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
    const remote = (await remoteEnvironment(url, quick)) as EnvironmentDefinition;
    const instance = await instanceOf(remote);
    const task = await firstTask(remote);
    await instance.reset({ task, seed: 1 });
    await expect(instance.step(say("a"))).rejects.toMatchObject({
      code: "environment.unavailable",
      data: { reason: "answer" },
    });
    await instance.reset({ task, seed: 1 });
    expect((await instance.step(say("a"))).agents.agent!.reward).toMatchObject({ value: 0.5 });
  });
});

test("a server that speaks only ORS is refused by name", async () => {
  const http = createServer((request, response) => {
    const known = request.url === "/list_environments";
    response.writeHead(known ? 200 : 404, { "content-type": "application/json" });
    response.end(JSON.stringify(known ? ["math"] : { detail: "Not Found" }));
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  resources.defer(() => void http.close());
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  await expect(remoteEnvironment(url, quick)).rejects.toMatchObject({
    code: "config.invalid",
    message: expect.stringContaining("speaks ORS"),
  });
});
