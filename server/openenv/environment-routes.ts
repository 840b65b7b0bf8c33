import type { Context, Hono } from "hono";
import { HTTPException } from "hono/http-exception";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { z } from "zod";
import { LyceumError } from "../../src/contract/errors/index.ts";
import { messageLimits, parseLimitedJson } from "../../src/core/network/limited-json.ts";
import { startTimer } from "../../src/core/rollout/rollout-limits.ts";
import type { ServedEnvironment } from "../session/environment-runner.ts";
import type { SessionHost } from "../session/session-host.ts";
import { errorStatus, openEnvError } from "./error.ts";
import { answerRpc, type RpcContext } from "./mcp.ts";
import { environmentSchemas } from "./openapi.ts";
import { checked, type OpenEnvSession, openEnvSession } from "./openenv-session.ts";

const stepSchema = z.looseObject({ action: z.unknown().optional(), timeout_s: z.number().positive().nullish() });

/** The header that names a session, in requests and in the answer to `openenv/session/create`. */
const sessionHeader = "x-session-id";

/** The OpenEnv sessions of one environment of a host. */
export interface EnvironmentEndpoint {
  readonly environment: ServedEnvironment;
  /** Opens a session. */
  open(signal?: AbortSignal): Promise<OpenEnvSession>;
  /** Returns a session that MCP's `openenv/session/create` has opened. Throws `server.unknown-session`. */
  find(id: string): OpenEnvSession;
  /**
   * Attaches a WebSocket to such a session and returns it. One socket at a time: the answers of two would mix. Throws
   * `server.invalid-request` for a second one.
   */
  attach(id: string, signal: AbortSignal): OpenEnvSession;
  /** The context of MCP's requests, with the session of the connection, if there is one. */
  rpc(own?: OpenEnvSession): RpcContext;
}

/** Creates the endpoint of one environment. */
export function environmentEndpoint(host: SessionHost, environment: ServedEnvironment): EnvironmentEndpoint {
  const { name, spec } = environment;
  const adapted = new WeakMap<object, OpenEnvSession>();
  const attached = new Set<string>();
  const open: EnvironmentEndpoint["open"] = async (signal) =>
    openEnvSession(await host.open({ environment: name, signal }), spec.tools);
  const find: EnvironmentEndpoint["find"] = (id) => {
    const hosted = host.get(id);
    // A session of another environment is unknown here, as on a server of this environment alone.
    if (hosted.environment !== name) throw otherSession();
    const known = adapted.get(hosted) ?? openEnvSession(hosted, spec.tools);
    adapted.set(hosted, known);
    return known;
  };
  return {
    environment,
    open,
    find,
    attach: (id, signal) => {
      const session = find(id);
      if (attached.has(id)) throw attachedSession();
      attached.add(id);
      signal.addEventListener("abort", () => attached.delete(id), { once: true });
      return session;
    },
    rpc: (own) => ({
      session: (id) => {
        if (id !== undefined) return find(id);
        if (own === undefined) throw noSession();
        return own;
      },
      tools: (id) => (id === undefined ? own?.tools() : find(id).tools()) ?? spec.tools ?? [],
      createSession: async () => {
        const session = await open();
        adapted.set(session.hosted, session);
        return session.hosted.id;
      },
      closeSession: async (id) => find(id).hosted.close(),
    }),
  };
}

/** Adds OpenEnv's routes of one environment under `prefix`. */
export function addEnvironmentRoutes(
  app: Hono,
  { endpoint, prefix }: { readonly endpoint: EnvironmentEndpoint; readonly prefix: string },
): void {
  const { environment } = endpoint;
  const { name, spec, splits, scoresGroups, version } = environment;
  app.get(`${prefix}/metadata`, (context) =>
    context.json({
      name,
      description: spec.description ?? `The environment ${name}.`,
      version: version ?? null,
      lyceum: { spec, splits, scoresGroups },
    }),
  );
  app.get(`${prefix}/schema`, (context) => {
    const { action, observation, state } = environmentSchemas();
    return context.json({ action, observation, state, reset_observation: observation });
  });
  app.post(`${prefix}/reset`, async (context) =>
    context.json(
      await withSession(context, endpoint, (session, signal) =>
        bodyOf(context).then((data) => session.reset(data, { signal })),
      ),
    ),
  );
  app.post(`${prefix}/step`, async (context) => {
    const { action, timeout_s: seconds, ...start } = checked(stepSchema, await bodyOf(context), "request");
    return context.json(
      await withSession(context, endpoint, async (session, signal) => {
        // Without a session, the request is a whole episode of one step.
        if (sessionId(context) === undefined) await session.reset(start, { signal });
        if (seconds === undefined || seconds === null) return session.step(action, { signal });
        const late = new AbortController();
        const timer = startTimer(1000 * seconds, () => late.abort(tooLate(seconds)));
        try {
          return await session.step(action, { signal: AbortSignal.any([signal, late.signal]) });
        } finally {
          clearTimeout(timer);
        }
      }),
    );
  });
  app.get(`${prefix}/state`, async (context) =>
    context.json(
      sessionId(context) === undefined
        ? { episode_id: null, step_count: 0, done: false }
        : await withSession(context, endpoint, (session) => session.state()),
    ),
  );
  app.post(`${prefix}/mcp`, async (context) => {
    const text = await context.req.text();
    const rpc = endpoint.rpc();
    const createSession = async (): Promise<string> => {
      const id = await rpc.createSession();
      // A load balancer learns from this header which server has the session.
      context.header(sessionHeader, id);
      return id;
    };
    return context.json(await answerRpc(() => parseLimitedJson(text, messageLimits), { ...rpc, createSession }));
  });
}

/** Runs a request on the session that it names, or on one that lives as long as the request. */
async function withSession<T>(
  context: Context,
  endpoint: EnvironmentEndpoint,
  use: (session: OpenEnvSession, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { signal } = context.req.raw;
  const id = sessionId(context);
  if (id !== undefined) return use(endpoint.find(id), signal);
  const session = await endpoint.open(signal);
  try {
    return await use(session, signal);
  } finally {
    await session.hosted.close();
  }
}

function sessionId(context: Context): string | undefined {
  return context.req.query("session_id") ?? context.req.header(sessionHeader);
}

/** Returns the JSON of a body. An empty body is an empty object. */
export async function bodyOf(context: Context): Promise<unknown> {
  const text = await context.req.text();
  return text === "" ? {} : (parseLimitedJson(text, messageLimits) ?? checked(z.json(), undefined, "body"));
}

/** Answers a failed request. */
export function failedRequest(error: unknown, context: Context): Response {
  if (error instanceof HTTPException) return error.getResponse();
  const { message, ...rest } = openEnvError(error);
  return context.json({ detail: message, ...rest }, errorStatus(error) as ContentfulStatusCode);
}

function noSession(): LyceumError {
  return new LyceumError({
    code: "server.invalid-request",
    message: "The request names no session.",
    hint: "Open one by openenv/session/create, and send its session_id in the parameters.",
  });
}

function otherSession(): LyceumError {
  return new LyceumError({
    code: "server.unknown-session",
    message: "There is no such session of this environment.",
    hint: "Open another session.",
  });
}

function attachedSession(): LyceumError {
  return new LyceumError({
    code: "server.invalid-request",
    message: "Another connection uses this session.",
    hint: "Close it first, or open another session.",
  });
}

function tooLate(seconds: number): LyceumError {
  return new LyceumError({
    code: "timeout",
    message: `The step took longer than ${seconds} s.`,
    hint: "Send a greater timeout_s, or none.",
  });
}
