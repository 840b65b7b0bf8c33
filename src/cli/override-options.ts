import { type Command, Option } from "commander";

/** How the text of an option is read; each throws commander's error where it is not what it should be. */
interface Readers {
  readonly positive: (value: string) => number;
  readonly finite: (value: string) => number;
}

/**
 * Adds the options of `lyceum train` that change keys of the config: `--set`, `--override`, and the flags that CoMLRL and
 * LLM_Collaboration_with_MARL have for some keys, with dashes or underscores. All fill one list, `set`, of `key=value` in
 * the order of the command line, so that the last one wins however it is spelled.
 */
export function addOverrideOptions(command: Command, { positive, finite }: Readers): void {
  const others = "The same under other names:";
  command
    .option("-s, --set <key=value>", "change a key of the config, such as training.steps=100; repeatable", append, [])
    .addOption(
      new OverrideOption("--override <key=value...>", "--set, with as many changes as follow", append).helpGroup(
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
        turnWeightsReader(finite),
      ).helpGroup(others),
    )
    .addOption(
      new Option("--num_epochs, --num-epochs <n>", "training.epochs, instead of training.steps")
        .argParser(positive)
        .helpGroup(others),
    );
}

/** An option whose values join the list that `--set` fills. */
class OverrideOption extends Option {
  constructor(flags: string, description: string, add: (value: string, set: string[]) => string[]) {
    super(flags, description);
    this.argParser(add);
  }

  override attributeName(): string {
    return "set";
  }
}

function append(value: string, set: readonly string[]): string[] {
  return [...set, value];
}

/** Adds turn weights, which come one by one: each that follows another joins its list. */
function turnWeightsReader(readNumber: (value: string) => number): (value: string, set: string[]) => string[] {
  const weightsAtEnd = new WeakMap<readonly string[], readonly number[]>();
  return (value, set) => {
    const before = weightsAtEnd.get(set);
    const weights = [...(before ?? []), readNumber(value)];
    const added = append(
      `algorithm.turnWeights=${JSON.stringify(weights)}`,
      before === undefined ? set : set.slice(0, -1),
    );
    weightsAtEnd.set(added, weights);
    return added;
  };
}
