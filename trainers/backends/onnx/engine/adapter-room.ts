import type { DecoderConfig } from "../architecture/decoder-config.ts";
import { diagonalSpecs, fillDiagonals } from "../models/diagonal-halves.ts";
import { ParameterBlock } from "../models/parameter-block.ts";
import type { Feed } from "./session.ts";
import { type ModelWeights, structureKey } from "./weights.ts";

/**
 * Memory for what decoding lays out of an adapter. Adapters of one structure use it in turn, so that many cost no more
 * than one: nobody else may enter before the run that the feeds are for has ended.
 */
export class AdapterRoom {
  readonly #config: DecoderConfig;
  readonly #block: ParameterBlock;
  readonly #feeds: Readonly<Record<string, Feed>>;
  #holder: symbol | undefined;

  constructor(config: DecoderConfig, adapter: ParameterBlock) {
    this.#config = config;
    this.#block = new ParameterBlock(diagonalSpecs(config, adapter));
    this.#feeds = Object.fromEntries(
      this.#block.specs.map(({ name, shape }) => [name, { data: this.#block.view(name), shape }]),
    );
  }

  /** Feeds with the adapter laid out, which is done where another holder was the last; a holder's stays as it is. */
  enter(holder: symbol, adapter: ParameterBlock): Readonly<Record<string, Feed>> {
    if (holder !== this.#holder) fillDiagonals(this.#config, adapter, this.#block);
    this.#holder = holder;
    return this.#feeds;
  }
}

/** The rooms of an engine. They go when their base does. */
export class AdapterRooms {
  readonly #byBase = new WeakMap<ParameterBlock, Map<string, AdapterRoom>>();

  /** The room for adapters of this structure; none without an adapter. */
  of(weights: ModelWeights): AdapterRoom | undefined {
    const { config, base, adapter } = weights;
    if (adapter === undefined) return undefined;
    const rooms = this.#byBase.get(base) ?? new Map<string, AdapterRoom>();
    this.#byBase.set(base, rooms);
    const key = structureKey(weights);
    const room = rooms.get(key) ?? new AdapterRoom(config, adapter.block);
    rooms.set(key, room);
    return room;
  }
}
