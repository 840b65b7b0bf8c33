import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { z } from "zod";
import type { AlgorithmDefinition } from "../../trainers/algorithms/index.ts";
import { LyceumError } from "../contract/errors/index.ts";
import { isModulePath } from "./module-path.ts";

/**
 * Returns the algorithms, with the one from the file `id` added (`./my-algorithm.ts`). Its module exports it as
 * `algorithm` or as default. Other names change nothing. Throws `data.not-found` if the file is missing, and
 * `config.invalid` if the module cannot be loaded or exports no algorithm.
 */
export async function withAlgorithm(
  algorithms: readonly AlgorithmDefinition[],
  id: string,
  options: {
    /** The folder that relative paths start from. */
    readonly folder: string;
  },
): Promise<readonly AlgorithmDefinition[]> {
  if (!isModulePath(id) || algorithms.some((algorithm) => algorithm.id === id)) return algorithms;
  const path = resolve(options.folder, id);
  if (!existsSync(path)) {
    throw new LyceumError({
      code: "data.not-found",
      message: `There is no algorithm file ${path}.`,
      hint: "Give the path of the module, such as ./my-algorithm.ts. In a config, its path is relative to the config file.",
      data: { path },
    });
  }
  return [...algorithms, { ...(await importAlgorithm(path)), id }];
}

async function importAlgorithm(path: string): Promise<AlgorithmDefinition> {
  const module = (await import(pathToFileURL(path).href).catch((cause: unknown) => {
    throw new LyceumError({
      code: "config.invalid",
      message: `The algorithm ${path} cannot be imported: ${cause instanceof Error ? cause.message : String(cause)}`,
      hint: "Check that the module loads: run node with its path. Use --debug to print the stack.",
      data: { path },
      cause,
    });
  })) as { readonly algorithm?: unknown; readonly default?: unknown };
  const exported = (module.algorithm ?? module.default) as Partial<AlgorithmDefinition> | undefined;
  if (
    typeof exported?.create === "function" &&
    typeof exported.description === "string" &&
    exported.settings instanceof z.ZodObject
  ) {
    return exported as AlgorithmDefinition;
  }
  throw new LyceumError({
    code: "config.invalid",
    message: `${path} exports no algorithm: its exports are ${Object.keys(module).join(", ") || "none"}.`,
    hint: "Export it: export const algorithm = defineAlgorithm({ id, description, settings, create }).",
    data: { path },
  });
}
