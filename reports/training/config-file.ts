import { stringify } from "yaml";
import { isJsonObject, type Json, type JsonObject } from "../../src/contract/json.ts";
import { withoutSecretValues } from "../../src/core/text/secrets.ts";

/** The name of the config in a run folder. `lyceum train --config FOLDER/config.yaml` trains the same. */
export const configFileName = "config.yaml";

/**
 * Returns the config of a run as a config file has it, without secrets: what the trainer resolved, with the keys of
 * `more` instead of its own. A key that is null in `more` is left out.
 */
export function recordedConfig(resolved: Json | undefined, more: JsonObject | undefined): JsonObject | undefined {
  if (more === undefined && !isJsonObject(resolved)) return undefined;
  const whole = { ...(isJsonObject(resolved) ? resolved : {}), ...more };
  const kept = Object.entries(whole).filter(([, value]) => value !== null);
  return withoutSecretValues(Object.fromEntries(kept)) as JsonObject;
}

/** Returns the text of a config file. */
export function configText(config: Json): string {
  return stringify(config, { lineWidth: 0, aliasDuplicateObjects: false });
}
