import type { Policy } from "../src/contract/policy.ts";
import { withSampling } from "../src/core/policy/with-sampling.ts";
import type { OpenPolicy } from "../trainers/models/open-policy.ts";
import type { EnginePolicyContext } from "./engine-policy.ts";
import { loadProgram } from "./load-program.ts";
import { findPolicy } from "./policy-kinds.ts";
import { type PolicySettings, readPolicySettings } from "./policy-settings.ts";

/** The options of {@link openNamedPolicy}. */
export type NamedPolicyOptions = Omit<EnginePolicyContext, "address" | "name">;

/**
 * Opens the policy that a name or a policy file on the command line describes. See `findPolicy` for the names. A
 * `PolicyOpener` opens policy files with a model for each agent. Optional parts (the engine, a provider's package) are
 * loaded only if the name needs them. Dispose of the policy after use. Throws `config.invalid` for an invalid name, or
 * if its package is not installed.
 */
export async function openNamedPolicy(
  given: string | PolicySettings,
  options: NamedPolicyOptions,
): Promise<OpenPolicy> {
  const settings = typeof given === "string" ? await readPolicySettings(given) : given;
  const { model: _, agents: __, limits: ___, name, sampling, program, ...own } = settings;
  const { kind, address } = await findPolicy(settings);
  await using resources = new AsyncDisposableStack();
  const close = async (policy: Policy): Promise<void> => policy.close?.();
  const model = resources.adopt(await kind.open(own, { ...options, address, name }), close);
  const sampled = sampling === undefined ? model : withSampling(model, sampling);
  const policy =
    program === undefined ? sampled : resources.adopt(await (await loadProgram(program)).open(sampled), close);
  const owner = resources.move();
  return { policy, [Symbol.asyncDispose]: () => owner.disposeAsync() };
}
