import type { Sampler } from "../../../src/contract/sampler.ts";
import { batchedSampler } from "../../../src/core/policy/batched-sampler.ts";
import type { Model, ModelSource, TrainingBackend } from "../../backend/training-backend.ts";
import type { CheckpointStore } from "./checkpoint-store.ts";

interface Opened {
  readonly model: Model;
  readonly sampler: Sampler;
}

/** The maximum number of open samplers. */
const maxOpen = 8;

/** Samplers of saved weights whose model is closed, or which an earlier server saved. At most 8 are open. */
export class StoredSamplers implements AsyncDisposable {
  readonly #backend: TrainingBackend;
  readonly #source: ModelSource & { readonly type: "pretrained" };
  readonly #checkpoints: CheckpointStore;
  readonly #open = new Map<string, Promise<Opened>>();

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
    const { folder, shape } = await this.#checkpoints.find(path);
    const opened = this.#open.get(path) ?? this.#read(folder, shape.rank > 0);
    this.#open.delete(path);
    this.#open.set(path, opened);
    opened.catch(() => this.#open.delete(path));
    for (const [oldest, old] of this.#open) {
      if (this.#open.size <= maxOpen) break;
      this.#open.delete(oldest);
      void close(old);
    }
    return (await opened).sampler;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#open.values()].map(close));
  }

  async #read(folder: string, isAdapter: boolean): Promise<Opened> {
    const base = isAdapter ? { base: this.#source.path } : {};
    const source = { ...this.#source, ...base, path: folder };
    const model = await this.#backend.openModel({ source, trainable: { type: "frozen" } });
    return { model, sampler: batchedSampler(await model.snapshot()) };
  }
}

async function close(opened: Promise<Opened>): Promise<void> {
  const found = await opened.catch(() => undefined);
  await found?.sampler.close();
  await found?.model.close();
}
