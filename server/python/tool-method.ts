import { isJsonObject, type Json } from "../../src/contract/json.ts";
import type { ToolSpec } from "../../src/contract/message.ts";
import { identifiers } from "./python-names.ts";
import { docText, pythonLiteral, wrapped } from "./python-text.ts";
import { pythonType } from "./python-type.ts";

interface Parameter {
  readonly name: string;
  readonly key: string;
  readonly type: string;
  readonly description: string;
  /** The literal of its default. Undefined if the argument is required. */
  readonly fallback: string | undefined;
}

/** Returns the method of a class that calls a tool: typed, with a docstring from its schema. */
export function toolMethod(tool: ToolSpec, name: string): string {
  const parameters = parametersOf(tool.parameters);
  const hints = parameters.map(({ name, type, fallback }) => {
    const optional = fallback === "None" && type !== "Any" && !type.split(" | ").includes("None");
    return `${name}: ${type}${optional ? " | None" : ""}${fallback === undefined ? "" : ` = ${fallback}`}`;
  });
  const description = docText(tool.description) || `Calls ${docText(tool.name)}.`;
  const section = parameters.map((one) => {
    return `            ${wrapped(`${one.name}: ${one.description}`, { indent: "                " })}\n`;
  });
  const pairs = (required: boolean): string => {
    const shown = parameters.filter(({ fallback }) => (fallback === undefined) === required);
    return `{${shown.map(({ key, name }) => `${JSON.stringify(key)}: ${name}`).join(", ")}}`;
  };
  return [
    signature(name, hints),
    `        """${wrapped(description, { indent: "        " })}\n`,
    ...(section.length === 0 ? [] : [`\n        Args:\n${section.join("")}`]),
    `        """\n`,
    `        return self._call(${JSON.stringify(tool.name)}, ${pairs(true)}, ${pairs(false)})\n`,
  ].join("");
}

function signature(name: string, hints: readonly string[]): string {
  const line = `    def ${name}(${["self", ...hints].join(", ")}) -> str:\n`;
  if (line.length <= 97) return line;
  const lines = ["self", ...hints].map((hint) => `        ${hint},\n`);
  return `    def ${name}(\n${lines.join("")}    ) -> str:\n`;
}

/** Returns the parameters of a method, the required ones first. */
function parametersOf(schema: Json): readonly Parameter[] {
  const properties = isJsonObject(schema) && isJsonObject(schema.properties) ? schema.properties : {};
  const required = isJsonObject(schema) && Array.isArray(schema.required) ? (schema.required as readonly Json[]) : [];
  const keys = Object.keys(properties);
  const names = identifiers(keys, ["self"]);
  const all = keys.map((key, place): Parameter => {
    const property = properties[key]!;
    const description = isJsonObject(property) && typeof property.description === "string" ? property.description : "";
    return {
      name: names[place]!,
      key,
      type: pythonType(property, schema),
      description: docText(description) || `The argument ${docText(key) || "of this name"}.`,
      fallback: required.includes(key) ? undefined : fallbackOf(property),
    };
  });
  return [...all.filter((one) => one.fallback === undefined), ...all.filter((one) => one.fallback !== undefined)];
}

function fallbackOf(property: Json): string {
  const value = isJsonObject(property) ? property.default : undefined;
  // A default of Python lives as long as the function, so it must not be mutable.
  return value === undefined || (typeof value === "object" && value !== null) ? "None" : pythonLiteral(value);
}
