import { LyceumError } from "../../../src/contract/errors/index.ts";
import { Semaphore } from "../../../src/core/concurrency/semaphore.ts";
import {
  anySchema,
  type ClientConfig,
  capabilitiesSchema,
  clientConfigSchema,
  createSessionSchema,
  weightsInfoSchema,
} from "../../tinker/protocol/answers.ts";
import { type ConnectionTimes, TinkerConnection } from "./tinker-connection.ts";
import { unsupported } from "./tinker-error.ts";

/** The encoding of large messages: JSON, or the binary one of newer servers. */
export type Encoding = "json" | "protobuf";

/** The version of the API's own client whose requests these are. */
const sdkVersion = "0.24.1";

/** What a server says about itself. */
export interface ServerCapabilities {
  readonly models: readonly string[];
  /** Undefined if the server does not say. */
  readonly losses: readonly string[] | undefined;
}

/** The losses of the Tinker API that every server is assumed to have if it does not list them. */
const standardLosses = ["cross_entropy", "importance_sampling", "ppo", "cispo"] as const;

/** The most requests for samples that wait for their result at the same time. */
const maxSampleRequests = 512;

/** A session on a server of the Tinker API. Its models are freed some minutes after its last heartbeat. */
export class TinkerSession implements AsyncDisposable {
  readonly connection: TinkerConnection;
  readonly capabilities: ServerCapabilities;
  readonly id: string;
  /** The encoding of large messages. */
  encoding: Encoding;
  /** True until a first pass shows that the server accepts an encoding that neither it nor the config has named. */
  assumesEncoding: boolean;
  /** True if one request can wait for all samples of a sampler. */
  readonly batchesPolls: boolean;
  /** Limits the requests for samples that are under way. */
  readonly sampling: Semaphore = new Semaphore(maxSampleRequests);
  /**
   * True if the server runs an optimizer step after a pass that was sent just before it. False until the answer to a
   * step shows that the server is not SkyRL. SkyRL looks for new passes first and for new steps a moment later. If both
   * arrive in between, it runs the step without the pass.
   */
  runsInOrder = false;
  /** True if the server recognizes a repeated operation by its sequence id. Undefined until it is measured. */
  numbered: boolean | undefined;
  readonly #heartbeat: NodeJS.Timeout;
  /** Ends a sign of life that is under way. */
  readonly #closed = new AbortController();
  #models = 0;
  #samplers = 0;

  private constructor(options: {
    readonly connection: TinkerConnection;
    readonly capabilities: ServerCapabilities;
    readonly id: string;
    readonly encoding: Encoding | undefined;
    readonly batchesPolls: boolean;
    readonly heartbeatMs: number | undefined;
  }) {
    this.connection = options.connection;
    this.capabilities = options.capabilities;
    this.id = options.id;
    this.encoding = options.encoding ?? "json";
    this.assumesEncoding = options.encoding === undefined;
    this.batchesPolls = options.batchesPolls;
    let beating = false;
    const beat = async (): Promise<void> => {
      // A server that does not answer gets one at a time.
      if (beating) return;
      beating = true;
      const body = { session_id: this.id, type: "session_heartbeat" };
      const { signal } = this.#closed;
      await this.connection.post("session_heartbeat", body, anySchema, { signal }).catch(() => undefined);
      beating = false;
    };
    this.#heartbeat = setInterval(() => void beat(), options.heartbeatMs ?? 10_000);
    this.#heartbeat.unref();
  }

  /** Opens a session. Throws `server.unauthorized` for a wrong key and `backend.unavailable` if no server answers. */
  static async open(options: {
    readonly url: string;
    readonly apiKey: string;
    readonly encoding?: Encoding | "auto" | undefined;
    readonly times?: ConnectionTimes | undefined;
    readonly signal?: AbortSignal | undefined;
  }): Promise<TinkerSession> {
    const { signal, encoding = "auto" } = options;
    const connection = new TinkerConnection(options);
    const answer = await connection.get("get_server_capabilities", capabilitiesSchema, { signal });
    const capabilities: ServerCapabilities = {
      models: answer.supported_models.flatMap(({ model_name }) => model_name ?? []),
      losses: answer.supported_loss_fns ?? undefined,
    };
    const body = { tags: ["lyceum"], user_metadata: {}, sdk_version: sdkVersion, type: "create_session" };
    const { session_id } = await connection.post("create_session", body, createSessionSchema, { signal });
    const heartbeatMs = options.times?.heartbeatMs;
    const flags = await serverFlags(connection, signal);
    return new TinkerSession({
      connection,
      capabilities,
      id: session_id,
      encoding: encoding === "auto" ? (flags.proto_write_fwdbwd === true ? "protobuf" : undefined) : encoding,
      batchesPolls: flags.sample_use_retrieve_futures === true,
      heartbeatMs,
    });
  }

  /** Returns true if the server has a loss function. */
  hasLoss(name: string): boolean {
    return (this.capabilities.losses ?? standardLosses).includes(name);
  }

  /** The next number of a model in this session. */
  nextModel(): number {
    return this.#models++;
  }

  /** The next number of a sampler in this session. */
  nextSampler(): number {
    return this.#samplers++;
  }

  /**
   * Returns the server's name of a base model: `wanted` if it is given, the model's own path or name if the server lists
   * it, or the only listed model whose last part is the same. Throws `backend.unsupported` with the list otherwise.
   */
  baseModel(path: string, wanted?: string): string {
    const { models } = this.capabilities;
    if (wanted !== undefined) return wanted;
    if (models.includes(path)) return path;
    const same = models.filter((name) => lastPart(name) === lastPart(path));
    if (same.length === 1) return same[0]!;
    throw new LyceumError({
      code: "backend.unsupported",
      message: `The server does not list the model ${path}. It has ${models.length === 0 ? "none" : models.join(", ")}.`,
      hint: "Set model.path to a local copy or hub id of one of them. If its name on the server differs, set backend.model.",
      data: { path, models: [...models] },
    });
  }

  /** Returns the rank of saved weights. 0 if every weight was trained. */
  async savedRank(path: string, signal: AbortSignal | undefined): Promise<number> {
    const body = { tinker_path: path };
    return (await this.connection.post("weights_info", body, weightsInfoSchema, { signal })).lora_rank ?? 0;
  }

  /** Throws `backend.unsupported` unless the server has the losses that every pass needs. */
  checkLosses(): void {
    if (this.hasLoss("cross_entropy") && this.hasLoss("importance_sampling")) return;
    throw unsupported(
      `The server has only the losses ${this.capabilities.losses?.join(", ")}.`,
      "Use a server with cross_entropy and importance_sampling.",
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#heartbeat);
    this.#closed.abort();
  }
}

/** Returns the server's flags for clients. Older servers have no such route or no such flags, and read JSON. */
async function serverFlags(connection: TinkerConnection, signal: AbortSignal | undefined): Promise<ClientConfig> {
  const asked = connection.post("client/config", { sdk_version: sdkVersion }, clientConfigSchema, { signal });
  return asked.catch((error: unknown) => {
    signal?.throwIfAborted();
    if (LyceumError.isInstance(error) && error.code === "server.unauthorized") throw error;
    return {};
  });
}

function lastPart(name: string): string | undefined {
  return name.split(/[/\\]/).findLast((part) => part !== "");
}
