import { createRequire } from "node:module";
import { join } from "node:path";
import { LyceumError } from "../contract/errors/index.ts";
import { unknownNameError } from "../contract/errors/unknown-name.ts";
import { configReference } from "../core/config/index.ts";
import type { EnvironmentRegistry } from "../core/environment/registry.ts";
import { knownProviders } from "../core/policy/ai-sdk/provider-model.ts";
import { providerKeyVariables } from "../core/policy/provider-key.ts";
import type { Catalog } from "./catalog.ts";
import { algorithmReference, environmentReference, type NamedReference } from "./info.ts";
import { withEnvironment } from "./load-environment.ts";
import { providerOptionsSchema } from "./policy-file-schema.ts";

/** An environment, an algorithm or a provider, as `lyceum info NAME` shows it. */
export interface NamedInfo extends NamedReference {
  readonly kind: "environment" | "algorithm" | "provider";
  /** A command line that uses it. */
  readonly example: string;
}

/**
 * Returns the description of a provider, an algorithm or an environment. The environment can also be a file or a
 * package in the current folder. Throws `config.unknown-name` with the nearest known name, and the errors of {@link
 * withEnvironment}.
 */
export async function namedInfo(
  name: string,
  catalog: Pick<Catalog, "environments" | "algorithms">,
): Promise<NamedInfo> {
  if (knownProviders.includes(name)) return providerInfo(name);
  const algorithm = catalog.algorithms.find(({ id }) => id === name);
  if (algorithm !== undefined) {
    const example = `lyceum train --set algorithm.id=${name}`;
    return { kind: "algorithm", ...algorithmReference(algorithm), example };
  }
  const entry = (await environmentsWith(name, catalog.environments)).list().find(({ id }) => id === name);
  if (entry !== undefined) {
    return { kind: "environment", ...environmentReference(entry), example: `lyceum play ${name}` };
  }
  const named = [...catalog.environments.list(), ...catalog.algorithms].map(({ id }) => id);
  throw unknownNameError({ kind: "environment, algorithm or provider", name, known: [...named, ...knownProviders] });
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

function providerInfo(name: string): NamedInfo {
  const packageName = `@ai-sdk/${name}`;
  const installed = isInstalled(packageName) ? "which is installed" : `which npm install ${packageName} installs`;
  const [usual, ...others] = providerKeyVariables(name);
  const key =
    usual === undefined
      ? "Its package reads the key from a variable of its own."
      : `It reads its key from ${[usual, ...others].join(" or ")}, which ${process.env[usual] ? "is" : "is not"} set.`;
  return {
    kind: "provider",
    id: name,
    description: `Models named ${name}:MODEL, called through the package ${packageName}, ${installed}. ${key}`,
    keys: configReference(providerOptionsSchema),
    example: `lyceum eval gsm8k --limit 20 --model ${name}:MODEL`,
  };
}

function isInstalled(packageName: string): boolean {
  try {
    createRequire(join(process.cwd(), "importer.js")).resolve(packageName);
    return true;
  } catch {
    return false;
  }
}
