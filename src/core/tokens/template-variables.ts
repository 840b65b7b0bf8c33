import { z } from "zod";
import type { Json } from "../../contract/json.ts";

/** Names that a chat template is always given. */
const reserved: readonly string[] = [
  "messages",
  "tools",
  "add_generation_prompt",
  "bos_token",
  "eos_token",
  "pad_token",
];

/** Variables of a chat template, by name. */
export const templateVariablesSchema: z.ZodType<Readonly<Record<string, Json>>> = z
  .record(
    z
      .string()
      .regex(/^[A-Za-z_]\w*$/, "a variable's name has letters, digits and _, and begins with no digit")
      .refine((name) => !reserved.includes(name), "the template is given this one by the conversation"),
    z.json(),
  )
  .refine((variables) => Object.keys(variables).length > 0, "there are no variables in it: leave it out");

/**
 * A chat template in which variables have these values if they are not given, so that whoever renders it later, such as
 * transformers with an exported model, gets the same texts.
 */
export function withTemplateVariables(template: string, variables: Readonly<Record<string, Json>>): string {
  const settings = Object.entries(variables).map(
    ([name, value]) => `{%- if ${name} is not defined %}{%- set ${name} = ${literal(value)} %}{%- endif %}`,
  );
  return `${settings.join("")}${template}`;
}

/** A value as Jinja writes it. */
function literal(value: Json): string {
  if (value === null) return "none";
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (typeof value !== "object") return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([key, item]) => `${JSON.stringify(key)}: ${literal(item)}`)
    .join(", ")}}`;
}
