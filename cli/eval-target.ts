import type { Benchmark } from "../environments/shared/benchmarks/index.ts";
import type { EnvironmentDefinition } from "../src/contract/environment.ts";
import { LyceumError, toErrorData, unknownNameError } from "../src/contract/errors/index.ts";
import { parseOverride } from "../src/core/config/config-override.ts";
import type { OpenNamedPolicy } from "../src/core/environment/registry.ts";
import type { EvaluateOptions } from "../src/evaluation/evaluate-options.ts";
import type { Catalog } from "./catalog.ts";
import type { EvalArguments } from "./eval-program.ts";
import { environmentOf, noJudge, setOptions } from "./named-environment.ts";

/** An environment to evaluate, and how a benchmark measures it. */
export type EvalTarget = Pick<
  EvaluateOptions,
  "name" | "environmentName" | "environmentOptions" | "split" | "correct" | "prompt"
> & {
  readonly environment: EnvironmentDefinition;
  readonly maxTokens: number;
  readonly stop?: readonly string[];
  /** True if the opponent always plays the same agent. */
  readonly fixedAgents?: boolean;
};

/** A name, and a function that opens it. Benchmarks are opened one after the other. */
export interface NamedTarget {
  readonly name: string;
  /** Opens the target. `openPolicy` opens the policies that options of the environment name. */
  open(options: { readonly openPolicy: OpenNamedPolicy; readonly signal: AbortSignal }): Promise<EvalTarget>;
}

/** Returns the targets that a command line names. Throws `config.invalid` and `config.unknown-name`. */
export async function evalTargets(
  args: Pick<EvalArguments, "benchmarks" | "env" | "set" | "judge" | "format" | "shots">,
  catalog: Pick<Catalog, "environments" | "benchmarks">,
): Promise<NamedTarget[]> {
  const { benchmarks: names, env, set, judge } = args;
  if ((names.length === 0) === (env === undefined)) {
    throw invalid(
      env === undefined ? "There is nothing to evaluate." : "Benchmarks and --env exclude each other.",
      `Name benchmarks (${catalog.benchmarks.map(({ id }) => id).join(", ")}), or an environment with --env.`,
    );
  }
  if (env !== undefined) return [environmentTarget(env, args, { ...catalog, options: setOptions(set) })];
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice !== undefined)
    throw invalid(`The benchmark "${twice}" is named twice.`, "Use --samples for several samples.");
  const benchmarks = names.map((name) => {
    const benchmark = catalog.benchmarks.find(({ id }) => id === name);
    if (benchmark === undefined) throw unknownBenchmark(name, catalog);
    return benchmark;
  });
  if (judge !== undefined && !benchmarks.some(({ isJudged }) => isJudged)) throw noJudge(names.join(", "), judge);
  return benchmarks.map((benchmark) => {
    const options = setOptions(optionsOf(benchmark.id, set, names));
    const all = judge === undefined || benchmark.isJudged !== true ? options : { ...options, judge };
    return benchmarkTarget(benchmark, args, all);
  });
}

/** The error for an unknown benchmark. The name of a file or of an environment needs `--env`. */
function unknownBenchmark(
  name: string,
  { environments, benchmarks }: Pick<Catalog, "environments" | "benchmarks">,
): LyceumError {
  if (/[./\\]/.test(name) || environments.list().some(({ id }) => id === name)) {
    return invalid(`"${name}" is not a benchmark.`, `To evaluate an environment, write --env ${name}.`);
  }
  const error = unknownNameError({
    kind: "benchmark",
    name,
    known: benchmarks.map(({ id }) => id),
  });
  const hint = `${error.hint} To evaluate the environment of a package, write --env ${name}.`;
  return new LyceumError({ ...toErrorData(error), hint });
}

/** Returns an environment as target, by its name, file or package. */
export function environmentTarget(
  id: string,
  { format, shots, judge }: Pick<EvalArguments, "format" | "shots" | "judge">,
  { environments, options }: Pick<Catalog, "environments"> & { readonly options: ReturnType<typeof setOptions> },
): NamedTarget {
  if (format !== undefined || shots !== undefined) {
    throw invalid("--format and --shots are only for benchmarks.", "An environment has its own prompts.");
  }
  return {
    name: id,
    open: async ({ openPolicy: open }) => {
      const environment = await environmentOf({ id, options, judge, environments, open });
      const environmentOptions = { ...options, ...(judge === undefined ? {} : { judge }) };
      return { environment, environmentName: id, environmentOptions, maxTokens: 512 };
    },
  };
}

/** Returns a benchmark as target, in one of its formats. Throws `config.invalid` for an unknown format. */
export function benchmarkTarget(
  benchmark: Benchmark,
  args: Pick<EvalArguments, "format" | "shots">,
  set: ReturnType<typeof setOptions>,
): NamedTarget {
  const { id: name, formats, split, maxTokens, correct } = benchmark;
  const format = args.format ?? "chat";
  const published = formats[format];
  if (published === undefined) {
    throw invalid(`The benchmark "${name}" has no format "${format}".`, `It has: ${Object.keys(formats).join(", ")}.`);
  }
  const { shots: own, anyShots = false, stop } = published;
  const shots = args.shots ?? own;
  if (shots !== own && !anyShots) {
    throw invalid(`The format "${format}" of "${name}" has ${own} worked examples.`, "Leave --shots out.");
  }
  return {
    name,
    open: async (opening) => ({
      name,
      environment: await benchmark.open({ set, format, shots, ...opening }),
      environmentOptions: set,
      split,
      maxTokens,
      prompt: { format, shots },
      correct,
      stop,
      ...(benchmark.roles === "fixed" ? { fixedAgents: true } : {}),
    }),
  };
}

/** Returns the options for one benchmark: those for all benchmarks, and those with its name. */
function optionsOf(name: string, set: readonly string[], names: readonly string[]): string[] {
  return set.flatMap((text) => {
    const parsed = parseOverride(text);
    const [first, ...rest] = "override" in parsed ? parsed.override.path : [];
    if (first === undefined || rest.length === 0 || !names.includes(first)) return text;
    return first === name ? text.slice(text.indexOf(".") + 1) : [];
  });
}

function invalid(message: string, hint: string): LyceumError {
  return new LyceumError({ code: "config.invalid", message, hint });
}
