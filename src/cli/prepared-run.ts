import type { AlgorithmDefinition } from "../../trainers/algorithms/index.ts";
import type { TrainingBackend } from "../../trainers/backend/training-backend.ts";
import type { TrainingConfigInput } from "../../trainers/config/training-config.ts";
import type { AgentId } from "../contract/action.ts";
import type { EnvironmentDefinition } from "../contract/environment.ts";
import type { Policy } from "../contract/policy.ts";
import type { PolicySpecification } from "../core/policy/policy-specification.ts";
import type { TerminalViewOptions } from "../reports/training/index.ts";
import type { PolicyOpener } from "./policy-opener.ts";
import { recordedPolicy, specifiedSettings } from "./policy-settings.ts";
import type { Rooms } from "./rooms.ts";
import type { RunConfig } from "./run-config.ts";

/** What a run of the command line goes with. */
export interface TrainCommandOptions {
  readonly rooms: Rooms;
  readonly view: TerminalViewOptions;
  readonly signal: AbortSignal;
  /** The command line that resumes a run kept in `output`. */
  readonly resumeCommand: (output: string) => string;
}

/** Everything that one run, or one stage of it, is made of. */
export interface PreparedRun {
  /** Of a stage. */
  readonly name: string | undefined;
  readonly config: RunConfig;
  /** The part of the config that the trainer takes. */
  readonly training: TrainingConfigInput;
  readonly environment: EnvironmentDefinition;
  readonly environmentOptions: Readonly<Record<string, unknown>>;
  readonly algorithms: readonly AlgorithmDefinition[];
  readonly output: string;
  readonly resume: boolean;
}

/** The backend of a run. Frozen models of the same base share its weights with those that are trained. */
export async function openBackend(
  config: RunConfig,
  { rooms, opener }: { readonly rooms: Rooms; readonly opener: PolicyOpener },
): Promise<AsyncDisposable & { readonly backend: TrainingBackend }> {
  const shared = await opener.engine.runningAs(config);
  if (shared !== undefined) return { backend: shared, [Symbol.asyncDispose]: async () => {} };
  const own = await rooms.createBackend(config);
  return { backend: own, [Symbol.asyncDispose]: () => own[Symbol.asyncDispose]() };
}

/** The policies of a run that are not trained, and the training config with what checkpoints record of them. */
export async function openFrozen(
  { training, environment }: Pick<PreparedRun, "training" | "environment">,
  opener: PolicyOpener,
): Promise<{
  /** Of the frozen agents. */
  readonly policies: Readonly<Record<AgentId, Policy>>;
  /** What the model plays against in evaluations. */
  readonly opponent?: Policy;
  readonly training: TrainingConfigInput;
}> {
  const policies: Record<AgentId, Policy> = {};
  const recorded: Record<AgentId, PolicySpecification> = {};
  for (const [agent, specification] of Object.entries(training.agents?.policies ?? {})) {
    const what = `agents.policies.${agent}`;
    const settings = await specifiedSettings(specification, what);
    policies[agent] = await opener.openSettings(settings, { environment, played: [agent] });
    recorded[agent] = recordedPolicy(settings);
  }
  const frozen: TrainingConfigInput = { ...training, agents: { ...training.agents, policies: recorded } };
  const named = training.evaluation?.opponent;
  if (named === undefined) return { policies, training: frozen };
  const settings = await specifiedSettings(named, "evaluation.opponent");
  const opponent = await opener.openSettings(settings, { environment });
  const evaluation = { ...training.evaluation, opponent: recordedPolicy(settings) };
  return { policies, opponent, training: { ...frozen, evaluation } };
}
