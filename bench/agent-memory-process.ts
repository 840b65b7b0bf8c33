import { createOnnxBackend } from "../trainers/backends/onnx/index.ts";
import { syntheticDatum } from "./lora-step.ts";

// Runs in its own process, whose peak memory is measured. Arguments: the number of agents, and the folder of their base
// model. Takes two training steps: all agents play, then each one learns.
const [agentCount, folder] = [Number(process.argv[2]), process.argv[3]!];
const adam = { learningRate: 1e-4, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0 };
await using backend = await createOnnxBackend({ device: "cpu" });
const open = (agent: number) =>
  backend.openModel({
    source: { type: "pretrained", path: folder },
    trainable: { type: "lora", lora: { rank: 16, alpha: 32, seed: agent } },
  });
const agents = await Promise.all(Array.from({ length: agentCount }, (_, agent) => open(agent)));
for (const stepId of [1, 2]) {
  const samplers = await Promise.all(agents.map((model) => model.snapshot()));
  for (const [agent, sampler] of samplers.entries()) {
    const request = {
      promptIds: Array.from({ length: 32 }, (_, i) => i + agent),
      settings: { temperature: 1, maxTokens: 3 },
      seed: agent,
      stopTokenIds: [],
    };
    await Array.fromAsync(sampler.sample([request, request]));
  }
  for (const sampler of samplers) await sampler.close();
  for (const [agent, model] of agents.entries()) {
    const data = [syntheticDatum(64, agent), syntheticDatum(64, agent + 1)];
    await model.forwardBackward(data, [{ type: "ppo", clipLow: 0.2, clipHigh: 0.2 }]);
    await model.optimStep(adam, { stepId });
  }
}
