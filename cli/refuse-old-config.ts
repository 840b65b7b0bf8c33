import { LyceumError } from "../src/contract/errors/index.ts";
import type { Json } from "../src/contract/json.ts";
import { excessOf } from "../src/core/config/yaml-source.ts";
import { detectSystem } from "./migrate/detect-system.ts";
import { systemNames } from "./migrate/old-config.ts";
import { parseOldYaml } from "./migrate/parse-old-yaml.ts";

/** Throws `config.invalid` for a config of MRLM or LLM_Collab, with the command that converts it. */
export function refuseOldConfig(options: {
  /** The text as plain data. Undefined if it is not valid in a config of Lyceum. */
  readonly parsed: Json | undefined;
  readonly text: string;
  readonly path: string;
}): void {
  const { parsed, text, path } = options;
  const system = detectSystem(parsed ?? readLeniently(text, path));
  if (system === undefined) return;
  const to = `${path.replace(/\.ya?ml$/, "")}-lyceum.yaml`;
  throw new LyceumError({
    code: "config.invalid",
    message: `${path} is a config of ${systemNames[system]}.`,
    hint: `Convert it first: lyceum migrate ${path} --output ${to}. Then train with the new file. The other options stay the same.`,
    data: { path, system },
  });
}

/** Returns undefined for text that is not YAML or too large, because other code reports that. */
function readLeniently(text: string, path: string): Json | undefined {
  if (excessOf(text) !== undefined) return undefined;
  try {
    return parseOldYaml(text, path);
  } catch {
    return undefined;
  }
}
