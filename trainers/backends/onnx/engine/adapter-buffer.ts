import type { DecoderConfig } from "../../../model-folders/architecture/decoder-config.ts";
import { diagonalSpecs, fillDiagonals } from "../models/diagonal-halves.ts";
import type { BaseBlock } from "../models/graph-parameters.ts";
import { ParameterBlock } from "../models/parameter-block.ts";
import type { Feed } from "./session.ts";
import { type ModelWeights, structureKey } from "./weights.ts";

/**
 * Memory for the decoding layout of an adapter. Adapters of the same structure use it in turn, so many adapters need no
 * more memory than one. The next adapter may enter only after the run with these feeds has ended.
 */
export class AdapterBuffer {
  readonly #config: DecoderConfig;
  readonly #block: ParameterBlock;
  readonly #feeds: Readonly<Record<string, Feed>>;
  #owner: symbol | undefined;

  constructor(config: DecoderConfig, adapter: ParameterBlock) {
    this.#config = config;
    this.#block = new ParameterBlock(diagonalSpecs(config, adapter));
    this.#feeds = Object.fromEntries(
      this.#block.specs.map(({ name, shape }) => [name, { data: this.#block.view(name), shape }]),
    );
  }

  /** Returns the feeds with the adapter laid out. Lays it out only if another adapter was the last to enter. */
  enter(owner: symbol, adapter: ParameterBlock): Readonly<Record<string, Feed>> {
    if (owner !== this.#owner) fillDiagonals(this.#config, adapter, this.#block);
    this.#owner = owner;
    return this.#feeds;
  }
}

/** The adapter buffers of an engine. They are freed together with their base weights. */
export class AdapterBuffers {
  readonly #byBase = new WeakMap<BaseBlock, Map<string, AdapterBuffer>>();

  /** Returns the buffer for adapters of this structure. Undefined without an adapter. */
  of(weights: ModelWeights): AdapterBuffer | undefined {
    const { config, base, adapter } = weights;
    if (adapter === undefined) return undefined;
    const buffers = this.#byBase.get(base) ?? new Map<string, AdapterBuffer>();
    this.#byBase.set(base, buffers);
    const key = structureKey(weights);
    const buffer = buffers.get(key) ?? new AdapterBuffer(config, adapter.block);
    buffers.set(key, buffer);
    return buffer;
  }
}
