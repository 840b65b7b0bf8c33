import type { TerminalViewOptions } from "../reports/training/index.ts";
import type { AgentId } from "../src/contract/action.ts";
import type { AgentProgram } from "../src/contract/agent-program.ts";
import type { EnvironmentDefinition } from "../src/contract/environment.ts";
import type { Policy } from "../src/contract/policy.ts";
import type { PolicySpecification } from "../src/core/policy/policy-specification.ts";
import type { AlgorithmDefinition } from "../trainers/algorithms/index.ts";
import type { TrainingBackend } from "../trainers/backend/training-backend.ts";
import type { TrainingConfig } from "../trainers/config/training-config.ts";
import type { TrainOptions } from "../trainers/run/training-run.ts";
import { type Catalog, engineOptions } from "./catalog.ts";
import { loadProgram } from "./load-program.ts";
import type { PolicyOpener } from "./policy-opener.ts";
import { recordedPolicy, specifiedSettings } from "./policy-settings.ts";
import type { RunConfig } from "./run-config.ts";

/** The options of a run on the command line. */
export interface TrainCommandOptions {
  readonly catalog: Catalog;
  readonly view: TerminalViewOptions;
  readonly signal: AbortSignal;
  /** Returns the command line that resumes the run in `output`. */
  readonly resumeCommand: (output: string) => string;
}

/** Everything that is needed for one run, or for one stage of it. */
export interface PreparedRun {
  /** The name of the stage. */
  readonly name: string | undefined;
  readonly config: RunConfig;
  /** The folder of the config, from which its relative paths start. */
  readonly folder: string;
  /** The part of the config for the trainer. */
  readonly training: TrainingConfig;
  readonly environment: EnvironmentDefinition;
  readonly environmentOptions: Readonly<Record<string, unknown>>;
  readonly algorithms: readonly AlgorithmDefinition[];
  readonly output: string;
  readonly resume: boolean;
}

/** Opens the backend of a run: the embedded engine or a server. On the engine, frozen models with the same base model share its weights with the trained models. */
export async function openBackend(
  config: RunConfig,
  {
    catalog,
    opener,
    signal,
  }: { readonly catalog: Catalog; readonly opener: PolicyOpener; readonly signal: AbortSignal },
): Promise<AsyncDisposable & { readonly backend: TrainingBackend }> {
  const { backend } = config;
  if (backend.type === "tinker") {
    const { type: _, ...options } = backend;
    const remote = await catalog.createTinkerBackend({ ...options, signal });
    return { backend: remote, [Symbol.asyncDispose]: () => remote[Symbol.asyncDispose]() };
  }
  const options = engineOptions(config);
  const shared = await opener.engine.runningAs(options);
  if (shared !== undefined) return { backend: shared, [Symbol.asyncDispose]: async () => {} };
  const own = await catalog.createBackend(options);
  return { backend: own, [Symbol.asyncDispose]: () => own[Symbol.asyncDispose]() };
}

/** Opens the policies of a run that are not trained, and the programs of the agents that are. */
export async function openAgents(
  run: Pick<PreparedRun, "training" | "environment" | "folder">,
  opener: PolicyOpener,
): Promise<Pick<TrainOptions, "policies" | "programs" | "opponent" | "recorded">> {
  const programs: Record<AgentId, AgentProgram> = {};
  for (const [agent, specification] of Object.entries(run.training.agents.programs)) {
    programs[agent] = await loadProgram(specification, run.folder);
  }
  return { programs, ...(await openFrozen(run, opener)) };
}

async function openFrozen(
  { training, environment }: Pick<PreparedRun, "training" | "environment">,
  opener: PolicyOpener,
): Promise<Pick<TrainOptions, "policies" | "opponent" | "recorded">> {
  const policies: Record<AgentId, Policy> = {};
  const recorded: Record<AgentId, PolicySpecification> = {};
  for (const [agent, specification] of Object.entries(training.agents.policies)) {
    const what = `agents.policies.${agent}`;
    const settings = await specifiedSettings(specification, what);
    policies[agent] = await opener.openSettings(settings, { environment, played: [agent] });
    recorded[agent] = recordedPolicy(settings);
  }
  const named = training.evaluation.opponent;
  if (named === undefined) return { policies, recorded: { policies: recorded } };
  const settings = await specifiedSettings(named, "evaluation.opponent");
  const opponent = await opener.openSettings(settings, { environment });
  return { policies, opponent, recorded: { policies: recorded, opponent: recordedPolicy(settings) } };
}
