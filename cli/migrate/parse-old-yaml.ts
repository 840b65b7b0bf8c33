import { parseDocument } from "yaml";
import { LyceumError } from "../../src/contract/errors/index.ts";
import { isJsonObject, type Json } from "../../src/contract/json.ts";

const maximumDepth = 64;

/**
 * Parses the text of an old config like Python's reader: the last of duplicate keys wins, and `<<: *name` merges. Tags
 * such as `!!python/tuple` are ignored. Throws `config.invalid` if the text is not YAML, or if a value contains itself
 * or is nested more than 64 levels deep. `name` is the name of the text in errors.
 */
export function parseOldYaml(text: string, name: string): Json {
  const document = parseDocument(text, {
    uniqueKeys: false,
    merge: true,
    resolveKnownTags: false,
    prettyErrors: false,
    logLevel: "error",
  });
  const [problem] = document.errors;
  if (problem?.code === "MULTIPLE_DOCS") {
    throw invalid(`${name} contains several documents, separated by "---".`, "Put each into its own file.");
  }
  if (problem !== undefined) throw noYaml(name, problem);
  let value: Json;
  try {
    value = (document.toJS() ?? null) as Json;
  } catch (error) {
    // A text with many aliases that expand each other.
    throw noYaml(name, error);
  }
  if (isTooDeep(value, 0)) {
    throw invalid(
      `${name} has a value that contains itself, or is nested more than ${maximumDepth} deep.`,
      "Write the values out, without anchors (&name) and aliases (*name).",
    );
  }
  return value;
}

function isTooDeep(value: Json, depth: number): boolean {
  if (depth > maximumDepth) return true;
  const parts = Array.isArray(value) ? value : isJsonObject(value) ? Object.values(value) : [];
  return parts.some((part) => isTooDeep(part, depth + 1));
}

function noYaml(name: string, problem: unknown): LyceumError {
  const said = problem instanceof Error ? problem.message.split("\n")[0]! : String(problem);
  const message = /call stack/i.test(said) ? "lists or mappings are nested too deep" : said.replace(/\.$/, "");
  return invalid(`${name} is not YAML: ${message}.`, "Pass the complete config file.", problem);
}

function invalid(message: string, hint: string, cause?: unknown): LyceumError {
  return new LyceumError({ code: "config.invalid", message, hint, cause });
}
