import { parseDocument } from "yaml";
import { LyceumError } from "../../contract/errors/index.ts";
import { isJsonObject, type Json } from "../../contract/json.ts";

const maximumDepth = 64;

/**
 * The value of an old config's text, as Python's reader takes it: of a key that is given twice, the last counts, and
 * `<<: *name` merges. Tags such as `!!python/tuple` are passed over. Throws `config.invalid` for what is no YAML, and
 * for a value that contains itself or is nested more than 64 deep. `name` is what errors call the text.
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
    throw invalid(`${name} holds several documents, separated by "---".`, "Give each a file of its own.");
  }
  if (problem !== undefined) throw noYaml(name, problem);
  let value: Json;
  try {
    value = (document.toJS() ?? null) as Json;
  } catch (error) {
    // A text of many aliases that grow into one another.
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
  return invalid(`${name} is no YAML: ${message}.`, "Give the config file itself, in one piece.", problem);
}

function invalid(message: string, hint: string, cause?: unknown): LyceumError {
  return new LyceumError({ code: "config.invalid", message, hint, ...(cause === undefined ? {} : { cause }) });
}
