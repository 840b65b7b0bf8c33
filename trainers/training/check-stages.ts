import { invalidConfig } from "../../src/contract/errors/index.ts";
import type { ModelConfig } from "../config/model-config.ts";
import type { TrainingConfig } from "../config/training-config.ts";

/** Throws `config.invalid` if stages have unusable names, or if one after the first names a model of its own. */
export function checkStages(
  stages: readonly { readonly name: string; readonly config: Pick<TrainingConfig, "model"> }[],
): void {
  if (stages.length === 0) throw invalidConfig("There are no stages.", "List at least one stage.");
  for (const [place, { name, config }] of stages.entries()) {
    if (!/^\w[\w.-]*$/.test(name)) {
      throw invalidConfig(
        `"${name}" cannot be the name of a stage.`,
        "The name is also a folder: use letters, digits, -, _ and dots.",
      );
    }
    if (stages.findIndex((other) => other.name === name) < place) {
      throw invalidConfig(`Two stages have the name "${name}".`, "Give each stage its own name.");
    }
    if (modelSource(config.model) !== modelSource(stages[0]!.config.model)) {
      throw invalidConfig(
        `The stage "${name}" names its own model, but it starts from the weights of "${stages[place - 1]!.name}".`,
        "Remove model.path, model.revision and model.scratch from all stages except the first.",
      );
    }
  }
}

function modelSource({ path, scratch, revision }: ModelConfig): string {
  return JSON.stringify([path, scratch, revision]);
}
