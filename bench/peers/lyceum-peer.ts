// The embedded engine in a process of its own, for `peers.ts`: a LoRA step and sampling.
import type { SampleRequest } from "../../src/contract/sampler.ts";
import { createRandom } from "../../src/core/random/random.ts";
import { datumFromIds } from "../../trainers/backend/datum.ts";
import { createOnnxBackend } from "../../trainers/backends/onnx/index.ts";
import { takeTurns } from "./turn-taker.ts";

/** The setup of one process. */
export interface LyceumPeer {
  /** A Hugging Face folder. */
  readonly model: string;
  readonly quantize?: 4 | 8;
  readonly roundInputs?: boolean;
  readonly trains: boolean;
}

type Call =
  | { readonly call: "train"; readonly sequences: number; readonly length: number; readonly micro: number }
  | { readonly call: "sample"; readonly rows: number; readonly prompt: number; readonly tokens: number };

const { model: path, trains, ...options } = JSON.parse(process.argv[2]!) as LyceumPeer;
await using backend = await createOnnxBackend({ device: "cpu", ...options });
const lora = { rank: 16, alpha: 32, seed: 1 };
const model = await backend.openModel({
  source: { type: "pretrained", path },
  trainable: trains ? { type: "lora", lora } : { type: "frozen" },
});
const random = createRandom(1);
const textOf = (length: number): number[] => Array.from({ length }, () => random.integer(33, 126));
const adam = { learningRate: 1e-4, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0.01, clipNorm: 1 };

await takeTurns(async (call: Call) => {
  if (call.call === "train") {
    const data = Array.from({ length: call.sequences }, () => {
      const ids = textOf(call.length + 1);
      return datumFromIds({ ids, mask: ids.map(() => 1) });
    });
    await model.forwardBackward(data, [{ type: "crossEntropy" }], { maxTokensPerMicroBatch: call.micro * call.length });
    await model.optimStep(adam, { stepId: model.version + 1 });
    return;
  }
  const requests = Array.from({ length: call.rows }, (_, seed): SampleRequest => {
    const settings = { temperature: 1, maxTokens: call.tokens };
    return { promptIds: textOf(call.prompt), settings, seed, stopTokenIds: [] };
  });
  const sampler = await model.snapshot();
  for await (const { ids } of sampler.sample(requests)) {
    if (ids.length !== call.tokens) throw new Error("A sample is short.");
  }
  await sampler.close();
});
