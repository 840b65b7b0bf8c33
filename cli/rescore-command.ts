import type { TerminalStream } from "../reports/training/live-block.ts";
import { LyceumError } from "../src/contract/errors/index.ts";
import type { OpenNamedPolicy } from "../src/core/environment/registry.ts";
import { EnvironmentPool } from "../src/core/rollout/environment-pool.ts";
import type { Rubric } from "../src/core/rubric/rubric.ts";
import { visibleText } from "../src/core/text/visible-text.ts";
import { defaultRule } from "../src/evaluation/correctness.ts";
import { environmentHash, manifestSpec } from "../src/evaluation/evaluation-manifest.ts";
import type { EvaluationManifest } from "../src/evaluation/log/manifest.ts";
import { readManifest } from "../src/evaluation/log/read-log.ts";
import { type Grader, rescore } from "../src/evaluation/rescore.ts";
import { type RecordedAnswer, rubricGrader } from "../src/evaluation/rubric-grader.ts";
import type { Catalog } from "./catalog.ts";
import type { CommandContext } from "./command-context.ts";
import { environmentGrader } from "./environment-grader.ts";
import type { RescoreArguments } from "./eval-program.ts";
import { benchmarkTarget, type EvalTarget, environmentTarget } from "./eval-target.ts";
import { evalText } from "./eval-text.ts";
import { showEvaluation } from "./eval-view.ts";
import { setOptions } from "./named-environment.ts";
import { createPolicyOpener } from "./policy-opener.ts";
import { recordedEnvironment, refuseOptions, restrictPolicies } from "./recorded-environment.ts";
import { recordedMixture } from "./recorded-mixture.ts";
import { softwareVersions } from "./software-versions.ts";
import { importFromUser } from "./user-module.ts";

/** Runs `lyceum rescore`: scores the episodes of a run again with its environment, another one, or a rubric. */
export async function rescoreCommand(
  args: RescoreArguments,
  options: Omit<CommandContext, "environment">,
): Promise<void> {
  const { catalog, output, signal } = options;
  const recorded = await readManifest(args.folder);
  const before: EvaluationManifest = {
    ...recorded,
    software: softwareVersions(),
    startedAt: new Date().toISOString(),
    rescoredFrom: args.folder,
  };
  await using opener = createPolicyOpener({ catalog, signal });
  await using grading =
    args.rubric === undefined
      ? await gradingByEnvironment(before, args, { catalog, output, signal, openPolicy: opener.open })
      : await gradingByRubric(before, args.rubric, args);
  const { manifest, grade } = grading;
  const { concurrency } = args;
  const events = rescore({ from: args.folder, folder: args.output, manifest, grade, concurrency, signal });
  const summary = await showEvaluation(events, args.json ? undefined : output);
  if (summary === undefined) return;
  const { tasks: _, ...printed } = summary;
  output.write(args.json ? `${JSON.stringify(printed, undefined, 2)}\n` : evalText(summary, args.output));
}

/** A way to score episodes, and what the log says about it. */
interface Grading extends AsyncDisposable {
  readonly manifest: EvaluationManifest;
  readonly grade: Grader;
}

/** The options for opening an environment that scores. */
interface Opening {
  readonly catalog: Catalog;
  readonly output: TerminalStream;
  readonly openPolicy: OpenNamedPolicy;
  readonly signal: AbortSignal;
}

async function gradingByEnvironment(
  before: EvaluationManifest,
  args: RescoreArguments,
  opening: Opening,
): Promise<Grading> {
  const target = await openTarget(before, args, opening);
  const { environment, environmentOptions = {} } = target;
  const spec = manifestSpec(environment);
  const correct = target.correct === undefined ? defaultRule(environment.spec) : target.correct;
  const { correct: _, ...rest } = before;
  const { judge: __, ...identity } = before.identity;
  const pool = new EnvironmentPool(environment);
  return {
    manifest: {
      ...rest,
      identity: {
        ...identity,
        judge: environment.judge?.opened,
        environment: { name: target.environmentName ?? environment.spec.id, options: environmentOptions },
        environmentHash: environmentHash(environment, environmentOptions),
      },
      spec,
      ...(correct === null ? {} : { correct }),
    },
    grade: environmentGrader(pool),
    [Symbol.asyncDispose]: () => pool.close(),
  };
}

/**
 * Opens the recorded environment or another one, with the recorded options and the given ones, which take precedence.
 */
async function openTarget(
  { name, identity }: EvaluationManifest,
  args: RescoreArguments,
  { catalog, output, openPolicy: open, signal }: Opening,
): Promise<EvalTarget> {
  const { environments } = catalog;
  const { judge } = args;
  const set = { ...setOptions(args.set), ...(judge === undefined ? {} : { judge }) };
  if (identity.judge !== undefined && set.judge === undefined) {
    throw invalid(`The run was judged by ${identity.judge}, but no judge is given.`, "Name one with --judge.");
  }
  const benchmark = catalog.benchmarks.find(({ id }) => id === name);
  if (args.env !== undefined || identity.prompt === undefined || benchmark === undefined) {
    const mixture =
      args.env === undefined && Object.keys(set).length === 0
        ? await recordedMixture(identity.environment, { environments, open })
        : undefined;
    if (mixture !== undefined) {
      const { name: environmentName, options: environmentOptions } = identity.environment;
      return { environment: mixture, environmentName, environmentOptions, maxTokens: 512 };
    }
    const recorded = await recordedEnvironment(identity, { env: args.env, set, environments });
    for (const option of args.json ? [] : recorded.leftOut) {
      output.write(visibleText(`warning: the recorded option ${option} is ignored: ${recorded.id} does not have it\n`));
    }
    const openPolicy = restrictPolicies(recorded.trusted, open);
    return environmentTarget(recorded.id, {}, recorded).open({ openPolicy, signal });
  }
  const recorded = identity.environment.options as ReturnType<typeof setOptions>;
  refuseOptions(recorded, { set, refused: environments.list().flatMap(({ neverFromLog = [] }) => neverFromLog) });
  const { format, shots } = identity.prompt;
  const options = { ...recorded, ...set };
  const target = benchmarkTarget(benchmark, { format: format as "chat" | "completion", shots }, options);
  const openPolicy = restrictPolicies(Object.values(set), open);
  return target.open({ openPolicy, signal });
}

async function gradingByRubric(before: EvaluationManifest, path: string, args: RescoreArguments): Promise<Grading> {
  if (args.env !== undefined || args.set.length > 0 || args.judge !== undefined) {
    throw invalid("--rubric excludes --env, --set and --judge.", "Use one of them.");
  }
  const rubric = await importFromUser({
    path,
    what: "rubric",
    hints: {
      missing: "Name a module, such as ./rubric.ts.",
      lacking: "Export one: export const rubric = rubric<RecordedAnswer>([...]).",
    },
    find: ({ rubric: found }) =>
      typeof (found as Partial<Rubric<RecordedAnswer>> | undefined)?.score === "function"
        ? (found as Rubric<RecordedAnswer>)
        : undefined,
  });
  const [low, high] = rubric.range;
  return {
    manifest: {
      ...before,
      identity: { ...before.identity, rubric: path },
      spec: { ...before.spec, rewardRange: [low, high] },
      correct: { atLeast: high },
    },
    grade: rubricGrader(rubric),
    [Symbol.asyncDispose]: async () => {},
  };
}

function invalid(message: string, hint: string): LyceumError {
  return new LyceumError({ code: "config.invalid", message, hint });
}
