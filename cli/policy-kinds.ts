import { resolve } from "node:path";
import { z } from "zod";
import { LyceumError } from "../src/contract/errors/index.ts";
import { providerDefinition } from "../src/core/policy/ai-sdk/provider-definition.ts";
import type { PolicyDefinition } from "../src/core/policy/define-policy.ts";
import { policies } from "../src/core/policy/policies.ts";
import { createRegistry, type Registry } from "../src/core/registry.ts";
import { type EnginePolicyContext, engineDefinition } from "./engine-policy.ts";
import { importFromUser } from "./user-module.ts";

/** A kind of policy that the command line can open. */
export type PolicyKind = PolicyDefinition<z.ZodObject, EnginePolicyContext>;

/** The built-in kinds of policies. */
export const policyKinds: Registry<PolicyKind> = createRegistry<PolicyKind>("policy", [
  engineDefinition,
  ...policies.list(),
]);

/** The definition of a named policy, and what follows the id in its name. */
export interface NamedPolicy {
  readonly kind: PolicyKind;
  readonly address: string;
}

/**
 * Finds the definition of a policy by its name: `ID`, `ID:ADDRESS`, `http://HOST/v1#MODEL`, `PROVIDER:MODEL` for any
 * package `@ai-sdk/PROVIDER`, or a module that exports a policy (`./my-policy.ts`). Any other name is the folder or hub
 * id of a local model, a hub's GGUF file (`hf:owner/name/file.gguf`), or a path on a Tinker server
 * (`tinker://MODEL/weights/NAME`). With a `baseUrl`, the name is that
 * of a model on this server. Throws `config.invalid` for a prefix without an address, and if the module cannot be
 * imported or exports no policy. Throws `data.not-found` if there is no such module.
 */
export async function findPolicy({
  model: name,
  baseUrl,
}: {
  readonly model: string;
  readonly baseUrl?: unknown;
}): Promise<NamedPolicy> {
  // A prefix has at least two letters, because one letter is a drive.
  const [, prefix, rest] = /^([a-zA-Z][\w.-]+):(.*)$/.exec(name) ?? [];
  if (prefix === undefined && /\.[cm]?[jt]s$/.test(name)) return { kind: await importPolicy(name), address: "" };
  const server = policyKinds.get("openai-compatible");
  if (baseUrl !== undefined) return { kind: server, address: name };
  if (prefix === "tinker" || prefix === "hf") return { kind: engineDefinition, address: name };
  const known = policyKinds.list().find(({ id }) => id === (prefix ?? name));
  if (prefix === undefined) {
    return known?.address === undefined && known !== undefined
      ? { kind: known, address: "" }
      : { kind: engineDefinition, address: name };
  }
  if (!rest || (known !== undefined && known.address === undefined)) throw invalidName(name);
  if (prefix === "http" || prefix === "https") return { kind: server, address: name };
  return { kind: known ?? providerDefinition(prefix), address: rest };
}

async function importPolicy(path: string): Promise<PolicyKind> {
  const policy = await importFromUser({
    path: resolve(path),
    what: "policy",
    hints: {
      missing: "Give the path of the module, such as ./my-policy.ts. It is relative to the current folder.",
      lacking: "Export it: export const policy = definePolicy({ id, description, options, open }).",
    },
    find: (module) => policyOf(module.policy ?? module.default),
  });
  return { ...policy, id: path, address: undefined };
}

function policyOf(exported: unknown): PolicyDefinition | undefined {
  const { open, description, options } = (exported ?? {}) as Partial<PolicyDefinition>;
  const isPolicy = typeof open === "function" && typeof description === "string" && options instanceof z.ZodObject;
  return isPolicy ? (exported as PolicyDefinition) : undefined;
}

function invalidName(name: string): LyceumError {
  return new LyceumError({
    code: "config.invalid",
    message: `"${name}" does not name a model.`,
    hint: "Examples: openai:gpt-5-mini, http://127.0.0.1:8000/v1#model, replay:episodes.jsonl, or a model's folder.",
    data: { name },
  });
}
