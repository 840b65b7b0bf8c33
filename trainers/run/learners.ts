import type { AgentId } from "../../src/contract/action.ts";
import type { Model, ModelSpec, TrainingBackend } from "../backend/training-backend.ts";
import { modelFolder } from "../checkpoint/checkpoint-manifest.ts";
import { policySpec, referenceSpec } from "../config/model-config.ts";
import type { StartingModels } from "../config/training-config.ts";
import type { Credit } from "../credit/index.ts";

/** The weights that one or more agents play with and that are trained. */
export interface Learner {
  /** The agent's name, or `policy` if all agents share the weights. */
  readonly name: string;
  readonly agents: readonly AgentId[];
  /** True if the run has one set of weights for all agents. */
  readonly shared: boolean;
  readonly model: Model;
  /** The model before any training, if the algorithm compares with it. */
  readonly reference: Model | undefined;
  /** The separate critic, if the algorithm uses one per learner. */
  readonly critic: Model | undefined;
}

/** All models that a run trains. */
export interface Learners {
  /** In the order of the environment's agents. */
  readonly policies: readonly Learner[];
  /** The critic of the whole team, if there is one. */
  readonly teamCritic: Model | undefined;
}

/** The agents that share weights, and the models to open for them. */
export interface LearnerPlan {
  readonly name: string;
  readonly agents: readonly AgentId[];
  readonly shared: boolean;
  readonly policy: ModelSpec;
  readonly reference: ModelSpec;
  readonly critic: ModelSpec;
}

/** The learner's name if all agents share the weights. */
const sharedLearner = "policy";

/**
 * Plans the learners of a run from its config: one for all trained agents, or one for each. Agents with equal sources
 * share a base model, on which each has its own adapter.
 */
export function planLearners(
  config: StartingModels & { readonly seed: number },
  agents: readonly AgentId[],
  frozen: readonly AgentId[] = [],
): LearnerPlan[] {
  const { weights, models } = config.agents;
  const shared = agents.length === 1 || weights === "shared";
  const trained = agents.filter((agent) => !frozen.includes(agent));
  const groups = shared
    ? [{ name: sharedLearner, agents: trained, shared }]
    : trained.map((name) => ({ name, agents: [name], shared }));
  return groups.map((group, index) => {
    const model = models[group.agents.length === 1 ? group.agents[0]! : ""] ?? config.model;
    const seeds = { seed: config.seed, learner: index };
    return {
      ...group,
      policy: policySpec(model, seeds),
      reference: referenceSpec(model, seeds),
      critic: { ...policySpec(model, { ...seeds, critic: true }), valueHead: true },
    };
  });
}

/** Opens the models that an algorithm needs. Frozen models with equal sources are opened once. */
export async function openLearners(options: {
  readonly plan: readonly LearnerPlan[];
  readonly credit: Credit;
  readonly needsReference: boolean;
  readonly open: (spec: ModelSpec) => ReturnType<TrainingBackend["openModel"]>;
}): Promise<Learners> {
  const { plan, credit, needsReference, open } = options;
  const { critic } = credit;
  const references = new Map<string, Model>();
  const reference = async (spec: ModelSpec): Promise<Model> => {
    const key = JSON.stringify(spec.source);
    const opened = references.get(key) ?? (await open(spec));
    references.set(key, opened);
    return opened;
  };
  const policies: Learner[] = [];
  for (const { name, agents, shared, ...specs } of plan) {
    const ownCritic = critic?.type === "separate" && critic.scope === "learner";
    policies.push({
      name,
      agents,
      shared,
      model: await open(critic?.type === "shared" ? { ...specs.policy, valueHead: true } : specs.policy),
      reference: needsReference ? await reference(specs.reference) : undefined,
      critic: ownCritic ? await open(specs.critic) : undefined,
    });
  }
  const hasTeamCritic = critic?.type === "separate" && critic.scope === "team";
  return { policies, teamCritic: hasTeamCritic ? await open(plan[0]!.critic) : undefined };
}

/** Returns all trained models, by their folder in a checkpoint. */
export function trainedModels({ policies, teamCritic }: Learners): Map<string, Model> {
  const models = new Map<string, Model>();
  for (const { name, shared, model, critic } of policies) {
    models.set(learnerFolder(modelFolder, name, shared), model);
    if (critic !== undefined) models.set(learnerFolder("critic", name, shared), critic);
  }
  if (teamCritic !== undefined) models.set("critic", teamCritic);
  return models;
}

/** Returns the folder of a learner's model or critic: `model` for shared weights, otherwise `model/<learner>`. */
export function learnerFolder(kind: "model" | "critic", learner: string, shared: boolean): string {
  return shared ? kind : `${kind}/${encodeURIComponent(learner)}`;
}
