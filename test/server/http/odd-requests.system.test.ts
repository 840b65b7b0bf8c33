import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, it, test, vi } from "vitest";
import { startModelServer } from "../../../cli/model-server.ts";
import { numberGuessingEnvironment } from "../../../environments/index.ts";
import { serveView } from "../../../reports/viewer/server.ts";
import type { ViewSource } from "../../../reports/viewer/view-source.ts";
import { captureServer } from "../../../server/capture/index.ts";
import {
  Health,
  HealthCheckResponse_ServingStatus as Status,
} from "../../../server/grpc/generated/grpc/health/v1/health_pb.ts";
import { serveGrpc } from "../../../server/grpc/serve-grpc.ts";
import { serveEnvironments } from "../../../server/http/serve-environments.ts";
import { localRunner } from "../../../server/session/local-runner.ts";
import { createSessionHost, type SessionHost } from "../../../server/session/session-host.ts";
import type { EnvironmentDefinition } from "../../../src/contract/environment.ts";
import { createHttp2Server, createHttpServer } from "../../../src/core/network/create-server.ts";
import { listen } from "../../../src/core/network/listen.ts";
import { scriptedPolicy } from "../../../src/index.ts";
import type { TinkerService } from "../../../trainers/tinker/service/tinker-service.ts";
import { exchange, http2Statuses, oddAuthorities, oddTargets, requestText, upgradeHeaders } from "./odd-requests.ts";

const token = "secret-token";
/** The routes of training are in other tests. These figures are all that the server itself asks for. */
const service = {
  statistics: () => ({ sessions: 0, models: 0, maxModels: 1, running: 0 }),
  capabilities: () => ({}),
  modelNames: () => [],
} as unknown as TinkerService;
const source = { runs: async () => ({ runs: [] }) } as unknown as ViewSource;

let host: SessionHost & AsyncDisposable;
beforeAll(async () => {
  const definition = numberGuessingEnvironment() as EnvironmentDefinition;
  host = createSessionHost(await localRunner([{ name: "guess", definition }])) as SessionHost & AsyncDisposable;
});
afterAll(() => host[Symbol.asyncDispose]());

/** Every server of HTTP/1.1, with its health route. */
const servers = {
  "lyceum serve": ["/health", () => serveEnvironments({ host })],
  "lyceum serve with a token": ["/health", () => serveEnvironments({ host, token })],
  "lyceum capture": ["/health", () => captureServer({ policy: scriptedPolicy(["Hello."]) })],
  "lyceum capture with an admin key": ["/health", () => captureServer({ adminKey: token })],
  "lyceum serve-model": ["/healthz", () => startModelServer({ service, hostname: "127.0.0.1" })],
  "lyceum serve-model with a token": ["/healthz", () => startModelServer({ service, hostname: "127.0.0.1", token })],
  "lyceum view": ["/", () => serveView({ source, page: { script: "", style: "" } })],
} as const;

describe.each(Object.entries(servers))("%s", (_, [health, start]) => {
  it("answers its health route after every odd request", async () => {
    await using server = await start();
    const port = Number(new URL(server.url).port);
    const own = `Host: 127.0.0.1:${port}`;
    const odd = [
      ...oddTargets.flatMap((target) => [
        requestText(target, [own]),
        requestText(target, [own, `Authorization: Bearer ${token}`], "POST"),
        `GET ${target} HTTP/1.1\r\n${[own, ...upgradeHeaders].join("\r\n")}\r\n\r\n`,
      ]),
      ...oddAuthorities.flatMap((authority) => [
        requestText("/", [`Host: ${authority}`]),
        requestText("/", [own, `Host: ${authority}`]),
        requestText("/", [own, `Origin: ${authority}`]),
      ]),
      ...[
        "GET / HTTP/1.0\r\n\r\n",
        "GET / HTTP/2.0\r\n\r\n",
        "GET\r\n\r\n",
        "\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
      ],
      ...["CONNECT a:1", "CONNECT [", "TRACE /", "OPTIONS *", "M-SEARCH *", "QUERY /"].map(
        (line) => `${line} HTTP/1.1\r\n${own}\r\nConnection: close\r\n\r\n`,
      ),
      ...["Expect: 100-continue", "Expect: x", "Transfer-Encoding: x", "Content-Length: -1", "Upgrade: h2c"].map(
        (line) => requestText("/", [own, line, "Connection: Upgrade"], "POST"),
      ),
    ];
    await Promise.all(odd.map((text) => exchange(port, text, 300)));
    const answer = await fetch(new URL(health, server.url));
    expect(answer.status).toBe(200);
    await answer.text();
  });

  it("refuses two hosts, in whatever order and spelling", async () => {
    await using server = await start();
    const port = Number(new URL(server.url).port);
    const own = `Host: 127.0.0.1:${port}`;
    const status = async (headers: readonly string[]) =>
      Number((await exchange(port, requestText(health, headers))).split(" ")[1]);
    expect(await status([own])).toBe(200);
    for (const other of [
      own,
      "host: evil.example",
      "HOST: localhost",
      "Host:",
      "host : x",
      `Host: localhost:${port}`,
    ]) {
      expect(await status([own, other]), other).toBe(400);
      expect(await status([other, "Accept: */*", own]), other).toBe(400);
    }
    const upgrade = `GET /ws HTTP/1.1\r\n${[own, "Host: evil.example", ...upgradeHeaders].join("\r\n")}\r\n\r\n`;
    expect(await exchange(port, upgrade)).toMatch(/^HTTP\/1\.1 400 /);
  });

  it("refuses targets that are no path, and none by an error of its own", async () => {
    await using server = await start();
    const port = Number(new URL(server.url).port);
    for (const target of oddTargets) {
      const answer = await exchange(port, requestText(target, [`Host: 127.0.0.1:${port}`]), 60_000);
      const status = Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]);
      expect([target, status], answer).toEqual([target, expect.toSatisfy((found) => found >= 200 && found < 500)]);
    }
  });
});

test.each([{}, { token }])("gRPC answers after every odd authority and path, with %j", async (options) => {
  await using server = await serveGrpc({ host, policies: { a: scriptedPolicy(["x"]) }, ...options });
  const url = server.url.replace("grpc", "http");
  const check = { ":method": "POST", ":path": "/grpc.health.v1.Health/Check", te: "trailers" };
  const call = { ...check, "content-type": "application/grpc" };
  const odd = [
    ...oddAuthorities.flatMap((authority) => [
      { ...call, ":authority": authority },
      { ...call, host: authority },
    ]),
    ...oddTargets.map((path) => ({ ...call, ":path": path })),
    ...["GET", "CONNECT", "X", ""].map((method) => ({ ...call, ":method": method })),
    ...["http", "x", "", "javascript"].map((scheme) => ({ ...call, ":scheme": scheme })),
  ];
  const statuses = await http2Statuses(url, odd);
  expect(statuses[0]).toBe("400");
  expect(new Set(statuses)).not.toContain("500");
  const health = createClient(Health, createGrpcTransport({ baseUrl: url }));
  expect((await health.check({})).status).toBe(Status.SERVING);
});

describe("a server whose handler fails", () => {
  const failures = {
    throws: () => {
      throw new Error("It \u001b[31mbroke\nat night.");
    },
    rejects: async () => {
      throw new Error("It \u001b[31mbroke\nat night.");
    },
  };
  it.each(Object.entries(failures))("goes on after it %s, answers 500 and logs one line", async (_, request) => {
    const warnings = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    try {
      for (const server of [
        createHttpServer({ request, upgrade: request }),
        createHttp2Server({ request, settings: {} }),
      ]) {
        const { port } = await listen(server, { hostname: "127.0.0.1", port: 0 });
        const isHttp2 = !("keepAliveTimeout" in server);
        if (isHttp2) expect(await http2Statuses(`http://127.0.0.1:${port}`, [{ ":path": "/" }])).toEqual(["500"]);
        else {
          expect(await exchange(port, requestText("/", ["Host: a"]))).toMatch(
            /^HTTP\/1\.1 500 [\s\S]*Its log says why/,
          );
          expect(await exchange(port, `GET / HTTP/1.1\r\n${["Host: a", ...upgradeHeaders].join("\r\n")}\r\n\r\n`)).toBe(
            "",
          );
        }
        expect(warnings.mock.calls.length).toBe(isHttp2 ? 3 : 2);
        await new Promise((resolve) => server.close(resolve));
      }
      for (const [text] of warnings.mock.calls) {
        expect(text).toMatch(
          /^A request failed: Error: It \\x1b\[31mbroke⏎at night\. \(.*odd-requests\.system\.test\.ts:\d+:\d+\)$/,
        );
      }
    } finally {
      warnings.mockRestore();
    }
  });

  it("goes on after a connection could not be accepted", async () => {
    const warnings = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    const server = createHttpServer({ request: (_, response) => response.end("here") });
    const { port } = await listen(server, { hostname: "127.0.0.1", port: 0 });
    server.emit("error", new Error("accept EMFILE"));
    expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe("here");
    expect(warnings).toHaveBeenCalledExactlyOnceWith("A connection failed: accept EMFILE", { type: "Server" });
    warnings.mockRestore();
    server.closeAllConnections();
    server.close();
  });
});

test("only one module creates servers, so that none lacks the handling of errors", () => {
  const root = join(import.meta.dirname, "../../..");
  const files = ["src", "cli", "environments", "reports", "sandbox", "server", "trainers"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)),
  );
  const creates = /import [^;]*\bcreate(Secure)?Server\b[^;]*from "node:(http|https|http2|net|tls)"/;
  const creating = files.filter((file) => file.endsWith(".ts") && creates.test(readFileSync(join(root, file), "utf8")));
  // A Unix socket in a private folder, for the one connection of the PyTorch worker, is no server of requests.
  const worker = join("trainers", "backends", "torch", "launch-worker.ts");
  expect(creating).toEqual([join("src", "core", "network", "create-server.ts"), worker]);
});

describe("requests of other sites", () => {
  it("are refused by a capture server, unless they have a key", async () => {
    await using server = await captureServer({ adminKey: token, policy: scriptedPolicy(["Hello."]) });
    const session = server.open({ policy: scriptedPolicy(["Hello."]) });
    const status = async (headers: readonly string[]) =>
      Number((await exchange(server.port, requestText("/v1/models", headers))).split(" ")[1]);
    const foreign = [["Host: evil.example"], [`Host: 127.0.0.1:${server.port}`, "Origin: http://evil.example"]];
    for (const headers of foreign) {
      expect(await status(headers)).toBe(403);
      expect(await status([...headers, "Authorization: Bearer guess"])).toBe(403);
      expect(await status([...headers, `Authorization: Bearer ${session.id}`])).toBe(200);
      expect(await status([...headers, `X-Api-Key: ${token}`])).toBe(200);
    }
    expect(await status([`Host: localhost:${server.port}`])).toBe(200);
  });
});
