import { createServer, type ServerResponse } from "node:http";
import { setImmediate } from "node:timers";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { listen } from "../../../src/core/network/listen.ts";
import { RemoteModel } from "../../../trainers/backends/tinker/remote-model.ts";
import { TinkerSession } from "../../../trainers/backends/tinker/tinker-session.ts";

/** A server that holds each poll for the result of an operation until a simulated time, or for 300 seconds. */
async function slowServer({ operationMs, alive = true }: { readonly operationMs: number; readonly alive?: boolean }) {
  const state = { beats: 0, polls: 0, open: 0 };
  let started: number | undefined;
  const server = createServer((request, response) => {
    const route = request.url!.replace("/api/v1/", "");
    request.resume();
    request.once("end", () => void answer(route, response));
  });
  const send = (response: ServerResponse, body: unknown): void => {
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
  };
  const answer = (route: string, response: ServerResponse): unknown => {
    if (route === "get_server_capabilities") return send(response, { supported_models: [{ model_name: "m" }] });
    if (route === "create_session") return send(response, { session_id: "s" });
    if (route === "client/config") return send(response, {});
    if (route === "create_model") {
      started = performance.now();
      return send(response, { request_id: "1", model_id: "m" });
    }
    if (route === "session_heartbeat") {
      state.beats += 1;
      return alive ? send(response, {}) : undefined;
    }
    state.polls += 1;
    state.open += 1;
    response.once("close", () => {
      state.open -= 1;
    });
    if (!alive) return undefined;
    const left = started! + operationMs - performance.now();
    // The simulated clock also runs the timers of the server.
    setTimeout(
      () => {
        if (left <= 300_000) send(response, { type: "create_model", model_id: "m" });
        else send(response, { type: "try_again" });
      },
      Math.min(left, 300_000),
    );
  };
  const { authority } = await listen(server, { hostname: "127.0.0.1", port: 0 });
  return {
    state,
    url: `http://${authority}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Lets real requests and answers arrive until a condition holds. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}

beforeEach(() => {
  const toFake = ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "performance"] as const;
  vi.useFakeTimers({ toFake: [...toFake] });
});
afterEach(() => {
  vi.useRealTimers();
});

async function create(url: string, signal?: AbortSignal) {
  const session = await TinkerSession.open({ url, apiKey: "k" });
  const outcome: { model?: RemoteModel; error?: unknown } = {};
  const created = RemoteModel.create({ session, baseModel: "m", rank: 1, seed: 0, signal }).then(
    (model) => {
      outcome.model = model;
    },
    (error: unknown) => {
      outcome.error = error;
    },
  );
  return { session, outcome, created, hasEnded: () => outcome.model !== undefined || outcome.error !== undefined };
}

it("waits ten minutes for a model if the server answers signs of life and holds each poll", async () => {
  await using server = await slowServer({ operationMs: 600_000 });
  const { session, outcome, created, hasEnded } = await create(server.url);
  await until(() => server.state.polls > 0);
  while (!hasEnded() && performance.now() < 900_000) {
    const { beats } = server.state;
    await vi.advanceTimersByTimeAsync(10_000);
    // The next sign of life is sent only after the answer to the one before.
    await until(() => hasEnded() || server.state.beats > beats);
  }
  await created;
  expect(outcome.error).toBeUndefined();
  expect(outcome.model?.id).toBe("m");
  expect(performance.now()).toBeGreaterThan(590_000);
  expect(server.state.polls).toBeGreaterThan(8);
  await session[Symbol.asyncDispose]();
});

it("ends with an error that says what was saved if the server answers nothing", async () => {
  await using server = await slowServer({ operationMs: 600_000, alive: false });
  const { session, outcome, hasEnded } = await create(server.url);
  await until(() => server.state.polls > 0);
  for (let tens = 0; tens < 30 && !hasEnded(); tens++) {
    await vi.advanceTimersByTimeAsync(10_000);
    for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
  }
  expect(outcome.error).toMatchObject({
    code: "backend.unavailable",
    message: expect.stringContaining("The model was not created here, and nothing of it was saved."),
    hint: expect.stringContaining("Otherwise start the run again."),
  });
  // One sign of life at a time waits for an answer.
  expect(server.state.beats).toBeLessThan(8);
  await session[Symbol.asyncDispose]();
});

it("ends a poll at once on abort", async () => {
  await using server = await slowServer({ operationMs: 600_000 });
  const stop = new AbortController();
  const { session, outcome, created } = await create(server.url, stop.signal);
  await until(() => server.state.open === 1);
  stop.abort(new Error("stopped"));
  await created;
  expect(outcome.error).toMatchObject({ message: "stopped" });
  await until(() => server.state.open === 0);
  await session[Symbol.asyncDispose]();
});
