import { isDeepStrictEqual } from "node:util";
import { isJsonObject, type Json, type JsonObject } from "../../src/contract/json.ts";
import { leaves, type OldConfig } from "./old-config.ts";
import type { OldKey, RemovedKey } from "./old-key.ts";
import { plainValue } from "./old-value.ts";

/** The result of converting the keys of an old config. */
export interface ConvertedKeys {
  /** The values by dotted new key. */
  readonly set: ReadonlyMap<string, Json>;
  /** The source of each value, by dotted new key. */
  readonly origins: ReadonlyMap<string, KeyOrigin>;
  /** The settings of a training server, by its own names. Empty if the config trains on this machine. */
  readonly server: ReadonlyMap<string, Json>;
  /** The keys that became settings of the server. */
  readonly served: readonly string[];
  /** The keys without a counterpart. The command line reports them. */
  readonly lost: readonly RemovedKey[];
  /** The keys that had no effect in the old program, or that match the default here. */
  readonly idle: readonly string[];
  /** The keys that no row of the table matches. */
  readonly unknown: readonly RemovedKey[];
}

/** The source of a new key's value. */
export interface KeyOrigin {
  /** The old keys, or the old program's defaults. */
  readonly from: readonly string[];
  /** The differences from the behaviour of the old program. */
  readonly notes: readonly string[];
  /** The old value, or the old program's default. */
  readonly value: Json;
}

/** Converts a config with the rows of a table in order. Each row reads its own key. */
export function convertKeys(rows: readonly OldKey[], value: JsonObject, config: OldConfig): ConvertedKeys {
  const set = new Map<string, Json>();
  const origins = new Map<string, KeyOrigin>();
  const server = new Map<string, Json>();
  const served = new Set<string>();
  const lost: RemovedKey[] = [];
  const idle: string[] = [];
  const rowOf = rowFinder(rows, config);
  const all = leaves(value).map((leaf) => ({ ...leaf, row: rowOf(leaf.path) }));
  for (const row of rows) {
    const path = spelled(row.old, config);
    const given = config.get(row.old);
    if (row.partOf !== undefined) continue;
    if (isRest(row, rows, config)) {
      const rest = all.filter((leaf) => leaf.row === row && leaf.value !== null);
      if (row.noEffect === true) idle.push(...rest.map((leaf) => leaf.path));
      else lost.push(...rest.map((leaf) => ({ key: leaf.path, value: leaf.value, reason: row.note ?? "" })));
      continue;
    }
    const there = config.has(row.old);
    const says = given ?? (there ? row.none : missingValue(row, config));
    if (says === undefined) continue;
    if (there && (row.noEffect === true || row.idle?.some((word) => isDeepStrictEqual(word, says)))) continue;
    const { set: changes = {}, server: settings = {}, lost: reason, note } = convertOne(row, says, config);
    const keys = Object.keys(changes);
    for (const [name, setting] of Object.entries(settings)) server.set(name, setting);
    if (there && Object.keys(settings).length > 0) served.add(path);
    if (there && reason !== undefined) {
      lost.push(...(typeof reason === "string" ? [{ key: path, value: says, reason }] : reason));
    }
    const parts = rows.filter((other) => other.partOf === row.old && config.has(other.old));
    for (const [place, key] of keys.entries()) {
      const [before, change] = [set.get(key), changes[key]!];
      set.set(
        key,
        Array.isArray(before) && Array.isArray(change) && lists.includes(key) ? union(before, change) : change,
      );
      const { from = [], notes = [] } = there ? (origins.get(key) ?? {}) : {};
      const origin = [
        ...(there ? [path] : parts.length === 0 ? [`the default of ${path}`] : []),
        ...parts.map((part) => spelled(part.old, config)),
      ];
      origins.set(key, {
        from: [...from.filter((other) => !other.startsWith("the default") && !origin.includes(other)), ...origin],
        notes: note === undefined || place > 0 || notes.includes(note) ? notes : [...notes, note],
        value: says,
      });
    }
  }
  const unknown = all
    .filter(({ row, value: leaf }) => row === undefined && leaf !== null)
    .map(({ path, value: leaf }) => ({
      key: path,
      value: leaf,
      reason: "no known version of the program reads it",
    }));
  const kept = [...origins.values()].flatMap(({ from }) => from);
  const names = [...kept, ...served, ...[...lost, ...unknown].map(({ key }) => key), ...idle];
  const isNamed = nameFinder(names, config.section);
  for (const { path, row } of all) {
    if (isNamed(path)) continue;
    idle.push(row === undefined || isRest(row, rows, config) ? path : spelled(row.old, config));
  }
  return { set, origins, server, served: [...served], lost, idle: [...new Set(idle)], unknown };
}

/**
 * Returns a function that checks whether names concern a key: the key itself, a section that contains it, or an item of
 * its list. The trainer's section names the algorithm and concerns none of its keys.
 */
function nameFinder(names: readonly string[], trainer: string): (path: string) => boolean {
  const known = new Set(names.flatMap((name) => [name, name.replace(/\[.*/, "")]));
  return (path) => sections(path).some((section) => known.has(section) && (section !== trainer || path === trainer));
}

/** Returns a function that finds the row of a key: its own, or that of the innermost section that contains it. */
function rowFinder(rows: readonly OldKey[], config: OldConfig): (path: string) => OldKey | undefined {
  const byKey = new Map(rows.map((row) => [spelled(row.old, config), row]));
  return (path) => {
    const own = byKey.get(path);
    if (own !== undefined) return own;
    const section = sections(path).find((key) => byKey.has(key) && byKey.get(key)!.old !== "*");
    return section === undefined ? undefined : byKey.get(section);
  };
}

/** Returns `a.b.c`, `a.b` and `a` for `a.b.c`. */
function sections(path: string): string[] {
  const parts = path.split(".");
  return parts.map((_, place) => parts.slice(0, parts.length - place).join("."));
}

/** Converts a value with one row. */
export function convertOne(row: OldKey, value: Json, config: OldConfig): ReturnType<NonNullable<OldKey["convert"]>> {
  const plain = plainValue(value);
  if (row.noEffect === true) return {};
  if (row.convert !== undefined) return row.convert(plain, config);
  if (row.now === undefined) return { lost: row.note ?? "" };
  return { set: { [row.now]: plain } };
}

/** The keys whose values are collected in a list. */
const lists = ["rewards", "trackers"];

function spelled(old: string, { section }: OldConfig): string {
  return old.replace(/^\*/, section);
}

/** Returns true if a row is for the rest of a section whose other keys have their own rows. Such a row is not a key. */
function isRest({ old }: OldKey, rows: readonly OldKey[], config: OldConfig): boolean {
  return isJsonObject(config.get(old)) && old !== "*" && rows.some((other) => other.old.startsWith(`${old}.`));
}

function missingValue({ missing }: OldKey, config: OldConfig): Json | undefined {
  return typeof missing === "function" ? missing(config) : missing;
}

function union(first: readonly Json[], second: readonly Json[]): Json[] {
  return [...first, ...second.filter((item) => !first.some((other) => isDeepStrictEqual(other, item)))];
}
