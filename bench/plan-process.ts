import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { EnvironmentDefinition } from "../src/contract/environment.ts";
import { environmentFromReward } from "../src/core/environment/environment-from-reward.ts";
import { createOnnxBackend } from "../trainers/backends/onnx/index.ts";
import { train } from "../trainers/training/train.ts";
import { type PlanCase, planCases } from "./plan-cases.ts";

// Runs one training in its own process, to measure its peak memory, and prints the metrics of its steps. After each
// step it waits for a line on standard input. Arguments: the name of the case, and the folder of the base model.
const [name, base] = process.argv.slice(2) as [string, string];
const chosen = planCases.find((one) => one.name === name)!;
const { config } = chosen;
const { model, training } = config;
const output = await mkdtemp(join(tmpdir(), "lyceum-bench-plan-"));
try {
  const maxTokensPerMicroBatch = training?.maxTokensPerMicroBatch ?? 2048;
  await using backend = await createOnnxBackend({ device: "cpu", maxTokensPerMicroBatch });
  const located = model.path === undefined ? model : { ...model, path: base };
  const events = train({ config: { ...config, model: located }, environment: fixedLength(chosen), backend, output });
  for await (const event of events) {
    if (event.type !== "step") continue;
    console.log(JSON.stringify(event.metrics));
    await once(process.stdin, "data");
  }
} finally {
  process.stdin.destroy();
  await rm(output, { recursive: true, force: true });
}

/** Returns an environment with prompts of a fixed length. Every second answer has a reward, so that groups differ. */
function fixedLength({ agents, promptTokens, answerTokens }: PlanCase): EnvironmentDefinition {
  const tasks = Array.from({ length: 64 }, (_, i) => `${i}`.padEnd(promptTokens - 1, "."));
  const answer = "x".repeat(answerTokens - 1);
  let count = 0;
  const reward = (): number => count++ % 2;
  if (agents.length === 1) {
    return environmentFromReward<string>({
      id: "fixed-length",
      tasks,
      reward,
      prompt: (task) => task,
      demonstrate: () => answer,
    }) as EnvironmentDefinition;
  }
  return environmentFromReward({
    id: "fixed-length",
    tasks,
    reward,
    prompts: Object.fromEntries(agents.map((agent) => [agent, (task: string) => task])),
  }) as EnvironmentDefinition;
}
