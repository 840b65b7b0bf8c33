import type { Json } from "../../contract/json.ts";
import type { OldConfig } from "./old-config.ts";

/** What one key of an old config becomes. Neither `set` nor `lost`: it has no effect here, and had none worth keeping. */
export interface Converted {
  /** Values by dotted key of a config of Lyceum. A list is added to the list that the key has already. */
  readonly set?: Readonly<Record<string, Json>>;
  /** Why there is nothing that the value could become. A list names several keys below this one. */
  readonly lost?: string | readonly LostKey[];
  /** What differs, for the comment at the first key that is set. */
  readonly note?: string;
}

/** A key of an old config that has no counterpart. */
export interface LostKey {
  readonly key: string;
  readonly value: Json;
  readonly reason: string;
}

/**
 * One row of the table from old to new keys: what `lyceum migrate`, the overrides of `lyceum train` and docs/migrate.md
 * all go by.
 */
export interface OldKey {
  /** Dotted, from the root of the old config; `*` stands for the section of its trainer, such as `magrpo`. */
  readonly old: string;
  /** The new key, or keys, as the documentation names them; absent if there is none. */
  readonly now?: string;
  /** What changes beside the name; without a key, why there is none. */
  readonly note?: string;
  /** What the old program took if the key is left out and Lyceum takes something else. */
  readonly missing?: Json | ((config: OldConfig) => Json | undefined);
  /** What `null` and `None` stand for; by default, for the key being left out. */
  readonly none?: Json;
  /** Values that say no more than leaving the key out. */
  readonly idle?: readonly Json[];
  /** Never changed what was trained: it is left out without a word about what is lost. */
  readonly noEffect?: boolean;
  /** The key whose conversion reads this one too. */
  readonly partOf?: string;
  /** The changes; by default the value itself under `now`. Called with values that Python and YAML spell in several ways made plain. */
  readonly convert?: (value: Json, config: OldConfig) => Converted;
  /** Whether `convert` needs no other key of the old config, so that an override can be translated by it. */
  readonly alone?: boolean;
}
