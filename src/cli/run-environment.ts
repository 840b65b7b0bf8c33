import type { EnvironmentDefinition } from "../environment/environment.ts";
import { mixedEnvironment } from "../environment/mixed-environment.ts";
import type { EnvironmentRegistry } from "../environment/registry.ts";
import type { RunConfig } from "./run-config.ts";

/**
 * What a run practises, and the options that it was made with: one environment, or several mixed by weight. Throws
 * `config.invalid` for options at fault and for environments that do not mix.
 */
export function runEnvironment(
  { environment, environments = [], seed }: Pick<RunConfig, "environment" | "environments" | "seed">,
  registry: EnvironmentRegistry,
): { readonly environment: EnvironmentDefinition; readonly options: Readonly<Record<string, unknown>> } {
  if (environment !== undefined) {
    const { id, ...options } = environment;
    return { environment: registry.create(id, options), options };
  }
  const parts = environments.map(({ id, weight, name, ...options }) => ({
    environment: registry.create(id, options),
    ...(weight === undefined ? {} : { weight }),
    ...(name === undefined ? {} : { name }),
  }));
  return { environment: mixedEnvironment(parts, { seed }) as EnvironmentDefinition, options: { environments } };
}
