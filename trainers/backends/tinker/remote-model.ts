import type { z } from "zod";
import { LyceumError } from "../../../src/contract/errors/index.ts";
import { untilAborted } from "../../../src/core/concurrency/until-aborted.ts";
import type { AdamParams } from "../../backend/training-backend.ts";
import {
  anySchema,
  createModelSchema,
  createSamplingSessionSchema,
  type Promised,
  promiseSchema,
  savedSchema,
  stepResultSchema,
} from "../../tinker/protocol/answers.ts";
import { invalidBody } from "../../tinker/protocol/bytes.ts";
import {
  type PassRequest,
  passRequestToBytes,
  passRequestToJson,
  type TinkerDatum,
} from "../../tinker/protocol/pass-request.ts";
import { type PassResult, passResultFromBytes, passResultFromJson } from "../../tinker/protocol/pass-result.ts";
import type * as requests from "../../tinker/protocol/requests.ts";
import { jsonReader, type ResultReader } from "../../tinker/protocol/result-reader.ts";
import { chunks } from "./chunks.ts";
import { probeDatum } from "./probe-datum.ts";
import type { ServerLoss } from "./server-loss.ts";
import type { CallOptions } from "./tinker-connection.ts";
import { isRefusal, refusesJson, unsupported } from "./tinker-error.ts";
import type { TinkerSession } from "./tinker-session.ts";

type PassRoute = "forward" | "forward_backward";

/** Reads a result whose content does not matter. */
const done = (kind: string): ResultReader<unknown> => jsonReader(kind, anySchema);

/** The options of one operation on a remote model. */
interface OperationOptions {
  readonly signal?: AbortSignal | undefined;
}

/** The result of a pass that the server has taken. */
export interface PassPromise {
  /** Returns the log-probabilities of all targets of each datum. `onChunk` is called with the data of each request. */
  result(onChunk?: (first: number, count: number) => void): Promise<Float32Array[]>;
}

/** A model on a server. Its operations are numbered and run in the order in which they are sent. */
export class RemoteModel {
  readonly id: string;
  readonly #session: TinkerSession;
  #sequence = 0;

  constructor(options: { readonly session: TinkerSession; readonly id: string }) {
    this.#session = options.session;
    this.id = options.id;
  }

  /** Creates a model on the server: an adapter, or every weight if the rank is 0. */
  static async create(options: {
    readonly session: TinkerSession;
    readonly baseModel: string;
    readonly rank: number;
    readonly seed: number;
    readonly signal?: AbortSignal | undefined;
  }): Promise<RemoteModel> {
    const { session, baseModel, rank, seed, signal } = options;
    const body = {
      session_id: session.id,
      model_seq_id: session.nextModel(),
      base_model: baseModel,
      lora_config: { rank, seed, train_attn: true, train_mlp: true, train_unembed: false },
      type: "create_model",
    };
    // A model that is created twice only takes space until the session ends.
    const created = await session.connection.post("create_model", body, createModelSchema, { signal });
    try {
      await session.connection.result(created, done("create_model"), { what: "create_model", signal });
    } catch (error) {
      if (rank > 0 || !LyceumError.isInstance(error) || error.code !== "backend.failed") throw error;
      throw unsupported(`The server cannot train every weight. ${error.message}`, "Set model.adapter.type to lora.");
    }
    return new RemoteModel({ ...options, id: created.model_id });
  }

  /** True if anything was sent to the model since it was created. */
  get used(): boolean {
    return this.#sequence > 0;
  }

  /** Computes log-probabilities. */
  async forward(data: readonly TinkerDatum[], options: OperationOptions = {}): Promise<PassPromise> {
    return this.#pass("forward", data, { name: "cross_entropy" }, options);
  }

  /** Adds to the gradient. The server has taken all data when this resolves. */
  async forwardBackward(data: readonly TinkerDatum[], loss: ServerLoss): Promise<PassPromise> {
    return this.#pass("forward_backward", data, loss, {});
  }

  /** Applies the gradient. Returns the gradient's norm, if the server reports it. */
  async optimStep(params: AdamParams): Promise<{ result(): Promise<number | undefined> }> {
    const { learningRate, beta1, beta2, epsilon, weightDecay, clipNorm = Infinity } = params;
    const adam_params: z.input<typeof requests.optimStepBody>["adam_params"] = {
      learning_rate: learningRate,
      beta1,
      beta2,
      eps: epsilon,
      weight_decay: weightDecay,
      // 0 means no clipping.
      grad_clip_norm: Number.isFinite(clipNorm) ? clipNorm : 0,
    };
    const promise = await this.#send("optim_step", { adam_params });
    return {
      result: async () => {
        const { metrics } = await this.#session.connection.result(promise, jsonReader("optim_step", stepResultSchema), {
          what: "optim_step",
        });
        const named = Object.entries(metrics ?? {});
        // SkyRL is known by the names of its metrics.
        this.#session.runsInOrder = !named.some(([name]) => name.startsWith("skyrl.ai/"));
        return named.find(([name]) => /grad(ient)?_(norm|l2)/.test(name))?.[1] ?? undefined;
      },
    };
  }

  /** Saves weights and optimizer under a name. Returns the path on the server. */
  async save(name: string): Promise<string> {
    return (await this.#do("save_weights", { path: name, type: "save_weights" }, savedSchema)).path;
  }

  /** Loads weights from a path on the server, with the state of the optimizer if `optimizer` is true. */
  async load(path: string, optimizer: boolean): Promise<void> {
    await this.#do("load_weights", { path, optimizer, type: "load_weights" }, anySchema);
  }

  /** Saves the weights for sampling under a name. Returns the path on the server. */
  async saveForSampler(name: string): Promise<string> {
    const body = { path: name, type: "save_weights_for_sampler" };
    return (await this.#do("save_weights_for_sampler", body, savedSchema)).path;
  }

  /** Frees the model. A server without this route frees it with the session. */
  async unload(): Promise<void> {
    const { connection } = this.#session;
    const body = { model_id: this.id, type: "unload_model" };
    try {
      const promise = await connection.post("unload_model", body, promiseSchema);
      await connection.result(promise, done("unload_model"), { what: "unload_model" });
    } catch {
      // The session's end frees it.
    }
  }

  /**
   * Measures once per session whether the server recognizes a repeated operation by its number. Sends the same forward
   * pass twice under one number. A server with sequence ids answers with the same request id.
   */
  async #findNumbered(): Promise<void> {
    const session = this.#session;
    if (session.numbered !== undefined) return;
    const data = [probeDatum(1)];
    const request = this.#passRequest("forward", data, { name: "cross_entropy" });
    const first = await this.#postPass("forward", request);
    await this.#passResult(first, data, { what: "forward" });
    try {
      const second = await this.#postPass("forward", request);
      await this.#passResult(second, data, { what: "forward" });
      session.numbered = first.request_id === second.request_id;
    } catch (error) {
      // TuFT refuses a repeated number. It does not run the request again, and does not return its result again.
      if (!LyceumError.isInstance(error) || error.code !== "backend.failed") throw error;
      session.numbered = false;
    }
  }

  async #pass(
    route: PassRoute,
    data: readonly TinkerDatum[],
    loss: ServerLoss,
    { signal }: OperationOptions,
  ): Promise<PassPromise> {
    if (route === "forward_backward") await this.#findNumbered();
    const parts = chunks(data);
    const promises: Promised[] = [];
    for (const { data: part } of parts) {
      signal?.throwIfAborted();
      // An abort does not stop the request itself, because the server would wait for its number.
      const sent = this.#postPass(route, this.#passRequest(route, part, loss));
      promises.push(await (signal === undefined ? sent : untilAborted(sent, signal)));
    }
    return {
      result: async (onChunk) => {
        const logprobs: Float32Array[] = [];
        for (const [index, { first, data: part }] of parts.entries()) {
          const { outputs } = await this.#passResult(promises[index]!, part, { what: route, signal });
          logprobs.push(...outputs.map((output) => Float32Array.from(output.logprobs!.data)));
          onChunk?.(first, part.length);
        }
        return logprobs;
      },
    };
  }

  /** Returns the next pass. */
  #passRequest(route: PassRoute, data: readonly TinkerDatum[], loss: ServerLoss): PassRequest {
    return {
      modelId: this.id,
      seqId: ++this.#sequence,
      lossName: loss.name,
      lossConfig: loss.config ?? {},
      data,
      forwardOnly: route === "forward",
    };
  }

  /**
   * Sends a pass in the encoding of the server. If the encoding is only assumed and the server refuses JSON, sends it in
   * protobuf. Throws the first error if the server refuses that too.
   */
  async #postPass(route: PassRoute, request: PassRequest): Promise<Promised> {
    const session = this.#session;
    const repeatable = route === "forward" || session.numbered === true;
    const sendBytes = () => {
      // In the binary encoding, a forward pass is a kind of forward_backward. It changes nothing if it runs twice.
      return this.#post("forward_backward", passRequestToBytes(request), { repeatable });
    };
    if (session.encoding === "protobuf") return sendBytes();
    let sent: Promised;
    try {
      sent = await this.#post(route, passRequestToJson(request), { repeatable });
    } catch (error) {
      if (!session.assumesEncoding || !refusesJson(error)) throw error;
      sent = await sendBytes().catch((second: unknown) => {
        throw isRefusal(second) ? error : second;
      });
      session.encoding = "protobuf";
    }
    session.assumesEncoding = false;
    return sent;
  }

  #passResult(
    promise: Promised,
    data: readonly TinkerDatum[],
    options: { readonly what: PassRoute; readonly signal?: AbortSignal | undefined },
  ): Promise<PassResult> {
    const { connection, encoding } = this.#session;
    return connection.result(promise, passReader(data), { ...options, binary: encoding === "protobuf" });
  }

  async #do<T>(route: string, body: object, schema: z.ZodType<T>): Promise<T> {
    const promise = await this.#send(route, body);
    return this.#session.connection.result(promise, jsonReader(route, schema), { what: route });
  }

  async #send(route: string, body: object): Promise<Promised> {
    // The API allows loading only as a model's first request. Nothing may come before it, and it is not repeated.
    const isLoad = route === "load_weights";
    if (!isLoad) await this.#findNumbered();
    const numbered = { model_id: this.id, seq_id: ++this.#sequence, ...body };
    return this.#post(route, numbered, { repeatable: !isLoad && this.#session.numbered === true });
  }

  #post(route: string, body: object | Uint8Array, options: CallOptions): Promise<Promised> {
    return this.#session.connection.post(route, body, promiseSchema, options);
  }
}

/** Reads the result of a pass over these data. Refuses one without a log-probability for each target. */
function passReader(data: readonly TinkerDatum[]): ResultReader<PassResult> {
  const checked = (result: PassResult): PassResult => {
    const lengths = data.map(({ lossInputs }) => lossInputs.target_tokens!.data.length);
    const found = result.outputs.map(({ logprobs }) => logprobs?.data.length);
    if (found.length === lengths.length && lengths.every((length, i) => length === found[i])) return result;
    throw invalidBody("its log-probabilities do not fit the data that were sent");
  };
  return {
    json: (value) => checked(passResultFromJson(value)),
    bytes: (bytes) => checked(passResultFromBytes(bytes)),
  };
}

/** Opens a sampling session over weights on the server. */
export async function openSamplingSession(
  session: TinkerSession,
  weights: { readonly model_path: string } | { readonly base_model: string },
): Promise<string> {
  const body = {
    session_id: session.id,
    sampling_session_seq_id: session.nextSampler(),
    ...weights,
    type: "create_sampling_session",
  };
  const opened = await session.connection.post("create_sampling_session", body, createSamplingSessionSchema);
  return opened.sampling_session_id;
}
