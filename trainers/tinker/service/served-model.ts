import type { Sampler } from "../../../src/contract/sampler.ts";
import type { Model } from "../../backend/training-backend.ts";
import { batchedSampler } from "./batched-sampler.ts";
import type { CheckpointKind } from "./checkpoint-store.ts";
import type { ModelShape } from "./model-shape.ts";
import { OrderedQueue } from "./ordered-queue.ts";
import { RequestError } from "./request-error.ts";

/** A model of a session, with the requests that wait for it. */
export class ServedModel implements AsyncDisposable {
  readonly id: string;
  readonly sessionId: string;
  readonly shape: ModelShape;
  readonly queue: OrderedQueue;
  readonly #opened: Promise<Model>;
  /** The samplers of saved weights, by path or sampling session. The oldest is first. */
  readonly #samplers = new Map<string, Sampler>();
  readonly #maxSamplers: number;
  /** The sampler of the current weights, if one was asked for. */
  #current: { readonly version: number; readonly sampler: Promise<Sampler> } | undefined;
  #closed = false;

  constructor(options: {
    readonly id: string;
    readonly sessionId: string;
    readonly shape: ModelShape;
    readonly opened: Promise<Model>;
    readonly gapMs: number;
    readonly maxSamplers: number;
  }) {
    this.id = options.id;
    this.sessionId = options.sessionId;
    this.shape = options.shape;
    this.queue = new OrderedQueue(options);
    this.#opened = options.opened;
    this.#opened.catch(() => undefined);
    this.#maxSamplers = options.maxSamplers;
  }

  /** Returns what the store needs of the model to save a checkpoint. */
  checkpoint<Kind extends CheckpointKind>(kind: Kind) {
    return { modelId: this.id, kind, shape: this.shape };
  }

  /** Returns the open model. Rejects with the error of opening it. */
  model(): Promise<Model> {
    return this.#opened;
  }

  sampler(name: string): Sampler | undefined {
    return this.#samplers.get(name);
  }

  /** The names of the samplers. */
  paths(): readonly string[] {
    return [...this.#samplers.keys()];
  }

  /** Returns a sampler of the current weights. Throws `RequestError` 404 if the model was closed. */
  async current(): Promise<Sampler> {
    const model = await this.#opened;
    if (this.#closed) throw this.#hasEnded();
    const last = this.#current;
    if (last?.version === model.version) return last.sampler;
    const sampler = model.snapshot().then(batchedSampler);
    this.forgetCurrent();
    this.#current = { version: model.version, sampler };
    return sampler;
  }

  /** Forgets the sampler of the current weights, after the weights have changed. Its running calls end first. */
  forgetCurrent(): void {
    this.#current?.sampler.then((sampler) => sampler.close()).catch(() => undefined);
    this.#current = undefined;
  }

  /**
   * Adds a sampler of the current weights. The oldest one is closed if there are too many. Throws `RequestError` 404 if the
   * model was closed.
   */
  async addSampler(name: string): Promise<void> {
    const sampler = batchedSampler(await (await this.#opened).snapshot());
    if (this.#closed) {
      await sampler.close();
      throw this.#hasEnded();
    }
    const replaced = this.#samplers.get(name);
    this.#samplers.delete(name);
    this.#samplers.set(name, sampler);
    await replaced?.close();
    for (const [oldest, old] of this.#samplers) {
      if (this.#samplers.size <= this.#maxSamplers) break;
      this.#samplers.delete(oldest);
      await old.close();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    for (const sampler of this.#samplers.values()) await sampler.close();
    this.#samplers.clear();
    this.forgetCurrent();
    const model = await this.#opened.catch(() => undefined);
    await model?.close();
  }

  #hasEnded(): RequestError {
    return new RequestError(404, `The model ${this.id} was unloaded, or its session has ended.`);
  }
}
