import type { Json } from "../json.ts";
import type { Converted } from "./old-key.ts";

/** Passes over tasks that are only counted once the data is read, as `lyceum train` is given them. */
export function epochsFlag(value: Json): Converted {
  const isCount = typeof value === "number" && Number.isSafeInteger(value) && value > 0;
  return isCount ? { flag: `--num_epochs ${value}` } : { lost: "passes are a whole number above 0" };
}
