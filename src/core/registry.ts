import { LyceumError, unknownNameError } from "../contract/errors/index.ts";

/**
 * Definitions that a config or a command can name, such as the built-in environments or algorithms. It never changes:
 * to add a definition, pass a list with it to the function that uses the definitions.
 */
export interface Registry<Definition> {
  /** Returns all definitions, in the order of their registration. */
  list(): readonly Definition[];
  /** Returns a definition. Throws `config.unknown-name`, with the nearest known id, if there is none. */
  get(id: string): Definition;
}

/**
 * Creates a registry. `kind` is a noun for its definitions in errors, such as `environment`. Throws `config.invalid` if
 * two definitions have the same id.
 *
 * @example
 * import { createRegistry } from "lyceum/contract";
 * const colours = createRegistry("colour", [{ id: "red" }, { id: "green" }]);
 * colours.get("red"); // => { id: "red" }
 * colours.list().length; // => 2
 */
export function createRegistry<Definition extends { readonly id: string }>(
  kind: string,
  definitions: readonly Definition[],
): Registry<Definition> {
  const byId = new Map<string, Definition>();
  for (const definition of definitions) {
    if (byId.has(definition.id)) {
      throw new LyceumError({
        code: "config.invalid",
        message: `Two definitions of kind ${kind} have the id "${definition.id}".`,
        hint: `Give each ${kind} an id that no other ${kind} has.`,
      });
    }
    byId.set(definition.id, definition);
  }
  return {
    list: () => [...byId.values()],
    get: (id) => {
      const found = byId.get(id);
      if (found === undefined) throw unknownNameError({ kind, name: id, known: [...byId.keys()] });
      return found;
    },
  };
}
