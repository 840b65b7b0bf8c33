import { randomUUID } from "node:crypto";
import type { Context, Hono } from "hono";
import { streamSSE } from "hono/streaming";
import { z } from "zod";
import { LyceumError } from "../../src/contract/errors/index.ts";
import type { Json } from "../../src/contract/json.ts";
import { messageLimits, parseLimitedJson } from "../../src/core/network/limited-json.ts";
import { startTimer } from "../../src/core/rollout/rollout-limits.ts";
import { checked } from "../openenv/openenv-session.ts";
import type { ServedEnvironment } from "../session/environment-runner.ts";
import type { HostedSession, SessionHost } from "../session/session-host.ts";
import { answersOf, blocksOf, candidatesSchema, orsMessages } from "./blocks.ts";
import { OrsSession, type OrsTask, severalAgents } from "./ors-session.ts";
import { streamCall } from "./task-stream.ts";
import { toolList } from "./tool-list.ts";

/** The time that a request waits for the environment's reset, in milliseconds. Then its client asks again. */
const readyMs = 25_000;

const json = z.unknown() as unknown as z.ZodType<Json>;
const taskSchema = z.object({ split: z.string(), index: z.int().min(0), seed: z.int().min(0).optional() });
const createSchema = z.strictObject({
  env_name: z.string().nullish(),
  task_spec: taskSchema.nullish(),
  split: z.string().nullish(),
  index: z.int().min(0).nullish(),
  toolset_name: z.null("Toolsets of OpenReward are not supported").optional(),
});
const callSchema = z.strictObject({ name: z.string(), input: json.optional(), task_id: z.string().nullish() });
const scoreSchema = z.strictObject({ candidates: candidatesSchema, task_id: z.string().nullish() });
const sessionIdSchema = z.string().regex(/^[\w-]{16,128}$/, "must have 16 to 128 letters, digits, - or _");

/** The sessions of one server that take ORS's calls. */
export interface OrsEndpoint {
  /** Returns the session that a request names. Throws `server.unknown-session`. */
  find(context: Context, environment?: ServedEnvironment): OrsSession;
  readonly host: SessionHost;
}

/** Adds ORS's routes of a server: they create, keep and close sessions. Returns the sessions for `addOrsRoutes`. */
export function addOrsSessions(
  app: Hono,
  { host, version }: { readonly host: SessionHost; readonly version: string },
): OrsEndpoint {
  const { environments } = host.runner;
  const sessions = new WeakMap<HostedSession, OrsSession>();
  const hostedOf = (context: Context): HostedSession => host.get(sessionId(context));

  app.get("/version", (context) => context.json({ version, build_sha: null }));
  app.post("/create_session", (context) => {
    if (!host.isOpen) throw closed();
    return streamSSE(context, async (stream) => {
      await stream.writeSSE({ event: "task_id", data: randomUUID() });
      await stream.writeSSE({ event: "end", data: "" });
    });
  });
  app.post("/create", async (context) => {
    const body = checked(createSchema, await bodyOf(context), "request");
    const id = checked(sessionIdSchema, sessionId(context), "X-Session-ID");
    const environment = environmentOf(environments, body.env_name);
    if (environment.spec.agents.length > 1) throw severalAgents(environment);
    const hosted = await host.open({ environment: environment.name, id, signal: context.req.raw.signal });
    sessions.set(hosted, new OrsSession(hosted, { environment, task: taskOf(body) }));
    return context.json({ sid: id });
  });
  app.post("/ping", (context) => {
    hostedOf(context).touch();
    return context.json({ status: "ok" });
  });
  for (const path of ["/delete", "/delete_session"]) {
    app.post(path, async (context) => {
      const id = sessionId(context);
      await host.find(id)?.close();
      return context.json({ sid: id });
    });
  }
  return {
    host,
    find: (context, environment) => {
      const hosted = hostedOf(context);
      const session = sessions.get(hosted);
      if (session === undefined || (environment !== undefined && hosted.environment !== environment.name)) {
        throw otherSession();
      }
      hosted.touch();
      return session;
    },
  };
}

/** Adds ORS's routes of one environment under `prefix`. Those for its tasks are OpenEnv's. */
export function addOrsRoutes(
  app: Hono,
  options: { readonly endpoint: OrsEndpoint; readonly environment: ServedEnvironment; readonly prefix: string },
): void {
  const { endpoint, environment, prefix } = options;
  const find = (context: Context): OrsSession => endpoint.find(context, environment);
  app.get(`${prefix}/tools`, (context) => context.json(toolList(environment, environment.spec.tools ?? [])));
  app.get(`${prefix}/task_tools`, async (context) => {
    const session = find(context);
    if (!(await isReady(session))) return starting(context);
    return context.json(toolList(environment, session.tools));
  });
  for (const [path, form] of [["/prompt", blocksOf] as const, ["/messages", orsMessages] as const]) {
    app.get(`${prefix}${path}`, async (context) => {
      const session = find(context);
      return (await isReady(session)) ? context.json(form(await session.ready)) : starting(context);
    });
  }
  app.post(`${prefix}/call`, async (context) => {
    const session = find(context);
    const { name, input = {}, task_id: known } = checked(callSchema, await bodyOf(context), "request");
    if (!(await isReady(session))) return starting(context);
    const id = known ?? session.calls.start(() => session.call(name, input));
    return streamCall(context, { id, result: session.calls.result(id) });
  });
  app.post(`${prefix}/score_group`, async (context) => {
    const session = find(context);
    const { candidates, task_id: known } = checked(scoreSchema, await bodyOf(context), "request");
    if (environment.scoresGroups !== true) return context.json({ detail: noGroups(environment.name) }, 404);
    const id =
      known ??
      session.calls.start(async () => {
        const rewards = await endpoint.host.runner.scoreGroup({
          environment: environment.name,
          ...session.task,
          answers: candidates.map(answersOf),
        });
        return { scores: rewards.map((reward, index) => scoreOf(reward, candidates[index]!.metadata)) };
      });
    return streamCall(context, { id, result: session.calls.result(id) });
  });
}

function scoreOf(reward: Awaited<ReturnType<SessionHost["runner"]["scoreGroup"]>>[number], given: Json = null): Json {
  if (reward.status === "unscored") throw unscoredGroup(reward.reason);
  return { reward: reward.value, metadata: { components: reward.components as Json, candidate: given } };
}

/** Waits for the environment's reset. Returns false if it takes longer than a request may. */
async function isReady({ ready }: OrsSession): Promise<boolean> {
  const late = Promise.withResolvers<false>();
  const timer = startTimer(readyMs, () => late.resolve(false));
  try {
    return await Promise.race([ready.then(() => true), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Asks the client to repeat its request. ORS's client does so for as long as the environment starts. */
function starting(context: Context): Response {
  context.header("X-Backend-State", "starting");
  context.header("Retry-After", "1");
  return context.json({ detail: "The environment still starts." }, 503);
}

function sessionId(context: Context): string {
  return context.req.header("x-session-id")?.trim() ?? "";
}

async function bodyOf(context: Context): Promise<unknown> {
  return parseLimitedJson(await context.req.text(), messageLimits);
}

function environmentOf(
  environments: readonly ServedEnvironment[],
  wanted: string | null | undefined,
): ServedEnvironment {
  if (wanted === undefined || wanted === null) return environments[0]!;
  const found = environments.find(({ name }) => name.toLowerCase() === wanted.toLowerCase());
  if (found !== undefined) return found;
  throw new LyceumError({
    code: "config.unknown-name",
    message: `This server has no environment "${wanted}".`,
    hint: `It serves: ${environments.map(({ name }) => name).join(", ")}.`,
  });
}

function taskOf({ task_spec: task, split, index }: z.output<typeof createSchema>): OrsTask {
  const isNamed = typeof split === "string" && typeof index === "number";
  if (task && split == null && index == null) return task;
  if (!task && isNamed) return { split, index };
  throw new LyceumError({
    code: "server.invalid-request",
    message: "The request names no task, or two.",
    hint: "Send task_spec, or both split and index. A task_spec has a split, an index and, optionally, a seed.",
  });
}

function otherSession(): LyceumError {
  return new LyceumError({
    code: "server.unknown-session",
    message: "There is no such ORS session of this environment.",
    hint: "Create a session by /create_session and /create.",
  });
}

function closed(): LyceumError {
  return new LyceumError({
    code: "server.closed",
    message: "The server is about to end and opens no more sessions.",
    hint: "Connect to another server, or wait until this one has restarted.",
  });
}

function noGroups(name: string): string {
  return `The environment "${name}" does not score groups. The rewards of its sessions are complete.`;
}

function unscoredGroup(reason: string): LyceumError {
  return new LyceumError({
    code: "environment.failed",
    message: `The group could not be scored: ${reason}`,
    hint: "Try again, or use the rewards of the sessions.",
  });
}
