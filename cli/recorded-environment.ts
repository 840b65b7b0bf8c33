import { isDeepStrictEqual } from "node:util";
import { isRemoteAddress } from "../server/client/remote-address.ts";
import { LyceumError } from "../src/contract/errors/index.ts";
import type { Json } from "../src/contract/json.ts";
import type { EnvironmentRegistry, OpenNamedPolicy } from "../src/core/environment/registry.ts";
import { withoutUrlSecrets } from "../src/core/text/secrets.ts";
import type { EvaluationIdentity } from "../src/evaluation/log/manifest.ts";
import { isBuiltIn, withEnvironment } from "./load-environment.ts";

/** The environment that scores a log again. */
export interface RecordedEnvironment {
  readonly id: string;
  /** The registry that contains this environment. */
  readonly environments: EnvironmentRegistry;
  readonly options: Readonly<Record<string, Json>>;
  /** The values of options that do not come from the log: those of `set`, and defaults. */
  readonly trusted: readonly unknown[];
  /** The recorded options that this environment does not have. */
  readonly leftOut: readonly string[];
}

/**
 * Opens the environment of a log, or the one that `env` names, with the recorded options and those of `set`, which take
 * precedence. A log is untrusted data: it can only name a built-in environment, and it cannot set an option that starts
 * a program or sends a key to an address. Throws `config.invalid` for these, and the errors of `withEnvironment`.
 */
export async function recordedEnvironment(
  identity: Pick<EvaluationIdentity, "environment">,
  given: {
    readonly env?: string | undefined;
    readonly set: Readonly<Record<string, Json>>;
    readonly environments: EnvironmentRegistry;
  },
): Promise<RecordedEnvironment> {
  const { set } = given;
  const { name, options } = identity.environment;
  const id = given.env ?? name;
  if (given.env === undefined && !isBuiltIn(given.environments, id)) {
    throw new LyceumError({
      code: "config.invalid",
      message: isRemoteAddress(id)
        ? `The log names the environment on ${withoutUrlSecrets(id)}, and a log contacts no server.`
        : `The log names the environment "${id}", which is not built in, and a log loads no code.`,
      hint: "If you trust that environment, name it with --env: a file, such as ./environment.ts, a package or an address.",
      data: { environment: id },
    });
  }
  const environments = await withEnvironment(given.environments, id, { folder: process.cwd() });
  const entry = environments.get(id);
  const recorded = Object.entries(options as Readonly<Record<string, Json>>);
  const known = recorded.filter(([key]) => given.env === undefined || Object.hasOwn(entry.options.shape, key));
  const kept = Object.fromEntries(known);
  refuseOptions(kept, { set, refused: entry.neverFromLog ?? [] });
  const leftOut = recorded.flatMap(([key]) => (Object.hasOwn(kept, key) ? [] : [key]));
  const own = entry.options.safeParse(set);
  const trusted = Object.values(own.success ? own.data : set);
  return { id, environments, options: { ...kept, ...set }, trusted, leftOut };
}

/** Throws `config.invalid` for a recorded option that a log may not set, unless `set` replaces it. */
export function refuseOptions(
  recorded: Readonly<Record<string, Json>>,
  { set, refused }: { readonly set: Readonly<Record<string, Json>>; readonly refused: readonly string[] },
): void {
  const option = refused.find((key) => Object.hasOwn(recorded, key) && !Object.hasOwn(set, key));
  if (option === undefined) return;
  throw new LyceumError({
    code: "config.invalid",
    message: `The log sets the option ${option}, which starts a program or sends a key to an address.`,
    hint: `If you trust the log, repeat the option: ${again(option, recorded[option]!)}`,
    data: { option },
  });
}

/** Opens only policies among `trusted`. A policy that only a log names could load code or send a key to an address. */
export function restrictPolicies(trusted: readonly unknown[], open: OpenNamedPolicy): OpenNamedPolicy {
  return async (specification, what) => {
    if (trusted.some((value) => isDeepStrictEqual(value, specification))) return await open(specification, what);
    const option = what.split(" ")[0]!;
    throw new LyceumError({
      code: "config.invalid",
      message: `The log names the ${what}, but policies are not opened from a log.`,
      hint: `If you trust it, repeat it: ${again(option, specification as Json)}`,
      data: { option },
    });
  };
}

function again(option: string, value: Json): string {
  return `--set '${option}=${typeof value === "string" ? value : JSON.stringify(value)}'`;
}
