import type { Sampler } from "../../../src/contract/sampler.ts";
import type { ModelSource, TrainingBackend } from "../../backend/training-backend.ts";
import type { CheckpointStore } from "./checkpoint-store.ts";
import { closeFrozen, type FrozenModel, openFrozen } from "./frozen-model.ts";

/** The maximum number of open samplers. */
const maxOpen = 8;

/** Samplers of saved weights whose model is closed, or which an earlier server saved. At most 8 are open. */
export class StoredSamplers implements AsyncDisposable {
  readonly #backend: TrainingBackend;
  readonly #source: ModelSource & { readonly type: "pretrained" };
  readonly #checkpoints: CheckpointStore;
  /** By path and time of the checkpoint, because a checkpoint can be saved again. */
  readonly #open = new Map<string, Promise<FrozenModel>>();

  constructor(options: {
    readonly backend: TrainingBackend;
    /** The base model. */
    readonly source: ModelSource & { readonly type: "pretrained" };
    readonly checkpoints: CheckpointStore;
  }) {
    this.#backend = options.backend;
    this.#source = options.source;
    this.#checkpoints = options.checkpoints;
  }

  /**
   * Returns the sampler of a path of sampler weights. Throws `RequestError` 400 for other paths and 404 if there is no such
   * checkpoint. Rejects with the errors of opening it.
   */
  async get(path: string): Promise<Sampler> {
    this.#checkpoints.checkPath(path, "sampler_weights");
    const { folder, shape, time } = await this.#checkpoints.find(path);
    const key = `${path} ${time}`;
    const opened = this.#open.get(key) ?? this.#read(folder, shape.rank > 0);
    this.#open.delete(key);
    this.#open.set(key, opened);
    opened.catch(() => this.#open.delete(key));
    for (const [oldest, old] of this.#open) {
      if (this.#open.size <= maxOpen) break;
      this.#open.delete(oldest);
      // An engine that cannot close a model has ended, and its models with it.
      closeFrozen(old).catch(() => undefined);
    }
    return (await opened).sampler;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#open.values()].map(closeFrozen));
  }

  #read(folder: string, isAdapter: boolean): Promise<FrozenModel> {
    const base = isAdapter ? { base: this.#source.path } : {};
    return openFrozen(this.#backend, { ...this.#source, ...base, path: folder });
  }
}
