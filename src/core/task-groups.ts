/** The number of groups that a table or the metrics of a run show. */
const mostGroups = 32;

/** The name of all groups together that are not shown by their own names. */
export const otherGroups = "(other)";

/** Returns a group and the groups that it is part of: `math` and `math/algebra` for `math/algebra`. */
export function withOuterGroups(group: string | undefined): readonly string[] {
  const parts = group?.split("/") ?? [];
  return parts.map((_, last) => parts.slice(0, last + 1).join("/"));
}

/** Compares the names of groups in natural order: `Level 2` before `Level 10`. */
export function compareGroups(one: string, other: string): number {
  return one.localeCompare(other, "en", { numeric: true });
}

/**
 * Puts items together by their groups and by the groups that these are part of. The largest groups have their own
 * entries, up to 32. The items of all others are under `(other)`. Pass the same set as `named` again to keep the names
 * of earlier calls.
 */
export function byGroup<Item>(
  items: readonly Item[],
  groupOf: (item: Item) => string | undefined,
  named: Set<string> = new Set(),
): ReadonlyMap<string, readonly Item[]> {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    for (const name of withOuterGroups(groupOf(item))) {
      const own = groups.get(name) ?? [];
      own.push(item);
      groups.set(name, own);
    }
  }
  const sizeOf = (name: string): number => groups.get(name)!.length;
  const names = [...groups.keys()].sort(compareGroups);
  for (const name of names.toSorted((one, other) => sizeOf(other) - sizeOf(one))) {
    if (named.size < mostGroups && name !== otherGroups) named.add(name);
  }
  const others = items.filter((item) => {
    const own = withOuterGroups(groupOf(item));
    return own.length > 0 && !own.some((name) => named.has(name));
  });
  return new Map([
    ...names.filter((name) => named.has(name)).map((name) => [name, groups.get(name)!] as const),
    ...(others.length === 0 ? [] : [[otherGroups, others] as const]),
  ]);
}
