import { LyceumError } from "../../../src/contract/errors/index.ts";
import { checkSpec } from "../../backend/check-spec.ts";
import type { Capabilities, Model, ModelSpec, TrainingBackend } from "../../backend/training-backend.ts";
import { findGradientRule } from "./find-gradient-rule.ts";
import type { GradientRule } from "./gradient-rule.ts";
import { openTokens } from "./open-tokens.ts";
import type { ConnectionTimes } from "./tinker-connection.ts";
import { unsupported } from "./tinker-error.ts";
import { TinkerModel } from "./tinker-model.ts";
import { wireSeed } from "./tinker-sampler.ts";
import { type Encoding, TinkerSession } from "./tinker-session.ts";

/** The options of {@link createTinkerBackend}. */
export interface TinkerBackendOptions {
  /** The address of the server, such as `http://127.0.0.1:8000`. */
  readonly url: string;
  /** The server's name of the base model, if it differs from the model's path or hub id. */
  readonly model?: string | undefined;
  /**
   * The saved weights of frozen models, instead of the base model's: `tinker://MODEL/weights/NAME` or
   * `tinker://MODEL/sampler_weights/NAME`. With the latter, a model can only be sampled.
   */
  readonly weights?: string | undefined;
  /**
   * How the server combines token losses into a gradient. `auto`, the default, measures it with an adapter of rank 1.
   */
  readonly gradients?: GradientRule | "auto" | undefined;
  /** The encoding of large messages. `auto`, the default, takes the one that the server prefers. */
  readonly encoding?: Encoding | "auto" | undefined;
  /** Waits and limits of requests. */
  readonly times?: ConnectionTimes;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Opens a session on a server of the Tinker API, on which models are trained and sampled. The key of the server comes
 * only from the environment variable `TINKER_API_KEY`, so that no config, log or export contains it.
 * Throws `config.invalid` for an address with a password, `server.unauthorized` if the server wants another key, and
 * `backend.unavailable` if it does not answer.
 *
 * @example
 * import { createTinkerBackend } from "lyceum/tinker";
 * const backend = await createTinkerBackend({ url: "http://127.0.0.1:8000" });
 * await backend.close();
 */
export async function createTinkerBackend(options: TinkerBackendOptions): Promise<TrainingBackend> {
  if (hasPassword(options.url)) {
    throw new LyceumError({
      code: "config.invalid",
      message: "The address of the server contains a user or a password.",
      hint: "Set the environment variable TINKER_API_KEY to the key of the server.",
    });
  }
  // A server without keys accepts any key.
  const apiKey = process.env.TINKER_API_KEY ?? "tml-dummy";
  const session = await TinkerSession.open({ ...options, apiKey });
  session.checkLosses();
  return new TinkerBackend(session, options);
}

/** True if an address contains a user or a password. Files and logs with the address would contain them. */
function hasPassword(url: string): boolean {
  const { username, password } = URL.parse(url) ?? { username: "", password: "" };
  return username !== "" || password !== "";
}

class TinkerBackend implements TrainingBackend {
  readonly specificationVersion = "v1";
  readonly capabilities: Capabilities = {
    name: "tinker",
    device: "server",
    losses: ["crossEntropy", "policyGradient", "importanceSampling", "ppo", "cispo", "kl"],
    trainableSampling: [],
    adapters: true,
    // Only `create_model` shows whether the server can.
    fullParameter: true,
    valueHead: false,
    microBatches: false,
    deterministic: false,
    exportFormats: ["peft"],
  };
  readonly #session: TinkerSession;
  readonly #options: TinkerBackendOptions;
  readonly #models = new Set<TinkerModel>();
  #rule: Promise<GradientRule> | undefined;
  #closed = false;

  constructor(session: TinkerSession, options: TinkerBackendOptions) {
    this.#session = session;
    this.#options = options;
  }

  async openModel(spec: ModelSpec, { signal }: { readonly signal?: AbortSignal } = {}): Promise<Model> {
    checkSpec(spec);
    const { source, trainable, valueHead } = spec;
    if (valueHead === true) {
      throw unsupported(
        "A model on a server has no value head, so that it cannot have a critic.",
        "Choose an algorithm without a critic, such as grpo, or train on the embedded engine.",
      );
    }
    const tokens = await openTokens(source, signal);
    const { tokenizer, renderer, adapterSize, ...limits } = tokens;
    const session = this.#session;
    const baseModel = session.baseModel(source.type === "pretrained" ? source.path : "", this.#options.model);
    const frozen = trainable.type === "frozen";
    const saved = frozen ? this.#options.weights : undefined;
    const isState = saved !== undefined && !saved.includes("/sampler_weights/");
    if (!frozen) this.#rule ??= this.#findRule(baseModel, signal);
    const model = await TinkerModel.open({
      session,
      spec,
      tokenizer,
      renderer,
      baseModel,
      limits,
      adapterSize,
      signal,
      ...(isState ? { rank: await session.savedRank(saved, signal), seed: 0 } : adapterOf(spec)),
      saved,
      rule: (await this.#rule) ?? "sum",
    });
    this.#models.add(model);
    return model;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    for (const model of this.#models) await model.close().catch(() => undefined);
    await this.#session[Symbol.asyncDispose]();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #findRule(baseModel: string, signal: AbortSignal | undefined): Promise<GradientRule> {
    const { gradients = "auto" } = this.#options;
    return gradients === "auto" ? findGradientRule(this.#session, { baseModel, signal }) : gradients;
  }
}

/** Returns the rank and the seed of the adapter on the server. Throws for settings that the API does not have. */
function adapterOf({ trainable }: ModelSpec): { readonly rank: number | undefined; readonly seed: number } {
  if (trainable.type === "frozen") return { rank: undefined, seed: 0 };
  if (trainable.type === "full") return { rank: 0, seed: 0 };
  const { rank = 16, alpha = 32, targets, dropout = 0, seed = 0 } = trainable.lora;
  if (alpha !== 32)
    throw unsupported(`The Tinker API has no alpha, and servers use 32, not ${alpha}.`, "Remove model.adapter.alpha.");
  if (targets !== undefined) {
    throw unsupported("A server puts adapters on all linear layers.", "Remove model.adapter.targets.");
  }
  if (dropout > 0) throw unsupported("The Tinker API has no dropout.", "Remove model.adapter.dropout.");
  return { rank, seed: wireSeed(seed) };
}
