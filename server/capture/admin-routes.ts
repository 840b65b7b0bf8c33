import type { IncomingMessage } from "node:http";
import { z } from "zod";
import { LyceumError } from "../../src/contract/errors/index.ts";
import type { Json } from "../../src/contract/json.ts";
import type { Policy } from "../../src/contract/policy.ts";
import { sameSecret } from "../http/same-secret.ts";
import { callTree, treeCounts } from "./call-tree.ts";
import { unauthorized } from "./capture-error.ts";
import { captureLevelOf } from "./capture-level.ts";
import type { CaptureServerOptions } from "./capture-server.ts";
import type { RecordedSession } from "./capture-session.ts";
import { parseBody, refuse, samplingOf, samplingShape } from "./dialects/read-request.ts";
import { keyOf } from "./http.ts";
import { type CaptureLevel, rolloutDocument, traceEntries } from "./rollout-document.ts";
import type { SessionTable } from "./session-table.ts";

/** The answer of a route. */
export interface RouteAnswer {
  readonly status?: number;
  readonly body: unknown;
}

/** A request of an admin route. */
export interface AdminRequest {
  readonly request: IncomingMessage;
  readonly url: URL;
  readonly path: string;
  readonly body: () => Promise<unknown>;
}

const purposes = ["auto", "train", "eval"] as const;

/** Penalties can only have the values without effect. */
const samplingSchema = z
  .strictObject({
    ...samplingShape,
    max_tokens: z.int().min(1).nullish(),
    frequency_penalty: z.literal(0).nullish(),
    presence_penalty: z.literal(0).nullish(),
    repetition_penalty: z.literal(1).nullish(),
  })
  .nullish();

const sessionSchema = z.object({
  session_id: z.string().nullish(),
  metadata: z.record(z.string(), z.json()).nullish(),
  max_model_calls: z.int().min(0).nullish(),
  sampling: samplingSchema,
  eval_sampling: samplingSchema,
  seed: z.int().nullish(),
  purpose: z.enum(purposes).default("auto"),
  llm_url: z.string().nullish(),
  provider: z.string().nullish(),
});

/** Creates the function that answers the admin routes, with the paths and bodies of OpenEnv's capture server. */
export function createAdminRoutes(
  sessions: SessionTable,
  { policy, adminKey, defaults, idleMs = 3_600_000 }: CaptureServerOptions,
): (asked: AdminRequest) => Promise<RouteAnswer> {
  const exported = new WeakMap<RecordedSession, { level: CaptureLevel; purpose: (typeof purposes)[number] }>();
  const levels = new Map<Policy, Promise<CaptureLevel>>();
  const levelOf = (asked: Policy): Promise<CaptureLevel> => {
    const level = levels.get(asked) ?? captureLevelOf(asked);
    levels.set(asked, level);
    return level;
  };

  /** Closes the sessions that a trainer opened and left. */
  const closeIdle = (): void => {
    for (const session of sessions.all()) {
      const isIdle = !session.isBusy && Date.now() - session.lastCallAt > idleMs;
      if (isIdle && exported.has(session)) void session.close();
    }
  };

  const create = async (body: unknown): Promise<RouteAnswer> => {
    const given = parseBody(body ?? {}, sessionSchema);
    refuse("llm_url (the server has a model of its own)", given.llm_url, [""]);
    if (policy === undefined) throw noPolicy();
    const { purpose, metadata, session_id, max_model_calls, seed } = given;
    const level = await levelOf(policy);
    if (purpose === "train" && level !== "tokens") throw notTrainable(level);
    const asked = purpose === "eval" ? given.eval_sampling : given.sampling;
    const limit = metadata?.max_output_tokens;
    const maxTokens = asked?.max_tokens ?? (typeof limit === "number" ? limit : undefined);
    const maxModelCalls = max_model_calls || defaults?.maxModelCalls;
    closeIdle();
    const session = sessions.open({
      policy,
      sampling: { ...defaults?.sampling, ...samplingOf(asked ?? {}, { maxTokens }) },
      ...(seed === null || seed === undefined ? {} : { seed }),
      ...(maxModelCalls ? { maxModelCalls } : {}),
      ...(session_id ? { sessionId: session_id } : {}),
      ...(metadata ? { metadata: metadata as Readonly<Record<string, Json>> } : {}),
    });
    exported.set(session, { level, purpose });
    return {
      body: {
        session_id: session.id,
        capture_level: level,
        rollout_type: level === "tokens" && purpose !== "eval" ? "train" : "eval",
        max_model_calls: maxModelCalls ?? 0,
        llm_url: "",
        model: policy.name,
      },
    };
  };

  const ofSession = async ({ request, url }: AdminRequest, id: string, part: string): Promise<RouteAnswer> => {
    const session = sessions.get(id);
    if (request.method === "DELETE" && part === "") {
      await session?.close();
      return { body: { deleted: session !== undefined } };
    }
    if (session === undefined) return { status: 404, body: { error: "unknown session" } };
    const known = exported.get(session) ?? { level: await levelOf(session.options.policy), purpose: "auto" as const };
    if (part === "rollout") {
      const flag = (name: string): boolean => /^(true|1)$/i.test(url.searchParams.get(name) ?? "");
      const include = { includeDiscarded: flag("include_discarded"), includeMessages: flag("include_messages") };
      return { body: rolloutDocument({ session, ...known }, include) };
    }
    if (part === "trace_entries") {
      if (known.level !== "tokens" || known.purpose === "eval") {
        return { status: 409, body: { error: notTrainable(known.level).message, session_id: id } };
      }
      return { body: { session_id: id, entries: traceEntries(session) } };
    }
    const counts = treeCounts(callTree(session.calls()));
    return {
      body: { session_id: id, idle_s: idleSeconds(session), upstream_errors: session.errors().length, ...counts },
    };
  };

  return async (asked) => {
    const { request, path, body } = asked;
    const route = `${request.method} ${path}`;
    if (route === "GET /health") return { body: { status: "ok", sessions: sessions.all().length } };
    if (route === "GET /v1/models") return { body: models(sessions.get(keyOf(request))?.options.policy ?? policy) };
    if (!/^\/sessions(\/|$)/.test(path)) throw noRoute(route);
    if (adminKey === undefined || !sameSecret(adminKey, keyOf(request))) throw wrongAdminKey();
    if (route === "POST /sessions") return create(await body());
    if (route === "GET /sessions") return { body: { sessions: sessions.all().map(summary) } };
    const [, id, part = ""] = /^\/sessions\/([^/]+)(?:\/(rollout|trace_entries))?$/.exec(path) ?? [];
    if (id === undefined || !["GET", "DELETE"].includes(request.method ?? "")) throw noRoute(route);
    return ofSession(asked, id, part);
  };
}

function summary(session: RecordedSession): object {
  const { n_turns, n_roots } = treeCounts(callTree(session.calls()));
  return {
    ...session.options.metadata,
    session_id: session.id,
    turns: n_turns,
    roots: n_roots,
    idle_s: idleSeconds(session),
    upstream_errors: session.errors().length,
  };
}

function idleSeconds({ lastCallAt }: RecordedSession): number {
  return Math.round((Date.now() - lastCallAt) / 100) / 10;
}

/** The list of models in the form of both companies. */
function models(policy: Policy | undefined): object {
  const id = policy?.name ?? "";
  const data =
    policy === undefined
      ? []
      : [
          {
            id,
            object: "model",
            created: 0,
            owned_by: "lyceum",
            type: "model",
            display_name: id,
            created_at: "1970-01-01T00:00:00Z",
          },
        ];
  return { object: "list", data, has_more: false, first_id: data[0]?.id ?? null, last_id: data[0]?.id ?? null };
}

function wrongAdminKey(): LyceumError {
  const { code } = unauthorized();
  return new LyceumError({
    code,
    message: "This route needs the admin key of the server.",
    hint: "Send it as a bearer token. A server without an admin key opens sessions only in its program.",
  });
}

function noPolicy(): LyceumError {
  return new LyceumError({
    code: "server.invalid-request",
    message: "This server has no model for sessions that are opened by HTTP.",
    hint: "Start it with a policy.",
  });
}

function notTrainable(level: CaptureLevel): LyceumError {
  return new LyceumError({
    code: "server.invalid-request",
    message: `The model reports ${level === "text" ? "only text" : "no token ids"}, so its calls cannot be trained on.`,
    hint: "Serve a model that reports token ids and the logprobs of its sampling distribution.",
  });
}

function noRoute(route: string): LyceumError {
  return new LyceumError({
    code: "server.invalid-request",
    message: `There is no route ${route}.`,
    hint: "Model calls go to /v1/chat/completions, /v1/responses or /v1/messages.",
    data: { notFound: true },
  });
}
