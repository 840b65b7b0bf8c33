import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { zstdDecompressSync } from "node:zlib";
import { type Context, Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { z } from "zod";
import { LyceumError } from "../../../src/contract/errors/index.ts";
import { parseLimitedJson } from "../../../src/core/network/limited-json.ts";
import { withoutPaths } from "../../../src/core/text/without-paths.ts";
import { exchangeIdHeader, isExchangeId } from "../protocol/exchange-id.ts";
import { type PassRequest, passRequestFromBytes, passRequestFromJson, protobufType } from "../protocol/pass-request.ts";
import { passResultToBytes, passResultToJson } from "../protocol/pass-result.ts";
import * as bodies from "../protocol/requests.ts";
import { sampleResultToBytes, sampleResultToJson } from "../protocol/sample-result.ts";
import { addCheckpointRoutes } from "./checkpoint-routes.ts";
import type { Outcome } from "./future-table.ts";
import { RequestError } from "./request-error.ts";
import type { Sent } from "./sent.ts";
import type { ServiceResult } from "./service-answers.ts";
import type { TinkerService } from "./tinker-service.ts";

/** The routes that start no work. A server answers them until it ends. */
const whileDraining = ["/retrieve_future", "/retrieve_futures", "/session_heartbeat", "/cancel_future", "/telemetry"];

/**
 * The maximum number of values in a JSON body: the API's own client sends at most 5 million numbers of data in one
 * request.
 */
const maxElements = 2 ** 23;

/**
 * The maximum size of a body after decompression: `floor` and `ratio` times the bytes that were sent. Token ids and
 * log-probabilities shrink by less than 20. Samples that share a long prompt can shrink by a hundred.
 */
const decompressed = { floor: 2 ** 20, ratio: 200 } as const;

/** The options of {@link tinkerApp}. */
export interface TinkerAppOptions {
  readonly service: TinkerService;
  /** The maximum size of a request in bytes, also after decompression. 64 MiB by default. */
  readonly maxBodyBytes?: number;
  /** The time in milliseconds for which a request for a result waits. 30 seconds by default. */
  readonly pollMs?: number;
}

/**
 * Returns the HTTP routes of the Tinker API, under `/api/v1`. `forward_backward` and the results of passes and samples
 * are in JSON or protobuf, by the headers `content-type` and `accept`.
 */
export function tinkerApp({ service, maxBodyBytes = 64 * 2 ** 20, pollMs = 30_000 }: TinkerAppOptions): Hono {
  const app = new Hono().basePath("/api/v1");
  app.use(async (context, next) => {
    await next();
    const id = context.req.header(exchangeIdHeader);
    if (isExchangeId(id)) context.header(exchangeIdHeader, id);
  });
  app.use(
    bodyLimit({
      maxSize: maxBodyBytes,
      onError: () => {
        throw new RequestError(413, `The request is larger than ${maxBodyBytes} bytes.`);
      },
    }),
  );
  app.use(async (context, next) => {
    const route = context.req.path.slice("/api/v1".length);
    if (service.isDraining && context.req.method === "POST" && !whileDraining.includes(route)) {
      throw new RequestError(503, "The server is shutting down. Try again later.");
    }
    await next();
  });
  const bytesOf = async (context: Context): Promise<Uint8Array> => {
    const bytes = new Uint8Array(await context.req.arrayBuffer());
    if (context.req.header("content-encoding") !== "zstd") return bytes;
    const maxOutputLength = Math.min(maxBodyBytes, decompressed.floor + decompressed.ratio * bytes.length);
    try {
      return zstdDecompressSync(bytes, { maxOutputLength });
    } catch (error) {
      if ((error as { code?: unknown }).code !== "ERR_BUFFER_TOO_LARGE") {
        throw new RequestError(400, "The body is not zstd.");
      }
      const message = `The body has more than ${maxOutputLength} bytes after decompression. Send it without compression.`;
      throw new RequestError(413, message);
    }
  };
  const sent = async <T>(context: Context, schema: z.ZodType<T>): Promise<Sent<T>> => {
    const bytes = await bytesOf(context);
    return { body: schema.parse(jsonOf(bytes)), digest: digestOf(bytes) };
  };
  const ownedJsonOf = (bytes: Uint8Array): unknown => {
    const json = jsonOf(bytes);
    service.checkOwner(json);
    return json;
  };
  const passOf = (bytes: Uint8Array, binary: boolean): PassRequest => {
    if (binary) return passRequestFromBytes(bytes, (model_id) => service.checkOwner({ model_id }));
    return passRequestFromJson(ownedJsonOf(bytes));
  };
  const post = <T>(route: string, schema: z.ZodType<T>, answer: (request: Sent<T>) => object): void => {
    app.post(route, async (context) => context.json(await answer(await sent(context, schema))));
  };
  const anything = z.record(z.string(), z.unknown());

  app.get("/healthz", (context) => context.json({ status: "ok" }));
  app.get("/get_server_capabilities", (context) => context.json(service.capabilities()));
  const flags = { sample_use_retrieve_futures: true, sample_join_sampling_session: true };
  post("/client/config", anything, () => flags);
  post("/client/dynamic_config", anything, () => ({}));
  post("/telemetry", anything, () => ({ status: "accepted" }));
  post("/create_session", anything, () => service.createSession());
  post("/session_heartbeat", bodies.sessionBody, ({ body }) => {
    service.touch(body.session_id);
    return { type: "session_heartbeat" };
  });
  app.post("/sessions/:id/finish", async (context) => {
    await service.endSession(context.req.param("id"));
    return context.json({});
  });
  post("/cancel_future", bodies.retrieveBody, ({ body }) => {
    service.futures.cancel(body.request_id);
    return {};
  });
  post("/create_model", bodies.createModelBody, (request) => service.createModel(request));
  post("/get_info", bodies.modelBody, ({ body }) => service.info(body.model_id));
  post("/optim_step", bodies.optimStepBody, (request) => service.optimStep(request));
  post("/save_weights", bodies.saveBody, (request) => service.saveWeights(request));
  post("/load_weights", bodies.loadBody, (request) => service.loadWeights(request));
  post("/save_weights_for_sampler", bodies.saveForSamplerBody, (request) => service.saveWeightsForSampler(request));
  post("/save_weights_external", bodies.saveExternalBody, (request) => service.saveWeightsExternal(request));
  post("/create_sampling_session", bodies.samplingSessionBody, (request) => service.sampling.create(request));
  post("/join_sampling_session", bodies.joinSamplingSessionBody, (request) => service.sampling.join(request));
  post("/unload_model", bodies.modelBody, (request) => service.unload(request));
  app.get("/samplers/:id", (context) => context.json(service.sampling.info(context.req.param("id"))));
  app.get("/sessions", (context) => context.json({ sessions: service.sessionIds() }));
  app.get("/sessions/:id", (context) => context.json(service.sessionInfo(context.req.param("id"))));
  addCheckpointRoutes(app, { service, jsonOf: async (context) => jsonOf(await bytesOf(context)) });
  app.post("/asample", async (context) => {
    const bytes = await bytesOf(context);
    const body = bodies.sampleBody.parse(ownedJsonOf(bytes));
    return context.json(await service.sampling.sample({ body, digest: digestOf(bytes) }));
  });
  for (const route of ["/forward", "/forward_backward"]) {
    app.post(route, async (context) => {
      const bytes = await bytesOf(context);
      const binary = context.req.header("content-type")?.startsWith(protobufType) === true;
      return context.json(service.pass({ body: passOf(bytes, binary), digest: digestOf(bytes) }));
    });
  }
  post("/retrieve_futures", bodies.retrieveManyBody, (request) => service.sampling.completions(request, pollMs));
  app.post("/retrieve_future", async (context) => {
    const { request_id: id } = (await sent(context, bodies.retrieveBody)).body;
    const accept = context.req.header("accept")?.includes(protobufType) === true;
    let outcome: Outcome<ServiceResult>;
    try {
      outcome = await service.futures.result(id, pollMs);
    } catch (error) {
      if (!(error instanceof RequestError && error.status === 408)) throw error;
      return context.json({ type: "try_again", request_id: id, queue_state: "active" }, 408);
    }
    if ("error" in outcome) return context.json(failure(outcome.error));
    const encoded = encodedResult(outcome.value, accept);
    if (!(encoded instanceof Uint8Array)) return context.json(encoded);
    return context.body(encoded, 200, { "content-type": protobufType });
  });
  app.notFound((context) => context.json({ detail: `There is no route ${context.req.path}.` }, 404));
  app.onError((error, context) => {
    const mayRetry = error instanceof RequestError && (error.status === 429 || error.status === 503);
    if (mayRetry) context.header("retry-after", "5");
    if (error instanceof RequestError) return context.json({ detail: error.message }, error.status);
    if (error instanceof z.ZodError) return context.json({ detail: z.prettifyError(error) }, 422);
    const detail = messageOf(error);
    return context.json(
      { detail },
      error instanceof LyceumError && error.code === "server.invalid-request" ? 400 : 500,
    );
  });
  return app;
}

/** A request that was accepted and then failed. The client does not send it again. */
function failure(error: unknown): { readonly error: string; readonly category: "user" | "server" } {
  const isUser =
    error instanceof RequestError ||
    (error instanceof LyceumError && /^(policy\.unsupported-input|backend\.|config\.|data\.|model\.)/.test(error.code));
  return { error: messageOf(error), category: isUser ? "user" : "server" };
}

/** The message of an error for a client: without the folders of this machine. */
function messageOf(error: unknown): string {
  return withoutPaths(error instanceof Error ? error.message : String(error));
}

function encodedResult(result: ServiceResult, binary: boolean): Uint8Array<ArrayBuffer> | object {
  if ("outputs" in result) return (binary ? passResultToBytes : passResultToJson)(result);
  if ("sequences" in result) return (binary ? sampleResultToBytes : sampleResultToJson)(result);
  return result;
}

function jsonOf(bytes: Uint8Array): unknown {
  if (bytes.length === 0) return {};
  const json = isUtf8(bytes) ? parseLimitedJson(new TextDecoder().decode(bytes), { maxElements }) : undefined;
  if (json === undefined) throw new RequestError(400, "The body is not JSON in UTF-8.");
  return json;
}

function digestOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("base64");
}
