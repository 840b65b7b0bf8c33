import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { LyceumError } from "../src/contract/errors/index.ts";
import type { EvalArguments } from "./eval-program.ts";

/** The output of an evaluation. */
export interface EvalOutput {
  readonly folder: string;
  /** A file that also gets the summary as JSON. */
  readonly file?: string;
}

/**
 * Returns the folder of an evaluation: the given one, the folder `FILE` for `FILE.json`, or a new folder in `runs/eval`
 * by default. Throws `config.invalid` if a run is to be resumed but not named.
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
      hint: "Give the folder of the evaluation to resume, which it printed at its end, such as --output runs/eval/math-model.",
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
