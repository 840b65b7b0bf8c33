import { availableParallelism } from "node:os";
import type { InferenceSession, Tensor as RuntimeTensor } from "onnxruntime-node";
import { LyceumError } from "../../../../src/contract/errors/index.ts";
import type { Graph } from "../graph/graph.ts";
import type { DataType } from "../graph/tensor.ts";
import { importRuntime } from "./import-runtime.ts";

/** Where graphs run. */
export type Device = "cpu" | "webgpu" | "cuda" | "coreml" | "dml";

/** How sessions are made. */
export interface SessionSettings {
  readonly device: Device;
  /** Which of several devices of that kind, from 0; the first by default. */
  readonly deviceIndex?: number;
  /** Threads of the CPU provider; every core by default. */
  readonly threads?: number;
}

/** What a run reads: arrays by input name. Shared memory is read in place. */
export type Feeds = Readonly<Record<string, Feed>>;

/** An array with its shape. */
export interface Feed {
  readonly data: Float32Array | Int32Array | BigInt64Array;
  readonly shape: readonly number[];
}

/** A graph ready to run: the one place that talks to onnxruntime-node. */
export class GraphSession implements AsyncDisposable {
  readonly #session: InferenceSession;
  readonly #inputs: readonly { readonly name: string; readonly type: DataType }[];
  readonly #tensor: typeof RuntimeTensor;
  readonly #tensors = new WeakMap<Feed, RuntimeTensor>();

  private constructor(session: InferenceSession, graph: Graph, tensor: typeof RuntimeTensor) {
    this.#session = session;
    this.#inputs = graph.inputs.map(({ name, type }) => ({ name, type }));
    this.#tensor = tensor;
  }

  /** Compiles a graph. Throws `backend.failed` with the runtime's words if it cannot, `backend.unsupported` without a runtime. */
  static async create(graph: Graph, settings: SessionSettings): Promise<GraphSession> {
    const { InferenceSession, Tensor } = await importRuntime();
    const external = graph.constants.filter((constant) => constant.external);
    const options: InferenceSession.SessionOptions = {
      executionProviders: executionProviders(settings),
      intraOpNumThreads: settings.threads ?? availableParallelism(),
      interOpNumThreads: 1,
      executionMode: "sequential",
      graphOptimizationLevel: "all",
      enableMemPattern: false,
      logSeverityLevel: 3,
      ...(external.length === 0
        ? {}
        : {
            externalData: external.map(({ tensor, data }) => ({
              path: tensor.name,
              data: new Uint8Array(data.buffer, data.byteOffset, data.byteLength),
            })),
          }),
    };
    try {
      return new GraphSession(await InferenceSession.create(graph.toModel(), options), graph, Tensor);
    } catch (cause) {
      throw runtimeError("compile a graph", settings.device, cause);
    }
  }

  /** Runs the graph once and returns the outputs asked for (all by default), each in memory of its own. */
  async run(feeds: Feeds, outputs?: readonly string[]): Promise<Record<string, Float32Array>> {
    const tensors: Record<string, RuntimeTensor> = {};
    for (const { name, type } of this.#inputs) {
      const feed = feeds[name];
      if (feed === undefined) throw new RangeError(`The graph's input "${name}" is not fed.`);
      tensors[name] = this.#tensorOf(feed, type);
    }
    try {
      const results = await (outputs === undefined
        ? this.#session.run(tensors)
        : this.#session.run(tensors, [...outputs]));
      return Object.fromEntries(Object.entries(results).map(([name, tensor]) => [name, tensor.data as Float32Array]));
    } catch (cause) {
      throw runtimeError("run a graph", "the device", cause);
    }
  }

  /** Feeds that live on, such as those of weights, keep their tensor. */
  #tensorOf(feed: Feed, type: DataType): RuntimeTensor {
    const known = this.#tensors.get(feed);
    if (known !== undefined) return known;
    const tensor = new this.#tensor(type as "float32", feed.data as Float32Array, feed.shape);
    this.#tensors.set(feed, tensor);
    return tensor;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#session.release();
  }
}

/** The devices of which one of several can be named. */
export const indexedDevices: readonly Device[] = ["cuda", "dml"];

/** The providers of a session, in the order that operators are offered to them. */
export function executionProviders({
  device,
  deviceIndex,
}: Pick<SessionSettings, "device" | "deviceIndex">): InferenceSession.ExecutionProviderConfig[] {
  if (device === "cpu") return ["cpu"];
  return [deviceIndex === undefined ? device : { name: device, deviceId: deviceIndex }, "cpu"];
}

function runtimeError(what: string, device: string, cause: unknown): LyceumError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new LyceumError({
    code: "backend.failed",
    message: `ONNX Runtime could not ${what} on ${device}: ${reason}`,
    hint: "If memory ran out, lower training.maxTokensPerMicroBatch or choose a smaller model; `lyceum info` lists the devices.",
    cause,
  });
}
