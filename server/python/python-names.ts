const keywords = new Set(
  [
    "False None True and as assert async await break class continue def del elif else except finally for from global",
    "if import in is lambda nonlocal not or pass raise return try while with yield match case type",
  ].flatMap((words) => words.split(" ")),
);

/**
 * Returns an identifier of Python for each name, in order. Characters that no identifier has become `_`, leading `_` are
 * removed, and a name that is a keyword, reserved or used before gets an ending.
 */
export function identifiers(names: readonly string[], reserved: readonly string[] = []): readonly string[] {
  const used = new Set<string>(reserved);
  return names.map((name) => {
    const base = identifier(name);
    let found = keywords.has(base) || used.has(base) ? `${base}_` : base;
    for (let number = 2; used.has(found); number += 1) found = `${base}_${number}`;
    used.add(found);
    return found;
  });
}

/** Returns the name of a class, such as `NumberGuessing` for `number-guessing`. */
export function className(name: string): string {
  const words = identifier(name).split("_");
  const joined = words.map((word) => word.slice(0, 1).toUpperCase() + word.slice(1)).join("");
  return /^[A-Z]/.test(joined) && !keywords.has(joined) ? joined : `Env${joined}`;
}

/** Returns the name of a module, such as `number_guessing` for `number-guessing`. */
export function moduleName(name: string): string {
  return identifiers([name.toLowerCase()])[0]!;
}

function identifier(name: string): string {
  const safe = name.replaceAll(/[^A-Za-z0-9_]+/g, "_").replaceAll(/^_+|_+$/g, "");
  if (safe === "") return "value";
  return /^[0-9]/.test(safe) ? `n${safe}` : safe;
}
