import { resolve } from "node:path";
import { z } from "zod";
import type { AlgorithmDefinition } from "../trainers/algorithms/index.ts";
import { isModulePath } from "./module-path.ts";
import { importFromUser } from "./user-module.ts";

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
  const algorithm = await importFromUser({
    path: resolve(options.folder, id),
    what: "algorithm",
    hints: {
      missing:
        "Give the path of the module, such as ./my-algorithm.ts. In a config, its path is relative to the config file.",
      lacking: "Export it: export const algorithm = defineAlgorithm({ id, description, settings, create }).",
    },
    find: (module) => algorithmOf(module.algorithm ?? module.default),
  });
  return [...algorithms, { ...algorithm, id }];
}

function algorithmOf(exported: unknown): AlgorithmDefinition | undefined {
  const { create, description, settings } = (exported ?? {}) as Partial<AlgorithmDefinition>;
  const isAlgorithm =
    typeof create === "function" && typeof description === "string" && settings instanceof z.ZodObject;
  return isAlgorithm ? (exported as AlgorithmDefinition) : undefined;
}
