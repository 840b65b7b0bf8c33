import { z } from "zod";
import type { Json } from "../../contract/json.ts";

/** Variables that every chat template gets. */
const reserved: readonly string[] = [
  "messages",
  "tools",
  "add_generation_prompt",
  "bos_token",
  "eos_token",
  "pad_token",
];

/**
 * The schema of the variables of a chat template, by name. Refuses the names that the conversation sets.
 *
 * @example
 * import { templateVariablesSchema } from "lyceum/contract";
 * templateVariablesSchema.safeParse({ messages: [] }).success; // => false
 */
export const templateVariablesSchema: z.ZodType<Readonly<Record<string, Json>>, Readonly<Record<string, Json>>> = z
  .record(
    z
      .string()
      .regex(/^[A-Za-z_]\w*$/, "a variable's name may contain letters, digits and _, and must not begin with a digit")
      .refine((name) => !reserved.includes(name), "this variable is reserved: the conversation sets it"),
    z.json(),
  )
  .refine((variables) => Object.keys(variables).length > 0, "it is empty: remove it");

/**
 * Returns a chat template with default values for variables. A later renderer, such as transformers with an exported
 * model, then renders the same texts.
 */
export function withTemplateVariables(template: string, variables: Readonly<Record<string, Json>>): string {
  const settings = Object.entries(variables).map(
    ([name, value]) => `{%- if ${name} is not defined %}{%- set ${name} = ${literal(value)} %}{%- endif %}`,
  );
  return `${settings.join("")}${template}`;
}

/** Returns a value as a Jinja literal. */
function literal(value: Json): string {
  if (value === null) return "none";
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (typeof value !== "object") return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([key, item]) => `${JSON.stringify(key)}: ${literal(item)}`)
    .join(", ")}}`;
}
