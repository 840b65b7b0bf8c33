import { execFileSync } from "node:child_process";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterEach, describe, expect, test } from "vitest";
import {
  Health,
  HealthCheckResponse_ServingStatus as Status,
} from "../../../server/grpc/generated/grpc/health/v1/health_pb.ts";
import { EnvironmentService } from "../../../server/grpc/generated/lyceum/v1/environment_pb.ts";
import { ModelService } from "../../../server/grpc/generated/lyceum/v1/model_pb.ts";
import { type GrpcServerOptions, serveGrpc } from "../../../server/grpc/serve-grpc.ts";
import { lyceumErrorIn } from "../../../server/grpc/wire/errors.ts";
import { localRunner } from "../../../server/session/local-runner.ts";
import { createSessionHost, type SessionHost, type SessionLimits } from "../../../server/session/session-host.ts";
import type { EnvironmentDefinition } from "../../../src/contract/environment.ts";
import { LyceumError } from "../../../src/contract/errors/index.ts";
import { textMessage } from "../../../src/contract/message.ts";
import type { ActRequest, Policy } from "../../../src/contract/policy.ts";
import { defineEnvironment } from "../../../src/core/environment/define-environment.ts";
import { temporaryFolder } from "../../temporary-folder.ts";

let resources = new AsyncDisposableStack();
afterEach(async () => {
  await resources.disposeAsync();
  resources = new AsyncDisposableStack();
});

const steps: string[] = [];
/** Waits as many milliseconds as the text says, then repeats the text. Throws for "fail". Ends the episode for "end". */
const echo = defineEnvironment({
  id: "echo",
  tasks: ["a", "b"],
  maxTurns: 100,
  rewardRange: [0, 100],
  reset: () => "Say something.",
  step: async ({ text, signal }) => {
    if (text === "fail") throw new Error("It broke.");
    await pause(Number(text) || 0, undefined, { signal }).catch(() => {
      steps.push("aborted");
      throw signal!.reason;
    });
    steps.push(text);
    return text === "end" ? { reward: 1, done: true } : { reward: 0.5, reply: `You said ${text}.` };
  },
}) as EnvironmentDefinition;

async function serve(options: Partial<GrpcServerOptions> & SessionLimits = {}) {
  const host: SessionHost = resources.use(
    createSessionHost(await localRunner([{ name: "echo", definition: echo }]), options),
  );
  const server = resources.use(await serveGrpc({ host, ...options }));
  const transport = createGrpcTransport({ baseUrl: server.url.replace(/^grpc/, "http") });
  return { host, server, transport, client: createClient(EnvironmentService, transport) };
}

const say = (text: string) => ({
  agent: { message: { role: "assistant", content: [{ part: { case: "text" as const, value: text } }] } },
});

async function failure(
  call: Promise<unknown>,
): Promise<{ readonly status: string; readonly code: string | undefined }> {
  const error = await call.then(
    () => new Error("The call succeeded."),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ConnectError)) throw error;
  return { status: Code[error.code], code: lyceumErrorIn(error)?.code };
}

describe("EnvironmentService", () => {
  test("plays an episode to its end", async () => {
    const { client, host } = await serve();
    const { environments } = await client.listEnvironments({});
    expect(
      environments.map(({ environmentId, splits }) => [
        environmentId,
        splits.map(({ name, length }) => [name, length]),
      ]),
    ).toEqual([["echo", [["train", 2n]]]]);
    const { tasks } = await client.listTasks({ split: "train", start: 0n, stop: 2n });
    expect(tasks.map(({ id, hash }) => [id, hash.length])).toEqual([
      ["0", 64],
      ["1", 64],
    ]);
    const { sessionId, observations, taskId, seed } = await client.reset({ seed: 7n, index: 1n });
    expect({ taskId, seed }).toEqual({ taskId: "1", seed: 7n });
    expect(observations.agent!.messages[0]!.content[0]!.part.value).toBe("Say something.");
    const first = await client.step({ sessionId, actions: say("hi") });
    expect(first.observations.agent!.messages[0]!.content[0]!.part.value).toBe("You said hi.");
    expect(await client.getState({ sessionId })).toMatchObject({ stepCount: 1, done: false });
    const last = await client.step({ sessionId, actions: say("end") });
    expect(last.done).toBe(true);
    expect(last.agents.agent).toMatchObject({ terminated: true, reward: { status: { value: { value: 1 } } } });
    expect(await client.health({})).toMatchObject({ ready: true, activeSessions: 1, maxSessions: 256 });
    await client.close({ sessionId });
    await client.close({ sessionId });
    expect(host.activeSessions).toBe(0);
  });

  test("refuses wrong requests by status and error", async () => {
    const { client, host } = await serve({ maxSessions: 1 });
    expect(await failure(client.reset({ environmentId: "other" }))).toEqual({
      status: "NotFound",
      code: "config.unknown-name",
    });
    expect(await failure(client.reset({ index: 9n }))).toEqual({ status: "OutOfRange", code: "data.out-of-range" });
    expect(host.activeSessions).toBe(0);
    const { sessionId } = await client.reset({});
    expect(await failure(client.reset({}))).toEqual({ status: "ResourceExhausted", code: "server.capacity" });
    expect(await failure(client.step({ sessionId: "guess", actions: say("a") }))).toEqual({
      status: "NotFound",
      code: "server.unknown-session",
    });
    expect(await failure(client.step({ sessionId, actions: {} }))).toEqual({
      status: "InvalidArgument",
      code: "server.invalid-request",
    });
    expect(await failure(client.step({ sessionId, actions: { agent: {} } }))).toEqual({
      status: "InvalidArgument",
      code: "server.invalid-request",
    });
    expect(await failure(client.step({ sessionId, actions: say("fail") }))).toEqual({
      status: "Internal",
      code: "environment.failed",
    });
    void host.drain();
    expect(await failure(client.reset({}))).toEqual({ status: "Unavailable", code: "server.closed" });
    expect(await client.health({})).toMatchObject({ ready: false });
  });

  test("a failing step of a batch fails alone, and the steps of a session keep their order", async () => {
    const { client } = await serve();
    const [one, two] = [await client.reset({}), await client.reset({})];
    steps.length = 0;
    const { outcomes } = await client.batchStep({
      requests: [
        { sessionId: one.sessionId, stepId: "1", actions: say("40") },
        { sessionId: two.sessionId, stepId: "2", actions: say("fail") },
        { sessionId: one.sessionId, stepId: "3", actions: say("1") },
        { sessionId: "guess", actions: say("1") },
      ],
    });
    expect(outcomes.map(({ result }) => (result.case === "error" ? result.value.code : result.case))).toEqual([
      "response",
      "environment.failed",
      "response",
      "server.unknown-session",
    ]);
    expect(outcomes.map(({ stepId }) => stepId)).toEqual(["1", "2", "3", undefined]);
    expect(steps).toEqual(["40", "1"]);
  });

  test("a stream answers steps as they end, in order within a session", async () => {
    const { client } = await serve();
    const [slow, fast] = [await client.reset({}), await client.reset({})];
    async function* requests() {
      yield { request: { sessionId: slow.sessionId, stepId: "slow-1", actions: say("150") } };
      yield { request: { sessionId: slow.sessionId, stepId: "slow-2", actions: say("1") } };
      yield { request: { sessionId: fast.sessionId, stepId: "fast", actions: say("2") } };
      yield { request: { sessionId: "guess", stepId: "none", actions: say("2") } };
    }
    const order: [string | undefined, string | undefined][] = [];
    for await (const { outcome } of client.streamStep(requests())) order.push([outcome!.stepId, outcome!.result.case]);
    expect(order.slice(0, 2).sort()).toEqual([
      ["fast", "response"],
      ["none", "error"],
    ]);
    expect(order.slice(2)).toEqual([
      ["slow-1", "response"],
      ["slow-2", "response"],
    ]);
  });

  test("a repeated step returns its result again", async () => {
    const { client } = await serve();
    const { sessionId } = await client.reset({});
    steps.length = 0;
    const first = await client.step({ sessionId, stepId: "a", actions: say("3") });
    expect(await client.step({ sessionId, stepId: "a", actions: say("3") })).toEqual(first);
    expect(steps).toEqual(["3"]);
  });

  test("a deadline and a cancel abort the step, and the session takes a reset", async () => {
    const { client } = await serve();
    const { sessionId } = await client.reset({});
    steps.length = 0;
    expect(
      await failure(client.step({ sessionId, stepId: "a", actions: say("5000") }, { timeoutMs: 100 })),
    ).toMatchObject({ status: "DeadlineExceeded" });
    await expect.poll(() => steps).toEqual(["aborted"]);
    expect(await failure(client.step({ sessionId, stepId: "a", actions: say("1") }))).toEqual({
      status: "InvalidArgument",
      code: "server.invalid-request",
    });
    await client.reset({ sessionId });
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 50);
    expect(
      await failure(client.step({ sessionId, stepId: "b", actions: say("5000") }, { signal: controller.signal })),
    ).toMatchObject({ status: "Canceled" });
    await expect.poll(() => steps).toEqual(["aborted", "aborted"]);
    await client.reset({ sessionId });
    expect((await client.step({ sessionId, actions: say("1") })).done).toBe(false);
  });
});

describe("the health service", () => {
  test("says whether the server serves, without a token", async () => {
    const { transport, host } = await serve({ token: "t" });
    const health = createClient(Health, transport);
    expect((await health.check({})).status).toBe(Status.SERVING);
    expect((await health.check({ service: EnvironmentService.typeName })).status).toBe(Status.SERVING);
    expect((await failure(health.check({ service: "other" }))).status).toBe("NotFound");
    const seen: number[] = [];
    for await (const { status } of health.watch({})) {
      seen.push(status);
      if (seen.length === 2) break;
      void host.drain();
    }
    expect(seen).toEqual([Status.SERVING, Status.NOT_SERVING]);
    const client = createClient(EnvironmentService, transport);
    expect(await failure(client.listEnvironments({}))).toEqual({
      status: "Unauthenticated",
      code: "server.unauthorized",
    });
    expect((await client.health({})).ready).toBe(false);
  });
});

describe("ModelService", () => {
  const asked: ActRequest[] = [];
  const model: Policy = {
    specificationVersion: "v1",
    name: "model",
    accepts: ["text"],
    act: async (request) => {
      asked.push(request);
      const [first] = request.messages;
      if (first!.content.length === 0) {
        throw new LyceumError({ code: "policy.unsupported-input", message: "Nothing to read.", hint: "Send text." });
      }
      return {
        action: {
          message: {
            ...textMessage("assistant", "é".repeat(300)),
            toolCalls: [{ id: "c", name: "look", arguments: { at: [1, null] } }],
          },
          finish: "tool-calls",
        },
        tokens: {
          extendsPrevious: true,
          newPromptIds: [4, 5],
          promptLength: 5,
          completionIds: [70_000, 1],
          logprobs: [-0.1, -1e-9],
          weightsVersion: 3,
        },
        usage: { promptTokens: 5, completionTokens: 2 },
      };
    },
  };
  const messages = [{ role: "user", content: [{ part: { case: "text" as const, value: "Look." } }] }];
  const models = async (): Promise<Transport> => (await serve({ policies: { model } })).transport;

  test("generates with tokens and log-probabilities", async () => {
    const client = createClient(ModelService, await models());
    expect((await client.listModels({})).models).toMatchObject([{ modelId: "model", accepts: ["text"] }]);
    asked.length = 0;
    const response = await client.generate({
      messages,
      sampling: { temperature: 0, maxTokens: 9, stop: ["\n"] },
      tools: [{ name: "look", description: "Looks.", parameters: { kind: { case: "boolValue", value: true } } }],
      seed: 5n,
      previous: { ids: [1, 2, 3], messageCount: 1 },
    });
    expect(response.action).toMatchObject({
      finish: "tool-calls",
      message: { toolCalls: [{ id: "c", name: "look" }] },
    });
    expect(response.tokens).toMatchObject({
      completionIds: [70_000, 1],
      logprobs: [-0.1, -1e-9],
      newPromptIds: [4, 5],
    });
    expect(asked[0]).toMatchObject({
      sampling: { temperature: 0, maxTokens: 9, stop: ["\n"] },
      tools: [{ name: "look", parameters: true }],
      seed: 5,
    });
    expect(asked[0]!.previous!.ids.toArray()).toEqual([1, 2, 3]);
  });

  test("a failing request of a batch fails alone", async () => {
    const client = createClient(ModelService, await models());
    const { outcomes } = await client.batchGenerate({
      requests: [{ messages }, { messages: [] }, { messages: [{ role: "user" }] }, { modelId: "no", messages }],
    });
    expect(outcomes.map(({ result }) => (result.case === "error" ? result.value.code : result.case))).toEqual([
      "response",
      "server.invalid-request",
      "policy.unsupported-input",
      "config.unknown-name",
    ]);
  });

  test("streams the text in pieces and ends with the answer", async () => {
    const client = createClient(ModelService, await models());
    let text = "";
    const kinds: (string | undefined)[] = [];
    for await (const { event } of client.streamGenerate({ request: { messages } })) {
      kinds.push(event.case);
      if (event.case === "text") text += event.value;
    }
    expect(kinds).toEqual(["text", "text", "response"]);
    expect(text).toBe("é".repeat(300));
    const wrong = (async () => {
      for await (const _ of client.streamGenerate({ request: { messages: [] } }));
    })();
    expect(await failure(wrong)).toEqual({ status: "InvalidArgument", code: "server.invalid-request" });
  });
});

test("a draining server answers its running calls, accepts no others, and says so", async () => {
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  const model: Policy = {
    specificationVersion: "v1",
    name: "model",
    accepts: ["text"],
    act: async () => {
      asked.resolve();
      await answer.promise;
      return { action: { message: textMessage("assistant", "late"), finish: "stop" } };
    },
  };
  const server = resources.use(await serveGrpc({ policies: { model } }));
  const connect = () => createGrpcTransport({ baseUrl: server.url.replace(/^grpc/, "http") });
  const client = createClient(ModelService, connect());
  const seen: number[] = [];
  const watching = (async () => {
    for await (const { status } of createClient(Health, connect()).watch({})) seen.push(status);
  })();
  const running = client.generate({ messages: [{ role: "user" }] });
  await asked.promise;
  await expect.poll(() => seen).toEqual([Status.SERVING]);
  let isDrained = false;
  const drained = server.drain({ signal: new AbortController().signal }).then(() => {
    isDrained = true;
  });
  await watching;
  expect(seen).toEqual([Status.SERVING, Status.NOT_SERVING]);
  expect(await failure(createClient(ModelService, connect()).listModels({}))).toMatchObject({ status: "Unavailable" });
  expect(isDrained).toBe(false);
  answer.resolve();
  expect((await running).action!.message!.content[0]!.part.value).toBe("late");
  await drained;
});

test("a drain ends with its signal, and the close after it ends the running calls", async () => {
  const asked = Promise.withResolvers<void>();
  const model: Policy = {
    specificationVersion: "v1",
    name: "model",
    accepts: ["text"],
    act: ({ signal }) => {
      asked.resolve();
      return new Promise((_, reject) => signal!.addEventListener("abort", () => reject(signal!.reason)));
    },
  };
  const server = resources.use(await serveGrpc({ policies: { model } }));
  const client = createClient(ModelService, createGrpcTransport({ baseUrl: server.url.replace(/^grpc/, "http") }));
  const running = failure(client.generate({ messages: [{ role: "user" }] }));
  await asked.promise;
  await server.drain({ signal: AbortSignal.timeout(50) });
  await server.close();
  expect((await running).status).toBe("Canceled");
});

test("serves over TLS", async () => {
  const folder = temporaryFolder();
  resources.defer(() => rm(folder, { recursive: true, force: true }));
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"];
  execFileSync(
    "openssl",
    [
      "req",
      "-x509",
      "-newkey",
      "ec",
      "-pkeyopt",
      "ec_paramgen_curve:prime256v1",
      "-nodes",
      "-days",
      "1",
      "-keyout",
      key,
      "-out",
      cert,
      ...subject,
    ],
    { stdio: "ignore" },
  );
  const tls = { key: await readFile(key, "utf8"), cert: await readFile(cert, "utf8") };
  const { server } = await serve({ tls });
  expect(server.url).toMatch(/^grpcs:/);
  const baseUrl = `https://127.0.0.1:${server.port}`;
  const trusting = createClient(EnvironmentService, createGrpcTransport({ baseUrl, nodeOptions: { ca: tls.cert } }));
  expect((await trusting.health({})).ready).toBe(true);
  const strange = createClient(EnvironmentService, createGrpcTransport({ baseUrl }));
  await expect(strange.health({})).rejects.toThrow("self-signed certificate");
});
