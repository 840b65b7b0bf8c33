import type { InferenceSession, Tensor as RuntimeTensor } from "onnxruntime-node";
import { LyceumError } from "../../../../src/contract/errors/index.ts";
import type { Graph } from "../graph/graph.ts";
import type { DataType } from "../graph/tensor.ts";
import { defaultThreads } from "./default-threads.ts";
import { importRuntime } from "./import-runtime.ts";

/** The device that graphs run on. */
export type Device = "cpu" | "webgpu" | "cuda" | "coreml" | "dml";

/** The settings of sessions. */
export interface SessionSettings {
  readonly device: Device;
  /** The device index, from 0. Default: the first device. */
  readonly deviceIndex?: number;
  /** The threads of the CPU provider. Default: `OMP_NUM_THREADS`, or all cores. */
  readonly threads?: number;
}

/** The inputs of a run by name. Shared memory is read in place. */
export type Feeds = Readonly<Record<string, Feed>>;

/** An array with its shape. */
export interface Feed {
  readonly data: Float32Array | Int32Array | BigInt64Array | Uint8Array;
  readonly shape: readonly number[];
}

/** A compiled graph. This is the only file that calls onnxruntime-node. */
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

  /**
   * Compiles a graph. With `asWritten`, the runtime does not rewrite it: to rewrite takes most of the time that a training
   * graph takes to compile. Throws `backend.failed` with the runtime's message on failure, and `backend.unsupported` if
   * ONNX Runtime is not installed.
   */
  static async create(
    graph: Graph,
    settings: SessionSettings,
    { asWritten = false }: { readonly asWritten?: boolean } = {},
  ): Promise<GraphSession> {
    const { InferenceSession, Tensor } = await importRuntime();
    const external = graph.constants.filter((constant) => constant.external);
    const options: InferenceSession.SessionOptions = {
      executionProviders: executionProviders(settings),
      intraOpNumThreads: settings.threads ?? defaultThreads(),
      interOpNumThreads: 1,
      executionMode: "sequential",
      graphOptimizationLevel: asWritten ? "disabled" : "all",
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

  /** Runs the graph once. Returns the requested outputs (default: all), each in its own memory. */
  async run(feeds: Feeds, outputs?: readonly string[]): Promise<Record<string, Float32Array>> {
    const tensors: Record<string, RuntimeTensor> = {};
    for (const { name, type } of this.#inputs) {
      const feed = feeds[name];
      if (feed === undefined) throw new RangeError(`The graph's input "${name}" is missing.`);
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

  /** Reuses the tensor of a feed object that was passed before, such as those of weights. */
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

/** The kinds of devices that can be chosen by index. */
export const indexedDevices: readonly Device[] = ["cuda", "dml"];

/** Returns the providers of a session, in order of priority. */
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
