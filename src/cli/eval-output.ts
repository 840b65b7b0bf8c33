import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { LyceumError } from "../contract/errors/index.ts";
import type { EvalArguments } from "./eval-program.ts";

/** Where an evaluation is kept. */
export interface EvalOutput {
  readonly folder: string;
  /** A file that gets the summary as JSON too. */
  readonly file?: string;
}

/**
 * The folder of an evaluation: the one that is named; of `FILE.json` the folder `FILE` beside it; and without one a new
 * folder in `runs/eval`. Throws `config.invalid` for going on with a run that is not named.
 */
export function evalOutput(
  args: Pick<EvalArguments, "output" | "resume" | "retryFailed" | "benchmarks" | "env" | "model">,
): EvalOutput {
  const { output, env, benchmarks, model } = args;
  if (output !== undefined) {
    return /.\.json$/i.test(output) ? { folder: output.slice(0, -".json".length), file: output } : { folder: output };
  }
  if (args.resume || args.retryFailed) {
    throw new LyceumError({
      code: "config.invalid",
      message: `${args.resume ? "--resume" : "--retry-failed"} needs --output.`,
      hint: "Name the folder of the evaluation to go on with, which it printed at its end, such as --output runs/eval/math-model.",
    });
  }
  const words = [...(env === undefined ? benchmarks : [env]), ...model].map((name) =>
    basename(name)
      .replaceAll(/[^\w.]+/g, "-")
      .replaceAll(/^[-.]+|[-.]+$/g, ""),
  );
  const first = join("runs", "eval", words.join("-"));
  let folder = first;
  for (let number = 2; existsSync(folder); number++) folder = `${first}-${number}`;
  return { folder };
}
