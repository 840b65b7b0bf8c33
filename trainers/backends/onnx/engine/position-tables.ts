import type { DecoderConfig } from "../../../model-folders/architecture/decoder-config.ts";
import type { RopeFrequencies } from "../../../model-folders/architecture/rope-settings.ts";
import { ropeTables } from "../models/rope-tables.ts";
import type { Feed } from "./session.ts";

/** The rotary tables of one model. They grow on demand. They are empty if positions are learned. */
export class PositionTables {
  readonly #config: DecoderConfig;
  #rows = 0;
  #feeds: Readonly<Record<string, Feed>> = {};

  constructor(config: DecoderConfig) {
    this.#config = config;
  }

  /** Returns the tables with at least `rows` rows. The operator needs one row for each token of a run. */
  feeds(rows: number): Readonly<Record<string, Feed>> {
    const { rope, headSize } = this.#config;
    if (rope === undefined || rows <= this.#rows) return this.#feeds;
    const positions = Math.max(64, 2 ** Math.ceil(Math.log2(rows)));
    const shape = [positions, headSize / 2];
    const tables = (frequencies: RopeFrequencies, [cosName, sinName]: readonly [string, string]) => {
      const { cos, sin } = ropeTables(frequencies, { headSize, positions });
      return { [cosName]: { data: cos, shape }, [sinName]: { data: sin, shape } };
    };
    this.#rows = positions;
    this.#feeds = {
      ...tables(rope, ["cos", "sin"]),
      ...(rope.windowed === undefined ? {} : tables(rope.windowed, ["windowCos", "windowSin"])),
    };
    return this.#feeds;
  }
}
