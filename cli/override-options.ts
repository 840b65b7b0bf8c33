import { type Command, Option } from "commander";
import { append, finite, positive } from "./option-values.ts";

/**
 * Adds the options of `lyceum train` that change keys of the config: `--set`, `--backend`, `--backend-url`, `--judge`, `--override`, and the flags of CoMLRL and
 * LLM_Collaboration_with_MARL, with dashes or underscores. All add to one list, `set`, of `key=value` in the order of
 * the command line. The last one wins.
 */
export function addOverrideOptions(command: Command): void {
  const others = "Aliases:";
  command
    .option("-s, --set <key=value>", "change a key of the config, such as training.steps=100; repeatable", append, [])
    .addOption(
      new OverrideOption(
        "--backend <type>",
        "backend.type: onnx (embedded), torch (PyTorch) or tinker (a server)",
        (value, set) => append(`backend.type=${JSON.stringify(value)}`, set),
      ),
    )
    .addOption(
      new OverrideOption("--backend-url <url>", "backend.url: the address of a Tinker server", (value, set) =>
        append(`backend.url=${JSON.stringify(value)}`, set),
      ),
    )
    .addOption(
      new OverrideOption("--judge <model>", "environment.judge: the model that judges", (value, set) =>
        append(`environment.judge=${JSON.stringify(value)}`, set),
      ),
    )
    .addOption(
      new OverrideOption("--override <key=value...>", "like --set, with any number of changes", append).helpGroup(
        others,
      ),
    )
    .addOption(
      new OverrideOption("--model_name, --model-name <path>", "model.path", (value, set) =>
        append(`model.path=${JSON.stringify(value)}`, set),
      ).helpGroup(others),
    )
    .addOption(
      new OverrideOption("--num_turns, --num-turns <n>", "environment.maxTurns", (value, set) =>
        append(`environment.maxTurns=${positive(value)}`, set),
      ).helpGroup(others),
    )
    .addOption(
      new OverrideOption(
        "--turn_gradient_weights, --turn-gradient-weights <x...>",
        "algorithm.turnWeights, such as 1.2 0.8",
        turnWeightsReader(),
      ).helpGroup(others),
    )
    .addOption(
      new Option("--num_epochs, --num-epochs <n>", "training.epochs, instead of training.steps")
        .argParser(positive)
        .helpGroup(others),
    );
}

/** An option that adds its values to the list of `--set`. */
class OverrideOption extends Option {
  constructor(flags: string, description: string, add: (value: string, set: string[]) => string[]) {
    super(flags, description);
    this.argParser(add);
  }

  override attributeName(): string {
    return "set";
  }
}

/** Adds turn weights, which are parsed one by one. A weight that follows another is added to the same list. */
function turnWeightsReader(): (value: string, set: string[]) => string[] {
  const weightsAtEnd = new WeakMap<readonly string[], readonly number[]>();
  return (value, set) => {
    const before = weightsAtEnd.get(set);
    const weights = [...(before ?? []), finite(value)];
    const added = append(
      `algorithm.turnWeights=${JSON.stringify(weights)}`,
      before === undefined ? set : set.slice(0, -1),
    );
    weightsAtEnd.set(added, weights);
    return added;
  };
}
