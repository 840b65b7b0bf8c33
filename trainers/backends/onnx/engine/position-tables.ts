import type { DecoderConfig } from "../../../model-folders/architecture/decoder-config.ts";
import { ropeTables } from "../models/rope-tables.ts";
import type { Feed } from "./session.ts";

/** The rotary tables of one model. They grow on demand. They are empty if positions are learned. */
export class PositionTables {
  readonly #config: DecoderConfig;
  #rows = 0;
  #tables: { readonly cos: Float32Array; readonly sin: Float32Array } | undefined;

  constructor(config: DecoderConfig) {
    this.#config = config;
  }

  /** Returns `cos` and `sin` with at least `rows` rows. The operator needs one row for each token of a run. */
  feeds(rows: number): Readonly<Record<string, Feed>> {
    const { rope, headSize } = this.#config;
    if (rope === undefined) return {};
    if (this.#tables === undefined || rows > this.#rows) {
      this.#rows = Math.max(64, 2 ** Math.ceil(Math.log2(rows)));
      this.#tables = ropeTables(rope, { headSize, positions: this.#rows });
    }
    const shape = [this.#rows, headSize / 2];
    return { cos: { data: this.#tables.cos, shape }, sin: { data: this.#tables.sin, shape } };
  }
}
