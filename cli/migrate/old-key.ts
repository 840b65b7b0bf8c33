import type { Json } from "../../src/contract/json.ts";
import type { OldConfig } from "./old-config.ts";

/**
 * The result of converting one old key. With none of `set`, `server` and `lost`, the key has no effect here and nothing is lost.
 */
export interface Converted {
  /** The values by dotted key of a config of Lyceum. A list is appended to the list that the key already has. */
  readonly set?: Readonly<Record<string, Json>>;
  /** Why the value has no counterpart. A list names several keys below this one. */
  readonly lost?: string | readonly RemovedKey[];
  /** The settings in the start command of a training server: keys of SkyRL, and options of its commands. */
  readonly server?: Readonly<Record<string, Json>>;
  /** What differs, for the comment at the first key that is set. */
  readonly note?: string;
}

/** An old key without a counterpart. */
export interface RemovedKey {
  readonly key: string;
  readonly value: Json;
  readonly reason: string;
}

/**
 * One row of the table from old to new keys. `lyceum migrate`, the overrides of `lyceum train` and docs/migrate.md all
 * use it.
 */
export interface OldKey {
  /** The dotted path from the root of the old config. `*` stands for the section of its trainer, such as `magrpo`. */
  readonly old: string;
  /** The new key, or keys, as the documentation names them. Absent if there is none. */
  readonly now?: string;
  /** The settings of a training server that the key becomes, as the documentation names them. */
  readonly server?: string;
  /** What changes besides the name. Without a new key: why there is none. */
  readonly note?: string;
  /** The old program's default, if it differs from Lyceum's. */
  readonly missing?: Json | ((config: OldConfig) => Json | undefined);
  /** The meaning of `null` and `None`. By default, the key counts as absent. */
  readonly none?: Json;
  /** The values that mean the same as omitting the key. */
  readonly idle?: readonly Json[];
  /** True if the key never affected training. It is dropped without a message. */
  readonly noEffect?: boolean;
  /** The key whose conversion also reads this one. */
  readonly partOf?: string;
  /**
   * Converts the value. By default, `now` gets the value itself. Values that Python and YAML spell in several ways are
   * converted to plain values before.
   */
  readonly convert?: (value: Json, config: OldConfig) => Converted;
  /** True if `convert` needs no other old key, so that it can translate an override. */
  readonly alone?: boolean;
}
