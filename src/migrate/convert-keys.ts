import { isDeepStrictEqual } from "node:util";
import { isJsonObject, type Json, type JsonObject } from "../json.ts";
import { leaves, type OldConfig } from "./old-config.ts";
import type { LostKey, OldKey } from "./old-key.ts";
import { plainValue } from "./old-value.ts";

/** What became of the keys of an old config. */
export interface ConvertedKeys {
  /** Values by dotted new key. */
  readonly set: ReadonlyMap<string, Json>;
  /** Where a value comes from, by dotted new key. */
  readonly origins: ReadonlyMap<string, KeyOrigin>;
  /** What the command line says instead of the config. */
  readonly flags: readonly string[];
  readonly lost: readonly LostKey[];
  /** Keys that changed nothing there or say what holds here anyway. */
  readonly idle: readonly string[];
  /** Keys that no row knows. */
  readonly unknown: readonly LostKey[];
}

/** Where the value of a new key comes from. */
export interface KeyOrigin {
  /** The old keys, or the old program's defaults. */
  readonly from: readonly string[];
  /** What differs from what the old program did. */
  readonly notes: readonly string[];
}

/** Goes through the rows of a table in their order; each row reads its own key. */
export function convertKeys(rows: readonly OldKey[], value: JsonObject, config: OldConfig): ConvertedKeys {
  const set = new Map<string, Json>();
  const origins = new Map<string, KeyOrigin>();
  const flags: string[] = [];
  const lost: LostKey[] = [];
  const idle: string[] = [];
  for (const row of rows) {
    const path = spelled(row.old, config);
    const given = config.get(row.old);
    if (row.partOf !== undefined || isRest(row, rows, config)) continue;
    const there = config.has(row.old);
    const says = given ?? (there ? row.none : missingValue(row, config));
    if (says === undefined) {
      if (there) idle.push(path);
      continue;
    }
    if (there && (row.noEffect === true || row.idle?.some((word) => isDeepStrictEqual(word, says)))) {
      idle.push(path);
      continue;
    }
    const { set: changes = {}, lost: reason, flag, note } = convertOne(row, says, config);
    const keys = Object.keys(changes);
    if (flag !== undefined) flags.push(flag);
    if (there && reason !== undefined) {
      lost.push(...(typeof reason === "string" ? [{ key: path, value: says, reason }] : reason));
    } else if (there && keys.length === 0 && flag === undefined) idle.push(path);
    for (const [place, key] of keys.entries()) {
      const [before, change] = [set.get(key), changes[key]!];
      set.set(
        key,
        Array.isArray(before) && Array.isArray(change) && lists.includes(key) ? union(before, change) : change,
      );
      const { from = [], notes = [] } = there ? (origins.get(key) ?? {}) : {};
      const origin = there ? path : `the default of ${path}`;
      origins.set(key, {
        from: [...from.filter((other) => !other.startsWith("the default")), origin],
        notes: note === undefined || place > 0 || notes.includes(note) ? notes : [...notes, note],
      });
    }
  }
  const unknown = leaves(value)
    .filter(({ path, value: leaf }) => leaf !== null && !rows.some((row) => covers(row, path, config)))
    .map(({ path, value: leaf }) => ({
      key: path,
      value: leaf,
      reason: "no version of the program that is known here reads it",
    }));
  return { set, origins, flags, lost, idle: [...new Set(idle)], unknown };
}

/** What one row makes of a value. */
export function convertOne(row: OldKey, value: Json, config: OldConfig): ReturnType<NonNullable<OldKey["convert"]>> {
  const plain = plainValue(value);
  if (row.noEffect === true) return {};
  if (row.convert !== undefined) return row.convert(plain, config);
  if (row.now === undefined) return { lost: row.note ?? "" };
  return { set: { [row.now]: plain } };
}

/** Keys whose values add up. */
const lists = ["rewards", "trackers"];

function spelled(old: string, { section }: OldConfig): string {
  return old.replace(/^\*/, section);
}

function covers(row: OldKey, path: string, config: OldConfig): boolean {
  const old = spelled(row.old, config);
  return path === old || (row.old !== "*" && path.startsWith(`${old}.`));
}

/** Whether a row stands for what is left of a section, other keys of which have rows of their own: it is no key. */
function isRest({ old }: OldKey, rows: readonly OldKey[], config: OldConfig): boolean {
  return isJsonObject(config.get(old)) && old !== "*" && rows.some((other) => other.old.startsWith(`${old}.`));
}

function missingValue({ missing }: OldKey, config: OldConfig): Json | undefined {
  return typeof missing === "function" ? missing(config) : missing;
}

function union(first: readonly Json[], second: readonly Json[]): Json[] {
  return [...first, ...second.filter((item) => !first.some((other) => isDeepStrictEqual(other, item)))];
}
