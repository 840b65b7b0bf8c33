import type { EnvironmentDefinition } from "../src/contract/environment.ts";
import { mixedEnvironment } from "../src/core/environment/mixed-environment.ts";
import { createEnvironment, type EnvironmentRegistry, type OpenNamedPolicy } from "../src/core/environment/registry.ts";
import type { RunConfig } from "./run-config.ts";

/**
 * Opens the environment of a checked config and returns it with its options: one environment, or several mixed by
 * weight. `open` opens the policies that options name. Throws `config.invalid` for environments that cannot be mixed.
 */
export async function runEnvironment(
  { environment, environments = [], seed }: Pick<RunConfig, "environment" | "environments" | "seed">,
  { registry, open }: { readonly registry: EnvironmentRegistry; readonly open: OpenNamedPolicy },
): Promise<{ readonly environment: EnvironmentDefinition; readonly options: Readonly<Record<string, unknown>> }> {
  if (environment !== undefined) {
    const { id, ...options } = environment;
    return { environment: await createEnvironment(registry.get(id), { options, open }), options };
  }
  const parts: Parameters<typeof mixedEnvironment>[0][number][] = [];
  for (const { id, weight, name, ...options } of environments) {
    const environment = await createEnvironment(registry.get(id), { options, open });
    parts.push({ environment, weight, name });
  }
  return { environment: mixedEnvironment(parts, { seed }) as EnvironmentDefinition, options: { environments } };
}
