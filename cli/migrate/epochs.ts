import type { Json } from "../../src/contract/json.ts";
import type { Converted } from "./old-key.ts";

/** Converts passes over the tasks to `training.epochs`. */
export function epochs(value: Json): Converted {
  const isCount = typeof value === "number" && Number.isSafeInteger(value) && value > 0;
  return isCount
    ? { set: { "training.epochs": value } }
    : { lost: "the number of passes must be a whole number above 0" };
}
