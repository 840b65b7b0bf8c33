import { z } from "zod";
import type { EnvironmentDefinition } from "../src/contract/environment.ts";
import type { Json } from "../src/contract/json.ts";
import { type MixedPart, mixedEnvironment } from "../src/core/environment/mixed-environment.ts";
import { createEnvironment, type EnvironmentRegistry, type OpenNamedPolicy } from "../src/core/environment/registry.ts";
import type { EvaluationIdentity } from "../src/evaluation/log/manifest.ts";
import { recordedEnvironment, restrictPolicies } from "./recorded-environment.ts";

/** How an evaluation of a training with several environments records them. */
const mixtureSchema = z.object({
  environments: z
    .array(
      z
        .object({ id: z.string(), weight: z.number().optional(), name: z.string().optional() })
        .catchall(z.json() as z.ZodType<Json>),
    )
    .min(1),
});

/**
 * Opens the mixture of environments that a log records. Returns undefined if the log records one environment. Each
 * environment has the restrictions of `recordedEnvironment`.
 */
export async function recordedMixture(
  { options: recorded }: EvaluationIdentity["environment"],
  { environments, open }: { readonly environments: EnvironmentRegistry; readonly open: OpenNamedPolicy },
): Promise<EnvironmentDefinition | undefined> {
  const mixture = mixtureSchema.safeParse(recorded);
  if (!mixture.success) return undefined;
  const parts: MixedPart[] = [];
  for (const { id, weight, name, ...options } of mixture.data.environments) {
    const part = await recordedEnvironment({ environment: { name: id, options } }, { set: {}, environments });
    const entry = part.environments.get(part.id);
    const environment = await createEnvironment(entry, { ...part, open: restrictPolicies(part.trusted, open) });
    parts.push({ environment, weight, name });
  }
  return mixedEnvironment(parts) as EnvironmentDefinition;
}
