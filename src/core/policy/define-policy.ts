import type { z } from "zod";
import type { EnvironmentDefinition } from "../../contract/environment.ts";
import type { Policy } from "../../contract/policy.ts";

/** What a policy is opened from, besides its options. */
export interface PolicyContext {
  /** What follows the id in its name, such as `trace.jsonl` in `replay:trace.jsonl`. Empty if nothing does. */
  readonly address: string;
  /** The name in logs, if its settings have one. */
  readonly name?: string | undefined;
  /** True if the model continues the text of its prompt without a chat template. */
  readonly completion?: boolean | undefined;
  /** The environment that it plays, for definitions with `forEnvironment`. Absent for a judge. */
  readonly environment?: Pick<EnvironmentDefinition, "spec" | "demonstrate"> | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A kind of policy that a config or a command line can name. */
export interface PolicyDefinition<Options extends z.ZodObject = z.ZodObject, Context = PolicyContext> {
  readonly id: string;
  readonly description: string;
  /** What follows the id in a name, such as `FILE` in `scripted:FILE`. Absent if the id is the whole name. */
  readonly address?: string | undefined;
  /**
   * The schema of its own keys in a policy file, all of them JSON. A name alone is enough if all are optional. Every
   * policy has the keys `name`, `sampling`, `program` and `limits` as well.
   */
  readonly options: Options;
  /** The keys of every policy that this kind does not use. They are refused. None by default. */
  readonly without?: readonly ("sampling" | "program")[];
  /** True if `open` uses the environment. Such a policy is opened for each environment. False by default. */
  readonly forEnvironment?: boolean;
  /** Opens the policy from checked options. The caller closes it. */
  open(options: z.output<Options>, context: Context): Policy | Promise<Policy>;
}

/**
 * Defines a kind of policy. Returns the definition, and infers the type of `open`'s options from their schema. A module
 * that exports it as `policy` is a model on the command line and in configs: `--model ./my-policy.ts`.
 *
 * @example
 * import { scriptedPolicy } from "lyceum";
 * import { definePolicy } from "lyceum/policies";
 * import { z } from "zod";
 * export const policy = definePolicy({
 *   id: "constant",
 *   description: "Always gives the same answer.",
 *   options: z.object({ answer: z.string().default("yes") }),
 *   open: ({ answer }) => scriptedPolicy(() => answer),
 * });
 * policy.id; // => "constant"
 */
export function definePolicy<Options extends z.ZodObject, Context = PolicyContext>(
  definition: PolicyDefinition<Options, Context>,
): PolicyDefinition<z.ZodObject, Context> {
  return definition as unknown as PolicyDefinition<z.ZodObject, Context>;
}
