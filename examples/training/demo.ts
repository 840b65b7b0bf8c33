/*
 * Trains a language model on two-digit addition from scratch, in a minute or two on two cores: a byte-level model with
 * random weights, supervised fine-tuning on worked problems, then GRPO, whose only signal is whether the answers are
 * right. Prints the share of 500 held-out problems that are answered correctly, before and after each stage.
 *
 *   npm run demo [-- --seed 2] [-- --output folder]
 *
 * The output is runs/demo by default, and replaces that of the last demo.
 */
import { rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";
import type { EnvironmentDefinition } from "lyceum";
import { mathEnvironment } from "lyceum/environments";
import { createOnnxBackend } from "lyceum/onnx";
import { recordRun, type TrainingEvent } from "lyceum/reports";
import { type TrainingConfigInput, train } from "lyceum/trainers";

const problems = 500;
const heldOut = `test[:${problems}]`;

/** Shares of correctly answered held-out problems, from 0 to 1, and the seconds of each stage. */
export interface DemoResult {
  readonly untrained: number;
  readonly sft: number;
  readonly grpo: number;
  readonly sftSeconds: number;
  readonly seconds: number;
}

/** Creates additions such as `37+70=`, whose answer is the number alone. */
export function additions(): EnvironmentDefinition {
  return mathEnvironment({ tasks: "arithmetic", operations: ["addition"], digits: 2, answerOnly: true });
}

/** Returns the config of the supervised stage: a new model imitates worked problems for `steps` batches. */
export function sftConfig(seed: number, steps: number): TrainingConfigInput {
  return {
    seed,
    algorithm: { id: "sft" },
    model: {
      scratch: {
        hiddenSize: 128,
        layers: 3,
        heads: 8,
        intermediateSize: 384,
        maxLength: 32,
        ropeTheta: 50,
        tieEmbeddings: false,
        initializerRange: 0.08,
      },
    },
    training: { steps, batchSize: 128, learningRate: 3e-3, warmupSteps: 20, beta2: 0.99 },
    sampling: { maxTokens: 6 },
    evaluation: { split: heldOut, limit: problems },
    checkpoint: { every: 0 },
  };
}

/** Returns the config of the GRPO stage: groups of answers to each problem, with a reward for correct ones. */
export function grpoConfig(seed: number, model: string, steps: number): TrainingConfigInput {
  return {
    seed,
    algorithm: { id: "grpo", groupSize: 8, minibatches: 2 },
    model: { path: model },
    training: { steps, batchSize: 64, learningRate: 5e-4, schedule: "linear", beta2: 0.99 },
    sampling: { maxTokens: 6, temperature: 1.2 },
    evaluation: { split: heldOut, limit: problems },
    checkpoint: { every: 0 },
  };
}

/** Runs both stages. The second starts from the weights of the first. `events` can observe the training events. */
export async function runDemo(options: {
  readonly seed: number;
  readonly output: string;
  readonly sftSteps?: number;
  readonly grpoSteps?: number;
  /** The environment that rewards GRPO, if it is not the additions themselves. */
  readonly rewardedBy?: EnvironmentDefinition;
  readonly events?: (events: AsyncIterable<TrainingEvent>, folder: string) => AsyncIterable<TrainingEvent>;
}): Promise<DemoResult> {
  const { seed, output, sftSteps = 190, grpoSteps = 200, events = (stream) => stream } = options;
  const start = performance.now();
  const seconds = (): number => (performance.now() - start) / 1000;
  await using backend = await createOnnxBackend({ device: "cpu", decodeBatchSize: 512, maxTokensPerMicroBatch: 8192 });
  const stage = async (name: string, config: TrainingConfigInput, environment: EnvironmentDefinition) => {
    const folder = join(output, name);
    const accuracies: number[] = [];
    for await (const event of events(train({ config, environment, backend, output: folder }), folder)) {
      if (event.type === "evaluation") accuracies.push(event.metrics.accuracy!);
    }
    return { before: accuracies[0]!, after: accuracies.at(-1)! };
  };
  const sft = await stage("sft", sftConfig(seed, sftSteps), additions());
  const sftSeconds = seconds();
  const config = grpoConfig(seed, join(output, "sft", "model"), grpoSteps);
  const grpo = await stage("grpo", config, options.rewardedBy ?? additions());
  return { untrained: sft.before, sft: sft.after, grpo: grpo.after, sftSeconds, seconds: seconds() };
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { seed: { type: "string" }, output: { type: "string" } } });
  const seed = Number(values.seed ?? 1);
  const folder = values.output ?? join("runs", "demo");
  if (values.output === undefined) await rm(folder, { recursive: true, force: true });
  console.log(`A model with random weights learns two-digit addition, such as 37+70= (seed ${seed}).`);
  console.log(`${problems} held-out problems, answered correctly:\n`);
  const start = performance.now();
  await runDemo({ seed, output: folder, events: (events, stage) => shown(events, stage, start) });
  console.log(
    `\nLearning curves: ${join(folder, "sft", "report.html")}\n                 ${join(folder, "grpo", "report.html")}`,
  );
}

/** Records a stage, prints the results of its evaluations, and passes its events on. */
async function* shown(
  events: AsyncIterable<TrainingEvent>,
  folder: string,
  start: number,
): AsyncIterable<TrainingEvent> {
  const { stdout } = process;
  const stage = basename(folder).toUpperCase();
  for await (const event of recordRun(events, { folder })) {
    yield event;
    if (event.type === "step" && stdout.isTTY) stdout.write(`\r  ${stage}: step ${event.step} of ${event.steps} `);
    // The second stage begins with the evaluation that the first ended with.
    if (event.type !== "evaluation" || (event.step === 0 && stage !== "SFT")) continue;
    const share = `${(100 * event.metrics.accuracy!).toFixed(1).padStart(5)} %`;
    const time = `${((performance.now() - start) / 1000).toFixed(0)} s`;
    stdout.write(stdout.isTTY ? "\r\x1b[K" : "");
    console.log(`  ${(event.step === 0 ? "untrained" : `after ${stage}`).padEnd(12)}${share}   after ${time}`);
  }
}
