import { agent, demonstrate, environment } from "../../examples/agents/shop-agent.ts";
import { agentProgram } from "../../server/capture/agent-program.ts";
import type { TrainingEvent } from "../../src/contract/training-event.ts";
import type { TrainingBackend } from "../../trainers/backend/training-backend.ts";
import type { TrainingConfigInput } from "../../trainers/config/training-config.ts";
import { trainStages } from "../../trainers/training/stages.ts";
import { sharedEngine } from "../backends/onnx/shared-engine.ts";
import { checkedBackend, type SampledAndTrained } from "./checked-backend.ts";

/** A tiny model over bytes. */
const model = {
  threads: 1,
  scratch: { hiddenSize: 96, layers: 2, heads: 6, maxLength: 256, tieEmbeddings: false },
};

/** The results of a training. */
export interface TrainedAgent {
  /** The mean reward on held-out tasks after the demonstrations, and after GRPO. */
  readonly rewards: readonly number[];
  /** The events of GRPO. */
  readonly events: readonly TrainingEvent[];
  readonly seen: SampledAndTrained;
}

/**
 * Trains the AI SDK agent of the shop on a model from scratch by the embedded engine: first on an expert's answers to its
 * model calls, then by GRPO. Each trained token is checked against what was sampled.
 */
export async function trainShopAgent(options: {
  readonly seed: number;
  readonly output: string;
  readonly steps: { readonly sft: number; readonly grpo: number };
  readonly changes?: Partial<TrainingConfigInput>;
}): Promise<TrainedAgent> {
  const { seed, output, steps, changes } = options;
  const engine: TrainingBackend = await sharedEngine();
  await using _ = engine;
  const { backend, seen } = checkedBackend(engine);
  const programs = { agent: agentProgram({ function: agent, demonstrate }) };
  const common = {
    ...{ seed, model, sampling: { maxTokens: 40 }, probe: { groups: 0 } },
    evaluation: { split: "test", limit: 96 },
    ...changes,
  };
  const sft = { batchSize: 32, learningRate: 3e-3, warmupSteps: 10, beta2: 0.99 };
  const grpo = { batchSize: 16, learningRate: 3e-4, beta2: 0.99 };
  const stages = trainStages({
    ...{ backend, output },
    stages: [
      {
        ...{ name: "sft", environment, programs },
        config: { ...common, algorithm: { id: "sft" }, training: { ...sft, steps: steps.sft } },
      },
      {
        ...{ name: "grpo", environment, programs },
        config: {
          ...common,
          algorithm: { id: "grpo", groupSize: 8, dropGroupsWithoutSignal: false },
          training: { ...grpo, steps: steps.grpo },
        },
      },
    ],
  });
  const events: TrainingEvent[] = [];
  for await (const { stage, event } of stages) {
    if (event.type === "run-end" && event.reason !== "completed") throw new Error(event.error?.message);
    if (stage === "grpo") events.push(event);
  }
  const rewards = events.flatMap((event) => (event.type === "evaluation" ? [event.metrics["reward/mean"]!] : []));
  return { rewards, events, seen };
}
