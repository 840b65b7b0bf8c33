import type { Json } from "../../src/contract/json.ts";
import type { Converted, OldKey } from "./old-key.ts";

/** Converts an old model name to `model.path`, without a chat template if it is known to have none. */
export function modelSettings(value: Json): Converted {
  // The config's schema refuses the value.
  if (typeof value !== "string") return { set: { "model.path": value } };
  const path = modelPath(value);
  if (!/(^|\/)((distil)?gpt2(-medium|-large|-xl)?|starcoder2-\d+b)$/.test(path)) return { set: { "model.path": path } };
  return { set: { "model.path": path, "model.chatTemplate": "none" }, note: "a base model, without a chat template" };
}

/** Returns the path of a model with the owner that hub ids need. */
export function modelPath(value: Json): string {
  const name = String(value);
  return /^(distil)?gpt2(-medium|-large|-xl)?$/.test(name)
    ? `${name.startsWith("distil") ? "distilbert" : "openai-community"}/${name}`
    : name;
}

/** What the command line and a comment say about float16. */
export const halfPrecisionNote = "float16 trains on cuda and webgpu; a CPU refuses it: set model.precision to float32";

/** Converts the numbers of a model. The names of the keys differ between systems. */
export const precisionKey: Pick<OldKey, "idle" | "note" | "convert" | "alone"> = {
  idle: ["auto", "float32"],
  note: "float16 trains on cuda and webgpu, not on a CPU; bfloat16 becomes float32",
  convert: (value) =>
    value === "float16"
      ? { set: { "model.precision": "float16" }, note: halfPrecisionNote }
      : { lost: "training is in float32, or in float16 by model.precision" },
  alone: true,
};
