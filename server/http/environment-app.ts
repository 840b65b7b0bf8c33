import { type Context, Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { LyceumError } from "../../src/contract/errors/index.ts";
import {
  addEnvironmentRoutes,
  type EnvironmentEndpoint,
  environmentEndpoint,
  failedRequest,
} from "../openenv/environment-routes.ts";
import { openApiDocument } from "../openenv/openapi.ts";
import { addTaskRoutes } from "../openenv/task-routes.ts";
import { addOrsRoutes, addOrsSessions } from "../ors/ors-routes.ts";
import type { SessionHost } from "../session/session-host.ts";
import type { ServerMetrics } from "./server-metrics.ts";

/** The HTTP routes of an environment server, and the endpoints behind its WebSockets. */
export interface EnvironmentApp {
  readonly app: Hono;
  /** Returns the endpoint of an environment, or of the first one. Undefined for an unknown name. */
  endpointOf(name: string | undefined): EnvironmentEndpoint | undefined;
}

/** Creates the routes of an environment server. Authorization is the server's. */
export function environmentApp(options: {
  readonly host: SessionHost;
  readonly metrics: ServerMetrics;
  readonly version: string;
  readonly maxMessageBytes: number;
}): EnvironmentApp {
  const { host, metrics, version, maxMessageBytes } = options;
  const { environments } = host.runner;
  const endpoints = new Map(
    environments.map((environment) => [environment.name, environmentEndpoint(host, environment)]),
  );
  const first = endpoints.values().next().value;
  const names = [...endpoints.keys()];
  const app = new Hono();
  const onError = (context: Context) => {
    // The rest of the request is not read.
    context.header("connection", "close");
    return failedRequest(tooLarge(maxMessageBytes), context);
  };
  app.use(bodyLimit({ maxSize: maxMessageBytes, onError }));
  app.use(async (context, next) => {
    const started = performance.now();
    await next();
    const failed = context.res.status >= 400;
    metrics.answered({ kind: "http", ms: performance.now() - started, failed });
  });
  app.onError(failedRequest);
  app.get("/health", (context) => context.json({ status: "healthy" }));
  app.get("/ready", (context) =>
    host.isOpen
      ? context.json({ status: "ready", active_sessions: host.activeSessions, max_sessions: host.maxSessions })
      : context.json({ status: "draining", active_sessions: host.activeSessions }, 503),
  );
  app.get("/metrics", async (context) => context.text(await metrics.text()));
  app.get("/openapi.json", (context) => context.json(openApiDocument({ version, names })));
  app.get("/list_environments", (context) => context.json(names));
  const ors = addOrsSessions(app, { host, version });
  for (const endpoint of endpoints.values()) {
    const { environment } = endpoint;
    const prefix = `/${encodeURIComponent(environment.name)}`;
    for (const base of endpoint === first ? ["", prefix] : [prefix]) {
      addEnvironmentRoutes(app, { endpoint, prefix: base });
      addOrsRoutes(app, { endpoint: ors, environment, prefix: base });
      addTaskRoutes(app, { host, environment, base });
    }
    addTaskRoutes(app, { host, environment, base: `${prefix}${prefix}` });
    app.get(`${prefix}/health`, (context) => context.json({ status: "healthy" }));
    app.get(`${prefix}/openapi.json`, (context) =>
      context.json(openApiDocument({ version, names: [environment.name] })),
    );
    app.get(`${prefix}/list_environments`, (context) => context.json([environment.name]));
  }
  return { app, endpointOf: (name) => (name === undefined ? first : endpoints.get(name)) };
}

function tooLarge(maxBytes: number): LyceumError {
  return new LyceumError({
    code: "server.invalid-request",
    message: `The request is larger than ${maxBytes} bytes.`,
    hint: "Send less, or start the server with a greater --max-message.",
    data: { tooLarge: true },
  });
}
