import { LyceumError } from "../../src/contract/errors/index.ts";
import type { Algorithm } from "../algorithms/index.ts";
import type { LossTerm } from "../backend/loss-term.ts";
import type { Capabilities, Model } from "../backend/training-backend.ts";
import type { TrainingConfig } from "../config/training-config.ts";
import { backendTerms } from "../losses/loss.ts";

/** Throws `backend.unsupported` if a backend cannot do what a run needs. Called before the run begins. */
export function checkBackendSupport(options: {
  readonly config: TrainingConfig;
  readonly algorithm: Algorithm;
  readonly capabilities: Capabilities;
}): void {
  const { config, algorithm, capabilities } = options;
  for (const { type } of backendTerms(algorithm.loss)) {
    if (!capabilities.losses.includes(type)) {
      const has = `It has ${capabilities.losses.join(", ")}.`;
      const instead = alternatives[type];
      throw unsupported(capabilities, `has no loss term "${type}"`, instead === undefined ? has : `${has} ${instead}`);
    }
  }
  if (algorithm.credit.critic !== undefined && !capabilities.valueHead) {
    throw unsupported(
      capabilities,
      "has no value head, but this algorithm needs a critic",
      "Choose an algorithm without a critic, such as grpo, or another backend.",
    );
  }
  if (config.model.adapter.type === "lora" && !capabilities.adapters) {
    throw unsupported(capabilities, "cannot train adapters", "Set model.adapter.type to full.");
  }
  if (config.model.adapter.type === "full" && !capabilities.fullParameter) {
    throw unsupported(capabilities, "cannot train every weight", "Set model.adapter.type to lora.");
  }
  const { format } = config.export;
  if (format !== "auto" && format !== "none" && !capabilities.exportFormats.includes(format)) {
    throw unsupported(capabilities, `cannot export as ${format}`, "Set export.format to auto.");
  }
  if (algorithm.rollout.actor === "policy") checkSampling(config, capabilities);
}

/**
 * Throws `backend.unsupported` if batches are played while a step learns, but a model cannot sample from earlier weights.
 * Called when the models are open, because a server reports this only for an open model.
 */
export function checkStaleness(
  config: TrainingConfig,
  options: { readonly models: readonly Model[]; readonly capabilities: Capabilities },
): void {
  const { models, capabilities } = options;
  if (config.rollout.maxStaleness === 0 || models.every((model) => model.samplesEarlierWeights !== false)) return;
  throw unsupported(
    capabilities,
    "cannot sample from earlier weights while it trains",
    "Set rollout.maxStaleness to 0.",
  );
}

/** What to do without a loss term. */
const alternatives: Partial<Record<LossTerm["type"], string>> = {
  entropy: "Set algorithm.entropyWeight to 0, or train on the embedded engine (backend.type: onnx).",
  value: "Choose an algorithm without a critic, such as grpo or rloo, or train on the embedded engine.",
};

/** Checks that the backend can train on the distribution that is sampled from. */
function checkSampling(config: TrainingConfig, capabilities: Capabilities): void {
  const { temperature, topK, topP, minP } = config.sampling;
  const used = {
    temperature: temperature !== 1,
    topK: topK !== undefined,
    topP: topP !== undefined && topP < 1,
    minP: minP !== undefined && minP > 0,
  };
  for (const name of ["temperature", "topK", "topP", "minP"] as const) {
    if (used[name] && !capabilities.trainableSampling.includes(name)) {
      throw unsupported(
        capabilities,
        `cannot train on what was sampled with sampling.${name}`,
        "Remove it: log-probabilities must be those of the distribution that was sampled from.",
      );
    }
  }
}

function unsupported(capabilities: Capabilities, what: string, hint: string): LyceumError {
  return new LyceumError({
    code: "backend.unsupported",
    message: `The backend "${capabilities.name}" ${what}.`,
    hint,
  });
}
