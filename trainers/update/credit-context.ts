import type { AgentId } from "../../src/contract/action.ts";
import { invalidConfig } from "../../src/contract/errors/index.ts";
import type { ActivityMeter } from "../../src/core/training-progress.ts";
import { datumFromIds } from "../backend/datum.ts";
import type { Model, PassOptions } from "../backend/training-backend.ts";
import type { CreditContext, Critic, CriticInput } from "../credit/index.ts";
import { modelOutputs } from "../data/model-outputs.ts";
import { valueDatum } from "../data/value-datum.ts";
import type { Learner } from "../run/learners.ts";
import type { TrainingRun } from "../run/training-run.ts";

/** Creates the credit context of a run. The meter counts the sequences that the models read. */
export function creditContext(
  run: Pick<TrainingRun, "learners" | "algorithm" | "config" | "signal">,
  meter?: ActivityMeter,
): CreditContext {
  const { learners, algorithm, config, signal } = run;
  const bounds = { maxTokensPerMicroBatch: config.training.maxTokensPerMicroBatch, signal, meter };
  const learnerOf = (agent: AgentId): Learner => learners.policies.find(({ agents }) => agents.includes(agent))!;
  return {
    learnerOf: (agent) => learnerOf(agent).name,
    critic: (agent) => {
      const learner = learnerOf(agent);
      if (learners.teamCritic !== undefined) return criticOf("team", learners.teamCritic, bounds);
      if (learner.critic !== undefined) return criticOf(learner.name, learner.critic, bounds);
      if (algorithm.credit.critic !== undefined) return sharedCritic(learner, bounds);
      throw invalidConfig(
        "The algorithm's credit reads a critic, but declares none.",
        "Add to its credit: critic: { type, scope }.",
      );
    },
    referenceLogprobs: async (agent, sequences) => {
      const { reference } = learnerOf(agent);
      if (reference === undefined) {
        throw invalidConfig(
          "The algorithm's credit reads a reference model, but declares none.",
          "Set needsReference: true on its credit.",
        );
      }
      const logprobs = await modelOutputs(
        sequences.map((sequence) => datumFromIds(sequence)),
        { ...bounds, model: reference, output: "logprobs" },
      );
      return logprobs.map((values) => Float32Array.from([0, ...values]));
    },
  };
}

interface Bounds extends Pick<PassOptions, "maxTokensPerMicroBatch" | "signal"> {
  readonly meter: ActivityMeter | undefined;
}

function criticOf(name: string, model: Model, bounds: Bounds): Critic {
  return {
    name,
    renderer: model.renderer,
    maxLength: model.maxLength,
    values: (sequences) =>
      modelOutputs(
        sequences.map(({ ids }) => valueDatum({ ids, targets: ids.map((_, after) => ({ after, value: 0, old: 0 })) })),
        { ...bounds, model, output: "values" },
      ),
  };
}

/**
 * A critic that is a value head on the policy. Values that the sampler recorded with the current weights are reused.
 */
function sharedCritic({ name, model }: Learner, bounds: Bounds): Critic {
  const critic = criticOf(name, model, bounds);
  const isCurrent = ({ values, weightsVersion }: CriticInput): boolean =>
    values !== undefined && weightsVersion === model.version;
  return {
    ...critic,
    values: async (sequences) => {
      const computed = await critic.values(sequences.filter((sequence) => !isCurrent(sequence)));
      let taken = 0;
      return sequences.map((sequence) => (isCurrent(sequence) ? sequence.values! : computed[taken++]!));
    },
  };
}
