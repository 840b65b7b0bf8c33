import { join } from "node:path";
import { fromErrorData, LyceumError } from "../src/contract/errors/index.ts";
import { replaceFile } from "../src/core/files/replace-file.ts";
import { withJudge } from "../src/core/judge/with-judge.ts";
import { visibleLine } from "../src/core/text/visible-text.ts";
import { evaluate } from "../src/evaluation/evaluate.ts";
import type { EvaluateOptions } from "../src/evaluation/evaluate-options.ts";
import type { EvaluationSummary } from "../src/evaluation/log/summary.ts";
import { type Ratings, rateRuns } from "../src/evaluation/ratings/rate-runs.ts";
import { namedEngine } from "./catalog.ts";
import type { CommandContext } from "./command-context.ts";
import { completeGroups } from "./complete-groups.ts";
import { evalOutput } from "./eval-output.ts";
import { readPlayers } from "./eval-players.ts";
import type { EvalArguments } from "./eval-program.ts";
import { type EvalTarget, evalTargets } from "./eval-target.ts";
import { evalText } from "./eval-text.ts";
import { checkThresholds, parseThresholds } from "./eval-thresholds.ts";
import { showEvaluation } from "./eval-view.ts";
import { type FirstFailure, firstFailure } from "./first-failure.ts";
import { createPolicyOpener } from "./policy-opener.ts";
import { ratingsText } from "./ratings-text.ts";
import { limitsOf, samplingOf } from "./sampling-options.ts";
import { softwareVersions } from "./software-versions.ts";

/**
 * Runs `lyceum eval`: plays the tasks of benchmarks or of an environment, stores every episode and prints the results.
 * Throws `evaluation.threshold` if a threshold is missed, and `aborted` after the signal, with the command to resume as
 * hint. Throws the first episode's error if every episode of a run failed.
 */
export async function evalCommand(args: EvalArguments, options: Omit<CommandContext, "environment">): Promise<void> {
  const { catalog, output, signal } = options;
  const thresholds = [...parseThresholds(args.min, "min"), ...parseThresholds(args.max, "max")];
  const kept = evalOutput(args);
  const targets = await evalTargets(args, catalog);
  await using opener = createPolicyOpener({ catalog, engine: namedEngine(args), signal });
  const players = await readPlayers(args, opener);
  const limits = limitsOf(args, players.limits);
  const note = temperatureNote(args);
  if (note !== undefined && !args.json) output.write(`${visibleLine(note)}\n`);
  const finished: FinishedRun[] = [];
  const printed: unknown[] = [];
  for (const [place, { name, open }] of targets.entries()) {
    const outer = targets.length === 1 ? kept.folder : join(kept.folder, name);
    const target = limited(await open({ signal, openPolicy: opener.open }), args);
    const runs: FinishedRun[] = [];
    const matchups = await players.matchups(target);
    // A later target may be the first one with a judge.
    if (args.judge === undefined || place === targets.length - 1) opener.checkEngineOptions(args);
    for (const { folder: inner, ...matchup } of matchups) {
      const folder = inner === undefined ? outer : join(outer, inner);
      const events = evaluate({ ...evaluateOptions(args, { target, folder, limits }), ...matchup, signal });
      const summary = await showEvaluation(events, args.json ? undefined : output).catch((error: unknown) => {
        throw signal.aborted ? interrupted(folder) : error;
      });
      if (summary === undefined) continue;
      const failure = summary.counts.unscored + summary.counts.failed === 0 ? undefined : await firstFailure(folder);
      runs.push({ folder, summary, failure });
      if (!args.json) output.write(evalText(summary, folder, failure));
    }
    finished.push(...runs);
    printed.push(
      ...runs.map(({ folder, failure, summary: { tasks: _, ...summary } }) => ({
        folder,
        ...summary,
        ...(failure === undefined ? {} : { firstFailure: { ...failure, error: undefined } }),
      })),
    );
    if (args.opponent.length < 2) continue;
    const ratings = await writeRatings(outer, runs);
    printed.push({ folder: outer, ...ratings });
    if (!args.json) output.write(ratingsText(ratings, outer));
  }
  const json = `${JSON.stringify(printed, undefined, 2)}\n`;
  if (kept.file !== undefined) await replaceFile(kept.file, json);
  if (args.json) output.write(json);
  for (const run of finished) refuseFailed(run);
  for (const { summary } of finished) checkThresholds(summary, thresholds);
}

/** Limits the requests to the judge. Throws `config.invalid` if there is none. */
function limited(target: EvalTarget, { judgeRequests }: EvalArguments): EvalTarget {
  if (judgeRequests === undefined) return target;
  return { ...target, environment: withJudge(target.environment, { maxRequests: judgeRequests }) };
}

/** A finished run. */
interface FinishedRun {
  readonly folder: string;
  readonly summary: EvaluationSummary;
  readonly failure: FirstFailure | undefined;
}

/** Computes the ratings of a tournament's players and writes them next to the runs. */
async function writeRatings(folder: string, runs: readonly FinishedRun[]): Promise<Ratings> {
  const ratings = await rateRuns(runs.map((run) => run.folder));
  await replaceFile(join(folder, "ratings.json"), `${JSON.stringify(ratings, undefined, 2)}\n`);
  return ratings;
}

function evaluateOptions(
  args: EvalArguments,
  {
    target,
    folder,
    limits,
  }: {
    readonly target: EvalTarget;
    readonly folder: string;
    readonly limits: ReturnType<typeof limitsOf>;
  },
): Omit<EvaluateOptions, "policies" | "models"> {
  const { maxTokens, stop, fixedAgents = false, ...measured } = target;
  // By default each player plays each position once.
  const samples = args.samples ?? (args.opponent.length === 0 || fixedAgents ? 1 : 2);
  const split = args.split ?? target.split;
  const counts = [
    args.limit,
    args.numEpisodes === undefined
      ? undefined
      : completeGroups(args.numEpisodes, { size: samples, options: ["--num-episodes", "--samples"] }),
  ];
  const limit = Math.min(...counts.map((count) => count ?? Number.POSITIVE_INFINITY));
  const { seed, concurrency, price, judgePrice, k } = args;
  const stops = [...(stop ?? []), ...(args.stop ?? [])];
  return {
    ...measured,
    ...(split === undefined ? {} : { split }),
    ...(Number.isFinite(limit) ? { limit } : {}),
    samples,
    k,
    seed,
    sampling: {
      temperature: temperatureOf(args),
      maxTokens: args.maxTokens ?? maxTokens,
      ...samplingOf(args),
      ...(stops.length === 0 ? {} : { stop: stops }),
    },
    limits,
    concurrency,
    price,
    judgePrice,
    software: softwareVersions(),
    folder,
    existing: args.retryFailed ? "retry-failed" : args.resume ? "resume" : "refuse",
  };
}

/**
 * Returns the temperature: 0, or 1 if each task is played several times, because equal answers give no further
 * information.
 */
function temperatureOf({ temperature, samples = 1 }: Pick<EvalArguments, "temperature" | "samples">): number {
  return temperature ?? (samples > 1 ? 1 : 0);
}

/** Returns a note about the temperature if each task is played several times, if there is one. */
function temperatureNote({
  temperature,
  samples = 1,
}: Pick<EvalArguments, "temperature" | "samples">): string | undefined {
  if (samples <= 1) return undefined;
  if (temperature === undefined) return `temperature 1, because each task is played ${samples} times (--temperature)`;
  if (temperature > 0) return undefined;
  return `warning: at temperature 0 the ${samples} answers to a task are the same, unless the environment, the server or the model's own settings make them differ; set --temperature above 0`;
}

function interrupted(folder: string): LyceumError {
  return new LyceumError({
    code: "aborted",
    message: "Interrupted.",
    hint: `The finished episodes are in ${folder}. Continue with the same command and --resume.`,
  });
}

/** Throws if no episode has a score: the fault is then not in a single task. */
function refuseFailed({ summary: { status, counts, name }, folder, failure }: FinishedRun): void {
  if (status !== "failed") return;
  throw new LyceumError({
    code: "policy.failed",
    message:
      counts.failed === counts.played
        ? `Every one of ${counts.failed} episodes of ${name} failed. The first: ${failure?.message ?? "unknown"}`
        : `None of ${counts.played} episodes of ${name} has a score. The first: ${failure?.message ?? "unknown"}`,
    hint: `lyceum view ${folder} shows each with its error. Play them again with --retry-failed.`,
    ...(failure?.error === undefined ? {} : { cause: fromErrorData(failure.error) }),
  });
}
