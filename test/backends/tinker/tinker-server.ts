import { mkdtempDisposable } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { LyceumError } from "../../../src/contract/errors/index.ts";
import { listen } from "../../../src/core/network/listen.ts";
import type { Model, ModelSource, TrainingBackend } from "../../../trainers/backend/training-backend.ts";
import { exchangeIdHeader } from "../../../trainers/tinker/protocol/exchange-id.ts";
import {
  type PassRequest,
  passRequestFromBytes,
  passRequestFromJson,
  passRequestToBytes,
  passRequestToJson,
  protobufType,
} from "../../../trainers/tinker/protocol/pass-request.ts";
import { sampleResultFromBytes } from "../../../trainers/tinker/protocol/sample-result.ts";
import { type TinkerTensor, vector } from "../../../trainers/tinker/protocol/tensor.ts";
import type { TinkerServiceOptions } from "../../../trainers/tinker/service/service-options.ts";
import { tinkerApp } from "../../../trainers/tinker/service/tinker-app.ts";
import { TinkerService } from "../../../trainers/tinker/service/tinker-service.ts";
import { changedBackend } from "../../trainers/changed-backend.ts";

/** An answer of the server. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** A fault of one request. Returns true if it answers itself, before or after the server has run the request. */
export interface Fault {
  before?(route: string, request: IncomingMessage, response: ServerResponse, body: Body): boolean;
  after?(route: string, response: ServerResponse, answer: Answer, body: Body): boolean;
}

// biome-ignore lint/suspicious/noExplicitAny: the bodies of requests are what the client under test sends.
type Body = any;

/** The service of `lyceum serve-model` behind a proxy that records requests, injects faults and disables features. */
export interface TinkerServer extends AsyncDisposable {
  readonly url: string;
  /** The number of optimizer steps applied to each model that can be trained, in the order of their creation. */
  readonly steps: number[];
  /** All requests as they came. Passes are as in JSON. */
  readonly requests: { readonly route: string; readonly body: Body; readonly key: string | undefined }[];
  /** The token ids that were sent to clients, with their prompts and the models whose weights sampled them. */
  readonly sampled: {
    readonly model: string | undefined;
    readonly prompt: readonly number[];
    readonly ids: readonly number[];
  }[];
  fault: Fault;
}

/** The options of {@link startTinkerServer}. */
export interface TinkerServerOptions {
  readonly backend: TrainingBackend;
  readonly source: ModelSource & { readonly type: "pretrained" };
  /** See `GradientRule`. Default: sum. */
  readonly rule?: "sum" | "mean";
  /** False if the server does not recognize repeated operations. Default: true. */
  readonly numbered?: boolean;
  /** The losses that the server lists. All by default. */
  readonly losses?: readonly string[];
  /** True if it prefers protobuf, and refuses passes in JSON. */
  readonly binary?: boolean;
  /** True if one request of three for samples arrives late, so that requests of one client are in different batches. */
  readonly uneven?: boolean;
  /** False if it trains adapters only. Default: true. */
  readonly full?: boolean;
  /** A change of the models that are trained, such as a fault. */
  readonly change?: (model: Model) => Partial<Model>;
  readonly service?: Partial<TinkerServiceOptions>;
  /** The time in milliseconds that the server waits for a result before it answers that there is none yet. */
  readonly pollMs?: number;
  /** False if the server does not copy the ids of HTTP requests, like other servers. Default: true. */
  readonly copiesIds?: boolean;
  /** True if paths of sampler weights name no kind, as on SkyRL: `tinker://MODEL/NAME`. */
  readonly shortPaths?: boolean;
  /** False if each sample polls for its result. Default: true if the server is numbered. */
  readonly batchesPolls?: boolean;
}

/** Starts a {@link TinkerServer}. */
export async function startTinkerServer(options: TinkerServerOptions): Promise<TinkerServer> {
  const {
    source,
    numbered = true,
    binary = false,
    losses,
    rule = "sum",
    pollMs,
    copiesIds = true,
    shortPaths = false,
    batchesPolls = numbered,
  } = options;
  await using resources = new AsyncDisposableStack();
  const folder = resources.use(await mkdtempDisposable(join(tmpdir(), "lyceum-tinker-server-"))).path;
  const state = { steps: [] as number[], requests: [], sampled: [], fault: {} } as Omit<
    TinkerServer,
    "url" | keyof AsyncDisposable
  >;
  const service = resources.use(
    new TinkerService({
      ...{ backend: watchedBackend(options, state.steps), source, names: [source.path], folder },
      ...{ maxModels: 1000, ...options.service },
    }),
  );
  const app = tinkerApp({ service, ...(pollMs === undefined ? {} : { pollMs }) });
  const used = new Set<string>();
  /** The prompt of each sampling request that has no result yet. */
  const prompts = new Map<string, { readonly model: string | undefined; readonly prompt: readonly number[] }>();
  /** The model of each sampling session. */
  const models = new Map<string, string | undefined>();

  let samples = 0;
  const run = async (route: string, request: IncomingMessage, sent: Buffer, body: Body): Promise<Answer> => {
    if (options.uneven && route === "asample" && samples++ % 3 === 1) await setTimeout(30);
    const isBinary = request.headers["content-type"] === protobufType;
    const json = (status: number, body: object): Answer => ownAnswer(request, status, body);
    if (binary && !isBinary && /^forward/.test(route)) return json(415, { detail: "JSON is not accepted" });
    if (route === "client/config") {
      return json(200, { proto_write_fwdbwd: binary, sample_use_retrieve_futures: batchesPolls });
    }
    if (route === "get_server_capabilities" && losses !== undefined) {
      return json(200, { supported_models: [{ model_name: source.path }], supported_loss_fns: losses });
    }
    // Other servers load weights only into a model that was not used.
    if (route === "load_weights" && used.has(body.model_id)) return json(400, { detail: "The model was used before" });
    if (body.model_id !== undefined) used.add(body.model_id);
    let bytes = sent;
    if (/^forward/.test(route)) {
      const pass = isBinary ? passRequestFromBytes(sent) : passRequestFromJson(body);
      const changed = { ...(rule === "mean" ? averaged(pass) : pass), ...(numbered ? {} : { seqId: undefined }) };
      bytes = Buffer.from(isBinary ? passRequestToBytes(changed) : JSON.stringify(passRequestToJson(changed)));
    } else if (!numbered && body.seq_id !== undefined) bytes = Buffer.from(JSON.stringify({ ...body, seq_id: null }));
    if (shortPaths && route === "create_sampling_session" && body.model_path !== undefined) {
      const [model, name] = body.model_path.replace("tinker://", "").split("/");
      bytes = Buffer.from(JSON.stringify({ ...body, model_path: `tinker://${model}/sampler_weights/${name}` }));
    }
    const { method, headers } = request;
    const sentOn = method === "GET" ? {} : { body: new Uint8Array(bytes) };
    const response = await app.request(request.url!, { method: method!, headers: headers as never, ...sentOn });
    const answer = {
      ...{ status: response.status, headers: Object.fromEntries(response.headers) },
      body: Buffer.from(await response.arrayBuffer()),
    };
    if (answer.status === 200) record(route, answer, body);
    if (shortPaths && route === "retrieve_future" && answer.headers["content-type"] !== protobufType) {
      return json(answer.status, JSON.parse(answer.body.toString().replace("/sampler_weights/", "/")));
    }
    return answer;
  };

  const record = (route: string, { headers, body: bytes }: Answer, body: Body): void => {
    const isBinary = headers["content-type"] === protobufType;
    if (route === "create_sampling_session") {
      models.set(JSON.parse(bytes.toString()).sampling_session_id, body.model_path?.split("/")[2]);
    }
    if (route === "asample") {
      const model = models.get(body.sampling_session_id);
      prompts.set(JSON.parse(bytes.toString()).request_id, { model, prompt: body.prompt.chunks[0].tokens });
    }
    const asked = prompts.get(body.request_id);
    if (route !== "retrieve_future" || asked === undefined) return;
    prompts.delete(body.request_id);
    // A failed request has no sequences.
    const { sequences = [] } = isBinary ? sampleResultFromBytes(bytes) : JSON.parse(bytes.toString());
    for (const { tokens } of sequences) state.sampled.push({ ...asked, ids: [...tokens] });
  };

  const server = createServer((request, response) => {
    void (async () => {
      const sent = Buffer.concat(await Array.fromAsync(request as AsyncIterable<Buffer>));
      const isBinary = request.headers["content-type"] === protobufType;
      const pass = isBinary ? passRequestFromBytes(sent) : undefined;
      const route = pass?.forwardOnly === true ? "forward" : request.url!.replace("/api/v1/", "");
      const body: Body = pass === undefined ? JSON.parse(sent.toString() || "{}") : passRequestToJson(pass);
      state.requests.push({ route, body, key: request.headers["x-api-key"]?.toString() });
      if (state.fault.before?.(route, request, response, body) === true) return;
      const answer = await run(route, request, sent, body);
      if (!copiesIds) Reflect.deleteProperty(answer.headers, exchangeIdHeader);
      if (state.fault.after?.(route, response, answer, body) === true) return;
      response.writeHead(answer.status, answer.headers).end(answer.body);
    })();
  });
  const { authority } = await listen(server, { hostname: "127.0.0.1", port: 0 });
  const owned = resources.move();
  return Object.assign(state, {
    url: `http://${authority}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await service.futures.settled();
      await owned.disposeAsync();
    },
  });
}

/** The backend of the service, with the wanted changes. Counts the optimizer steps of each model. */
function watchedBackend({ backend, full = true, change }: TinkerServerOptions, steps: number[]): TrainingBackend {
  const trained = (model: Model): boolean => model.spec.trainable.type !== "frozen";
  const changed = changedBackend((model) => (change !== undefined && trained(model) ? change(model) : {}), backend);
  const counted = changedBackend((model) => {
    if (!trained(model)) return {};
    const index = steps.push(0) - 1;
    return {
      optimStep: async (params, options) => {
        const metrics = await model.optimStep(params, options);
        steps[index]! += 1;
        return metrics;
      },
    };
  }, changed);
  if (full) return counted;
  return {
    ...counted,
    openModel: async (spec, options) => {
      if (spec.trainable.type !== "full") return counted.openModel(spec, options);
      throw new LyceumError({ code: "backend.unsupported", message: "rank 0 is not allowed" });
    },
  };
}

/** Returns a pass whose sum of losses is the mean, over its sequences, of each sequence's mean by its weights. */
function averaged(pass: PassRequest): PassRequest {
  const scaled = pass.lossName === "cross_entropy" ? "weights" : "advantages";
  return {
    ...pass,
    data: pass.data.map(({ tokens, lossInputs }) => {
      const weight = sum(lossInputs.weights!);
      const values = Float32Array.from(lossInputs[scaled]?.data ?? [], (value) =>
        weight === 0 ? 0 : value / (weight * pass.data.length),
      );
      return { tokens, lossInputs: { ...lossInputs, [scaled]: vector(values) } };
    }),
  };
}

function sum({ data }: TinkerTensor): number {
  let total = 0;
  for (const value of data) total += value;
  return total;
}

/** An answer of the proxy itself, with the id of the request. */
function ownAnswer(request: IncomingMessage, status: number, body: object): Answer {
  const id = String(request.headers[exchangeIdHeader]);
  const headers = { "content-type": "application/json", [exchangeIdHeader]: id };
  return { status, headers, body: Buffer.from(JSON.stringify(body)) };
}
