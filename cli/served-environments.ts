import type { OpenedEnvironments } from "../server/session/environment-module.ts";
import type { NamedDefinition } from "../server/session/local-runner.ts";
import { LyceumError } from "../src/contract/errors/index.ts";
import { type NamedEngine, namedEngine, openCatalog } from "./catalog.ts";
import { namedEnvironment } from "./named-environment.ts";
import { createPolicyOpener } from "./policy-opener.ts";

/** The environments of a server, as data: each worker opens its own. */
export interface ServedSelection {
  /** Names, files or packages. */
  readonly environments: readonly string[];
  /** `option=value` for one environment, `name.option=value` for several. */
  readonly set: readonly string[];
  /** The engine of the local models that options name. */
  readonly engine: NamedEngine;
  /** True if the server has models of its own, which the options of the engine may be for. */
  readonly hasModels: boolean;
}

/**
 * Opens the environments of a server in this thread. The name in addresses is the id of the environment. Throws the
 * errors of `namedEnvironment`, and `config.invalid` for two environments of one name and for an option of none.
 */
export async function openEnvironments(selection: ServedSelection): Promise<OpenedEnvironments> {
  const { environments: ids, set, engine, hasModels } = selection;
  const catalog = await openCatalog();
  const stop = new AbortController();
  const opener = createPolicyOpener({ catalog, engine: namedEngine(engine), signal: stop.signal });
  const close = async (): Promise<void> => {
    stop.abort();
    await opener[Symbol.asyncDispose]();
  };
  try {
    const named: NamedDefinition[] = [];
    for (const id of ids) {
      const definition = await namedEnvironment({
        id,
        set: optionsOf(id, { ids, set }),
        environments: catalog.environments,
        open: opener.open,
      });
      const name = definition.spec.id;
      if (named.some((other) => other.name === name)) throw usedName(name);
      named.push({ name, definition });
    }
    if (!hasModels) opener.checkEngineOptions(engine);
    return { environments: named, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Returns the options of one environment. With several, an option begins with the environment's name. */
function optionsOf(
  id: string,
  { ids, set }: { readonly ids: readonly string[]; readonly set: readonly string[] },
): string[] {
  if (ids.length === 1) return [...set];
  const wrong = set.find((option) => !ids.some((name) => option.startsWith(`${name}.`)));
  if (wrong !== undefined) {
    throw new LyceumError({
      code: "config.invalid",
      message: `--set ${wrong} names no environment.`,
      hint: `There are several, so begin with one of: ${ids.join(", ")}. Such as --set ${ids[0]}.${wrong}.`,
    });
  }
  return set.flatMap((option) => (option.startsWith(`${id}.`) ? [option.slice(id.length + 1)] : []));
}

function usedName(name: string): LyceumError {
  return new LyceumError({
    code: "config.invalid",
    message: `Two environments have the name "${name}".`,
    hint: "Clients find an environment by its name. Serve the second one by another server.",
    data: { name },
  });
}
