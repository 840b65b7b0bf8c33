import { readFileSync } from "node:fs";

/** The modules of exported packages, as Python with the names and types of an example. */
export type PythonTemplate =
  | "agent_rollouts"
  | "client"
  | "model_endpoint"
  | "models"
  | "pettingzoo_env"
  | "session"
  | "taskset"
  | "trl_environment";

/**
 * Returns a module with the names and types of an environment. `texts` has the text of the environment for each text of
 * the example. Throws if the module does not contain a text of the example.
 */
export function pythonModule(template: PythonTemplate, texts: Readonly<Record<string, string>> = {}): string {
  const source = readFileSync(new URL(`./templates/${template}.py`, import.meta.url), "utf8");
  const examples = Object.keys(texts);
  const missing = examples.find((example) => !source.includes(example));
  if (missing !== undefined) throw new TypeError(`The template ${template} does not contain ${missing}.`);
  if (examples.length === 0) return source;
  return source.replace(new RegExp(examples.map(escaped).join("|"), "g"), (example) => texts[example]!);
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
