import { LyceumError } from "../src/contract/errors/index.ts";
import { unknownNameError } from "../src/contract/errors/unknown-name.ts";
import type { EnvironmentRegistry } from "../src/core/environment/registry.ts";
import type { Catalog } from "./catalog.ts";
import { algorithmReference, environmentReference, type NamedReference, policyReference } from "./info.ts";
import { withEnvironment } from "./load-environment.ts";
import { policyKinds } from "./policy-kinds.ts";

/** An environment, an algorithm or a policy, as `lyceum info NAME` shows it. */
export interface NamedInfo extends NamedReference {
  readonly kind: "environment" | "algorithm" | "policy";
  /** A command line that uses it. */
  readonly example: string;
}

/**
 * Returns the description of a policy, an algorithm or an environment. The environment can also be a file or a package
 * in the current folder. Throws `config.unknown-name` with the nearest known name, and the errors of {@link
 * withEnvironment}.
 */
export async function namedInfo(
  name: string,
  catalog: Pick<Catalog, "environments" | "algorithms">,
): Promise<NamedInfo> {
  const policy = policyKinds.list().find(({ id }) => id === name);
  if (policy !== undefined) {
    const reference = policyReference(policy);
    return { kind: "policy", ...reference, example: `lyceum eval gsm8k --limit 20 --model ${reference.usage}` };
  }
  const algorithm = catalog.algorithms.find(({ id }) => id === name);
  if (algorithm !== undefined) {
    const example = `lyceum train --set algorithm.id=${name}`;
    return { kind: "algorithm", ...algorithmReference(algorithm), example };
  }
  const entry = (await environmentsWith(name, catalog.environments)).list().find(({ id }) => id === name);
  if (entry !== undefined) {
    return { kind: "environment", ...environmentReference(entry), example: `lyceum play ${name}` };
  }
  const named = [...catalog.environments.list(), ...catalog.algorithms, ...policyKinds.list()];
  throw unknownNameError({ kind: "environment, algorithm or policy", name, known: named.map(({ id }) => id) });
}

/** Returns the environments, with the one from a file or a package if the name is one. */
async function environmentsWith(name: string, environments: EnvironmentRegistry): Promise<EnvironmentRegistry> {
  try {
    return await withEnvironment(environments, name, { folder: process.cwd() });
  } catch (error) {
    if (error instanceof LyceumError && error.code === "config.unknown-name") return environments;
    throw error;
  }
}
