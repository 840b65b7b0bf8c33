import { randomUUID } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Sampler } from "../../../src/contract/sampler.ts";
import { listen } from "../../../src/core/network/listen.ts";
import type { Datum } from "../../../trainers/backend/datum.ts";
import type { LossTerm } from "../../../trainers/backend/loss-term.ts";
import type { Model, ModelSource, TrainingBackend } from "../../../trainers/backend/training-backend.ts";
import { type ReadPass, readPass, writePassResult, writeSample } from "./protobuf-messages.ts";

/** What a fault does to one request: it may answer itself (true), before or after the server has run the request. */
export interface Fault {
  before?(route: string, request: IncomingMessage, response: ServerResponse, body: Body): boolean;
  after?(route: string, response: ServerResponse, answer: unknown): boolean;
}

// biome-ignore lint/suspicious/noExplicitAny: the bodies of requests are what the client under test sends.
type Body = any;

/** A server of the Tinker API over a backend, in the JSON encoding, for tests of the client. */
export interface ProtocolServer extends AsyncDisposable {
  readonly url: string;
  /** The number of optimizer steps applied to each model. */
  readonly steps: Map<string, number>;
  /** All requests as they came. */
  readonly requests: { readonly route: string; readonly body: Body; readonly key: string | undefined }[];
  /** The token ids that were sampled, with their prompts. */
  readonly sampled: { readonly prompt: readonly number[]; readonly ids: readonly number[] }[];
  fault: Fault;
}

/** The options of {@link startProtocolServer}. */
export interface ProtocolServerOptions {
  readonly backend: TrainingBackend;
  readonly source: ModelSource & { readonly type: "pretrained" };
  /** See `GradientRule`. Default: sum. */
  readonly rule?: "sum" | "mean";
  /** True if the server recognizes repeated operations. Default: true. */
  readonly numbered?: boolean;
  readonly losses?: readonly string[];
  /** True if it prefers the binary encoding, and refuses passes in JSON. */
  readonly binary?: boolean;
  /** False if it trains adapters only. Default: true. */
  readonly full?: boolean;
}

interface Served {
  readonly model: Model;
  readonly rank: number;
  readonly promises: Map<number, string>;
  pending: { readonly data: Datum[]; readonly terms: LossTerm[] }[];
}

/** Starts a {@link ProtocolServer}. */
export async function startProtocolServer(options: ProtocolServerOptions): Promise<ProtocolServer> {
  const { backend, source, rule = "sum", numbered = true, losses, full = true, binary = false } = options;
  const folder = await mkdtemp(join(tmpdir(), "lyceum-protocol-"));
  const models = new Map<string, Served>();
  const saved = new Map<string, string>();
  const samplers = new Map<string, Sampler>();
  const sessions = new Map<string, Sampler>();
  const results = new Map<string, Promise<unknown>>();
  let count = 0;
  const state: ProtocolServer = {
    url: "",
    steps: new Map(),
    requests: [],
    sampled: [],
    fault: {},
    [Symbol.asyncDispose]: async () => undefined,
  };

  const promise = (work: () => Promise<unknown>): { request_id: string } => {
    const request_id = String(++count);
    const result = work();
    result.catch(() => undefined);
    results.set(request_id, result);
    return { request_id };
  };
  /** The operations of a model run one after the other. */
  const queues = new Map<string, Promise<unknown>>();
  const operate = (body: Body, work: (served: Served) => Promise<unknown>): { request_id: string } => {
    const { model_id, seq_id } = body as { model_id: string; seq_id: number };
    const served = models.get(model_id);
    if (served === undefined) throw Object.assign(new Error("Model not found"), { status: 404 });
    const known = numbered ? served.promises.get(seq_id) : undefined;
    if (known !== undefined) return { request_id: known };
    const sent = promise(() => {
      const run = (queues.get(model_id) ?? Promise.resolve()).catch(() => undefined).then(() => work(served));
      queues.set(model_id, run);
      return run;
    });
    served.promises.set(seq_id, sent.request_id);
    return sent;
  };

  const routes: Record<string, (body: Body) => unknown> = {
    get_server_capabilities: () => ({
      supported_models: [{ model_name: source.path }],
      ...(losses === undefined ? {} : { supported_loss_fns: losses }),
    }),
    "client/config": () => ({ proto_write_fwdbwd: binary }),
    create_session: () => ({ session_id: "session" }),
    session_heartbeat: () => ({}),
    create_model: (body) => {
      const { lora_config } = body as { lora_config: { rank: number; seed: number } };
      const { rank, seed } = lora_config;
      const model_id = `model-${randomUUID().slice(0, 8)}`;
      const trainable = rank === 0 ? ({ type: "full" } as const) : ({ type: "lora", lora: { rank, seed } } as const);
      if (rank === 0 && !full)
        return { ...promise(() => Promise.reject(new Error("rank 0 is not allowed"))), model_id };
      const opened = backend.openModel({ source, trainable }).then((model) => {
        models.set(model_id, { model, rank, promises: new Map(), pending: [] });
        state.steps.set(model_id, 0);
        return { model_id };
      });
      return { ...promise(() => opened), model_id };
    },
    unload_model: (body) =>
      operate(body, async ({ model }) => {
        await model.close();
        return {};
      }),
    forward: (body) => operate(body, (served) => pass(served, body, "forward_input")),
    forward_backward: (body) => operate(body, (served) => pass(served, body, "forward_backward_input")),
    optim_step: (body) =>
      operate(body, async (served) => {
        const { adam_params: p, model_id } = body as { adam_params: Record<string, number>; model_id: string };
        const { model, pending } = served;
        const n = pending.reduce((sum, { data }) => sum + data.length, 0);
        for (const { data, terms } of pending) {
          const scaled =
            rule === "sum" ? data : data.map((datum) => scaledDatum(datum, 1 / (n * weightSums.get(datum)!)));
          await model.forwardBackward(scaled, terms);
        }
        served.pending = [];
        const step = await model.optimStep(
          {
            ...{ learningRate: p.learning_rate!, beta1: p.beta1!, beta2: p.beta2!, epsilon: p.eps! },
            weightDecay: p.weight_decay!,
            ...(p.grad_clip_norm === 0 ? {} : { clipNorm: p.grad_clip_norm! }),
          },
          { stepId: model.version + 1 },
        );
        state.steps.set(model_id, state.steps.get(model_id)! + 1);
        return { metrics: { grad_norm: step.gradientNorm } };
      }),
    save_weights: (body) =>
      operate(body, async ({ model }) => {
        const { path, model_id } = body as { path: string; model_id: string };
        const target = join(folder, `${model_id}-${path}`);
        await model.save(target);
        saved.set(`tinker://${model_id}/weights/${path}`, target);
        return { path: `tinker://${model_id}/weights/${path}` };
      }),
    load_weights: (body) => {
      const { model_id } = body as { model_id: string };
      const before = models.get(model_id)?.promises.size ?? 0;
      if (before > 0) throw new Error("LoadWeights is permitted only as the first request of a model");
      return operate(body, async (served) => {
        await served.model.load(saved.get((body as { path: string }).path)!);
        served.pending = [];
        return {};
      });
    },
    save_weights_for_sampler: (body) =>
      operate(body, async ({ model, rank }) => {
        const { path, model_id } = body as { path: string; model_id: string };
        const name = `tinker://${model_id}/sampler_weights/${path}`;
        samplers.set(name, await model.snapshot());
        if (rank > 0) await model.export(join(folder, `${model_id}-${path}`), "peft");
        return { path: name };
      }),
    create_sampling_session: (body) => {
      const { model_path, base_model } = body as { model_path?: string; base_model?: string };
      const id = `sampling-${sessions.size}`;
      if (model_path !== undefined) sessions.set(id, samplers.get(model_path)!);
      else if (base_model !== source.path) throw Object.assign(new Error("Unknown model"), { status: 404 });
      return { sampling_session_id: id };
    },
    asample: (body) => {
      const {
        sampling_session_id,
        prompt,
        sampling_params: p,
      } = body as {
        sampling_session_id: string;
        prompt: { chunks: { tokens: number[] }[] };
        sampling_params: { max_tokens: number; temperature: number; seed: number; stop: number[] };
      };
      const promptIds = prompt.chunks.flatMap(({ tokens }) => tokens);
      return promise(async () => {
        const sampler = sessions.get(sampling_session_id) ?? (await baseSampler());
        const settings = { temperature: p.temperature, maxTokens: p.max_tokens };
        const [sample] = await Array.fromAsync(
          sampler.sample([{ promptIds, settings, seed: p.seed, stopTokenIds: p.stop }]),
        );
        state.sampled.push({ prompt: promptIds, ids: sample!.ids });
        return { sequences: [{ tokens: sample!.ids, logprobs: sample!.logprobs, stop_reason: sample!.finish }] };
      });
    },
  };
  let base: Promise<Sampler> | undefined;
  const baseSampler = (): Promise<Sampler> =>
    (base ??= backend.openModel({ source, trainable: { type: "frozen" } }).then((model) => model.snapshot()));

  const weightSums = new WeakMap<Datum, number>();
  async function pass(served: Served, body: Body, key: "forward_input" | "forward_backward_input"): Promise<unknown> {
    const input = body[key] as {
      data: { model_input: { chunks: { tokens: number[] }[] }; loss_fn_inputs: Record<string, { data: number[] }> }[];
      loss_fn: string;
      loss_fn_config?: Record<string, number>;
    };
    const data = input.data.map(({ model_input, loss_fn_inputs: inputs }): Datum => {
      const tokens = Int32Array.from(model_input.chunks.flatMap((chunk) => chunk.tokens));
      const weights = inputs.weights?.data ?? tokens.reduce<number[]>((all) => [...all, 1], []);
      const crossEntropy = input.loss_fn === "cross_entropy";
      const datum: Datum = {
        tokens,
        targets: Int32Array.from(inputs.target_tokens!.data),
        lossMask: new Float32Array(tokens.length).fill(1),
        advantages: Float32Array.from(crossEntropy ? weights : inputs.advantages!.data.map((a, t) => a * weights[t]!)),
        behaviourLogprobs: Float32Array.from(inputs.logprobs?.data ?? tokens),
      };
      weightSums.set(
        datum,
        Math.max(
          1e-9,
          weights.reduce((sum, weight) => sum + weight, 0),
        ),
      );
      return datum;
    });
    const { clip_low_threshold: low = Number.NaN, clip_high_threshold: high = Number.NaN } = input.loss_fn_config ?? {};
    const clip = { clipLow: 1 - low, clipHigh: high - 1 };
    const terms: Record<string, LossTerm> = {
      cross_entropy: { type: "policyGradient" },
      importance_sampling: { type: "importanceSampling" },
      ppo: { type: "ppo", ...clip },
      cispo: { type: "cispo", ...clip },
    };
    if (key === "forward_backward_input") served.pending.push({ data, terms: [terms[input.loss_fn]!] });
    const outputs = await served.model.forward(data, { outputs: ["logprobs"] });
    return { loss_fn_outputs: outputs.map(({ logprobs }) => ({ logprobs: { data: [...logprobs!] } })), metrics: {} };
  }

  const server = createServer((request, response) => {
    void (async () => {
      const parts: Buffer[] = [];
      for await (const part of request) parts.push(part as Buffer);
      const whole = Buffer.concat(parts);
      const isBinary = request.headers["content-type"] === "application/x-protobuf";
      const pass = isBinary ? readPass(whole) : undefined;
      const route = pass?.forwardOnly === true ? "forward" : request.url!.replace("/api/v1/", "");
      const body: Body = pass === undefined ? JSON.parse(whole.toString() || "{}") : passBody(pass);
      state.requests.push({ route, body, key: request.headers["x-api-key"]?.toString() });
      if (state.fault.before?.(route, request, response, body) === true) return;
      const [archived] = route.match(/checkpoints\/[^/]+\/archive$/) ?? [];
      if (archived !== undefined) {
        const [, model, , name] = route.split("/");
        response.end(gzipSync(await tarOf(join(folder, `${model}-${name}`))));
        return;
      }
      const send = (status: number, answer: unknown): void => {
        if (status === 200 && state.fault.after?.(route, response, answer) === true) return;
        const encoded = binary && request.headers.accept?.includes("x-protobuf") ? binaryResult(answer) : undefined;
        if (status === 200 && encoded !== undefined) {
          response.writeHead(200, { "content-type": "application/x-protobuf" }).end(encoded);
          return;
        }
        response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(answer));
      };
      try {
        if (binary && !isBinary && /^forward/.test(route)) send(415, { detail: "JSON is not accepted" });
        else if (route === "retrieve_future") {
          const result = results.get((body as { request_id: string }).request_id);
          if (result === undefined) send(404, { detail: "Future not found" });
          else send(200, await result);
        } else if (routes[route] === undefined) send(404, { detail: "Not Found" });
        else send(200, routes[route](body));
      } catch (error) {
        const { status = 400, message } = error as { status?: number; message: string };
        send(status, { detail: message });
      }
    })();
  });
  const { authority } = await listen(server, { hostname: "127.0.0.1", port: 0 });
  return Object.assign(state, {
    url: `http://${authority}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await Promise.allSettled([...results.values(), ...queues.values()]);
      for (const { model } of models.values()) await model.close();
      await rm(folder, { recursive: true, force: true });
    },
  });
}

function passBody({ forwardOnly, input, ...rest }: ReadPass): Body {
  return { ...rest, [forwardOnly ? "forward_input" : "forward_backward_input"]: input };
}

/** Returns the results that have a binary form in it. */
function binaryResult(answer: Body): Uint8Array | undefined {
  if (answer.loss_fn_outputs !== undefined) {
    return writePassResult(answer.loss_fn_outputs.map((output: Body) => output.logprobs.data));
  }
  if (answer.sequences === undefined) return undefined;
  const [{ tokens, logprobs, stop_reason }] = answer.sequences;
  return writeSample({ ids: tokens, logprobs, finish: stop_reason });
}

function scaledDatum(datum: Datum, scale: number): Datum {
  return { ...datum, advantages: datum.advantages!.map((advantage) => advantage * scale) };
}

/** Returns a tar archive of the files of an adapter folder. */
async function tarOf(folder: string): Promise<Buffer> {
  const blocks: Buffer[] = [];
  for (const name of ["adapter_config.json", "adapter_model.safetensors"]) {
    const content = await readFile(join(folder, name));
    const header = Buffer.alloc(512);
    header.write(`./${name}`, 0);
    header.write(`${content.length.toString(8).padStart(11, "0")} `, 124);
    header.write("0", 156);
    blocks.push(header, content, Buffer.alloc((512 - (content.length % 512)) % 512));
  }
  return Buffer.concat([...blocks, Buffer.alloc(1024)]);
}
