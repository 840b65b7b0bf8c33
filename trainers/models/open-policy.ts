import type { AgentId } from "../../src/contract/action.ts";
import type { AgentProgram } from "../../src/contract/agent-program.ts";
import type { Policy } from "../../src/contract/policy.ts";
import { demonstrationPolicy } from "../../src/core/policy/demonstration-policy.ts";
import { samplerPolicy } from "../../src/core/policy/sampler-policy.ts";
import type { Renderer } from "../../src/core/tokens/renderer.ts";
import type { Model } from "../backend/training-backend.ts";
import type { Learner } from "../run/learners.ts";
import type { TrainingRun } from "../run/training-run.ts";
import { demonstratedCalls } from "./demonstrated-calls.ts";

/** A policy that must be disposed of after use. */
export interface OpenPolicy extends AsyncDisposable {
  readonly policy: Policy;
}

/** Policies by agent that must be disposed of after use. */
export interface OpenPolicies extends AsyncDisposable {
  readonly policies: Readonly<Record<AgentId, Policy>>;
}

/** The part of a model that plays. */
export type PlayingModel = Pick<Model, "snapshot" | "renderer" | "maxLength">;

/** A callback that counts sampled tokens. */
interface CountTokens {
  /** Called with the number of tokens after each sampling step of the models. */
  readonly onTokens?: (count: number) => void;
}

/** The part of a run that acts. */
type ActingRun = Pick<TrainingRun, "algorithm" | "environment" | "learners" | "frozen" | "programs">;

/**
 * Opens the policies that play a training batch: the current models, or the environment's expert in their place. Frozen
 * agents are played by their own policies in both cases.
 */
export async function openActors(run: ActingRun, options: CountTokens = {}): Promise<OpenPolicies> {
  const { algorithm, environment, learners, frozen, programs } = run;
  if (algorithm.rollout.actor === "policy") return openPlayers(run, options);
  await using resources = new AsyncDisposableStack();
  const policies: Record<AgentId, Policy> = { ...frozen };
  for (const { agents, model } of learners.policies) {
    const { renderer } = model;
    const expert = demonstrationPolicy({ environment, renderer });
    for (const agent of agents) {
      const program = programs[agent];
      const { demonstrate } = program ?? {};
      const answers = demonstrate === undefined ? expert : demonstratedCalls({ ...program!, demonstrate }, renderer);
      policies[agent] = await openAgent(answers, program, resources);
    }
  }
  const owned = resources.move();
  return { policies, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/**
 * Opens a policy of each learner's current weights for each of its agents, and adds the policies of the frozen agents. An
 * agent with a program runs it over the weights.
 */
export async function openPlayers(
  {
    learners,
    frozen,
    programs,
  }: Pick<TrainingRun, "frozen" | "programs"> & {
    readonly learners: {
      readonly policies: readonly (Pick<Learner, "agents"> & { readonly model: PlayingModel })[];
    };
  },
  options: CountTokens = {},
): Promise<OpenPolicies> {
  await using resources = new AsyncDisposableStack();
  const policies: Record<AgentId, Policy> = { ...frozen };
  for (const { agents, model } of learners.policies) {
    const { policy } = resources.use(await openModelPolicy(model, options));
    for (const agent of agents) policies[agent] = await openAgent(policy, programs[agent], resources);
  }
  const owned = resources.move();
  return { policies, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** Returns the policy of an agent: the model itself, or the agent's program over the model. */
async function openAgent(
  model: Policy,
  program: AgentProgram | undefined,
  resources: AsyncDisposableStack,
): Promise<Policy> {
  if (program === undefined) return model;
  return resources.adopt(await program.open(model), async (policy) => policy.close?.());
}

/**
 * Opens a policy of the model's current weights. It uses the model's renderer unless another is given. The default name
 * has the version of the weights.
 */
export async function openModelPolicy(
  model: PlayingModel,
  options: { readonly renderer?: Renderer; readonly name?: string } & CountTokens = {},
): Promise<OpenPolicy> {
  const sampler = await model.snapshot();
  const policy = samplerPolicy({
    name: options.name ?? `weights ${sampler.version}`,
    sampler: () => sampler,
    renderer: options.renderer ?? model.renderer,
    maxLength: model.maxLength,
    onTokens: options.onTokens,
  });
  return { policy, [Symbol.asyncDispose]: () => sampler.close() };
}
