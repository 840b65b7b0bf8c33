import { describe, expect, it } from "vitest";
import { KeyValueCache } from "../../../trainers/backends/onnx/engine/key-value-cache.ts";
import { createOnnxBackend } from "../../../trainers/backends/onnx/index.ts";
import { ParameterBlock } from "../../../trainers/backends/onnx/models/parameter-block.ts";
import { QuantizedBlock } from "../../../trainers/backends/onnx/models/quantized-block.ts";
import { policySpec } from "../../../trainers/config/model-config.ts";
import { checkConfig } from "../../../trainers/config/training-config.ts";
import { readDecoderConfig } from "../../../trainers/model-folders/architecture/decoder-config.ts";
import { keptBytesPerToken } from "../../../trainers/model-folders/architecture/kept-activations.ts";
import { decoderParameters } from "../../../trainers/model-folders/architecture/parameters.ts";
import { activationBytes, layerActivationBytes } from "../../../trainers/plan/activation-memory.ts";
import { cacheBytesPerToken } from "../../../trainers/plan/cache-memory.ts";
import { exchangeSeconds } from "../../../trainers/plan/communication-time.ts";
import { decodingStepSeconds } from "../../../trainers/plan/decoding-time.ts";
import { devices } from "../../../trainers/plan/devices.ts";
import { engineMemory } from "../../../trainers/plan/engine-memory.ts";
import { exactly, interval, product, quotient, ratio, sum } from "../../../trainers/plan/interval.ts";
import { logitBytes } from "../../../trainers/plan/logit-memory.ts";
import { modelSize } from "../../../trainers/plan/model-size.ts";
import { plannedSplit } from "../../../trainers/plan/planned-split.ts";
import { stateMemory } from "../../../trainers/plan/state-memory.ts";
import { blockForwardFlops, headForwardFlops, trainingFlops } from "../../../trainers/plan/training-flops.ts";
import { shapes } from "./shapes.ts";
import { exactWorkload } from "./workloads.ts";

const sizeOf = (name: keyof typeof shapes, part?: Parameters<typeof modelSize>[1]) =>
  modelSize(readDecoderConfig(shapes[name].config), part);

/** A transformer as the papers count it: as many keys as queries, a hidden layer of 4 h without a gate. */
const plain = sizeOf("GPT-2");

describe("modelSize", () => {
  it.each(Object.entries(shapes))("counts the parameters of %s exactly", (_, { config, parameters }) => {
    expect(modelSize(readDecoderConfig(config)).parameters).toBe(parameters);
  });

  it("counts an output head that is the embedding once", () => {
    const { vocabularySize, hiddenSize, parameters } = sizeOf("SmolLM2-135M");
    const untied = modelSize(readDecoderConfig({ ...shapes["SmolLM2-135M"].config, tie_word_embeddings: false }));
    expect(untied.parameters - parameters).toBe(vocabularySize * hiddenSize);
    expect(untied.headWeights).toBe(sizeOf("SmolLM2-135M").headWeights);
  });

  it("knows the widths of a block", () => {
    const widths = { queryWidth: 768, keyValueWidth: 768, unitWidth: 4 * 768, gated: false };
    expect(plain).toMatchObject({ ...widths, blockWeights: 12 * 12 * 768 ** 2 });
    const grouped = { queryWidth: 2048, keyValueWidth: 1024, unitWidth: 3072, gated: true };
    const block = 1024 * (2048 + 2 * 1024) + 2048 * 1024 + 3 * 1024 * 3072;
    expect(sizeOf("Qwen3-0.6B")).toMatchObject({ ...grouped, blockWeights: 28 * block });
  });

  it("counts an adapter's parameters by hand", () => {
    // Rank 16 on q, k, v and o, gate, up and down of 32 layers.
    const [h, kv, f] = [4096, 1024, 14_336];
    const perRank = h + h + 2 * (h + kv) + (h + h) + 3 * (h + f);
    expect(sizeOf("Llama-3-8B", { type: "lora", rank: 16 }).trained).toBe(32 * 16 * perRank);
    expect(sizeOf("Llama-3-8B", { type: "lora", rank: 4, targets: ["q_proj"] }).trained).toBe(32 * 4 * (h + h));
  });

  it("counts what the engine trains", async () => {
    await using backend = await createOnnxBackend({ device: "cpu", threads: 1 });
    for (const adapter of [
      { type: "full" },
      { type: "lora", rank: 4 },
      { type: "lora", targets: ["q_proj", "down_proj"] },
    ]) {
      const { model } = checkConfig({
        algorithm: { id: "sft" },
        model: {
          scratch: { hiddenSize: 32, layers: 2, heads: 4, keyValueHeads: 2, family: "qwen3" },
          adapter,
        } as never,
      });
      const spec = policySpec(model, { seed: 1 });
      const opened = await backend.openModel(spec);
      const { config } = spec.source as Extract<typeof spec.source, { type: "scratch" }>;
      expect(modelSize(readDecoderConfig(config), model.adapter).trained).toBe(opened.parameterCount);
      await opened.close();
    }
  });
});

describe("trainingFlops", () => {
  const size = sizeOf("Llama-3-8B");

  it("is 6 N for each token, with attention", () => {
    const weights = size.blockWeights + size.headWeights;
    const attention = 2 * 32 * 2048 * 4096;
    const options = { length: 2048, recompute: false, headShare: 1 };
    expect(trainingFlops(size, options)).toBe(6 * weights + 3 * attention);
    expect(blockForwardFlops(size, 2048) + headForwardFlops(size)).toBe(2 * weights + attention);
  });

  it("is 8 N for the blocks if activations are computed again", () => {
    const options = { length: 2048, headShare: 1 };
    const again =
      trainingFlops(size, { ...options, recompute: true }) - trainingFlops(size, { ...options, recompute: false });
    expect(again).toBe(blockForwardFlops(size, 2048));
  });

  it("is 4 N for frozen weights and 6 for each parameter of an adapter", () => {
    const lora = sizeOf("Llama-3-8B", { type: "lora" });
    const options = { length: 0, recompute: false, headShare: 0 };
    expect(trainingFlops(lora, options)).toBe(4 * lora.blockWeights + 6 * lora.adapter);
  });
});

describe("memory on GPUs", () => {
  it("is that of figure 1 of ZeRO: 7.5 billion parameters, 120 GB on one GPU, 1.9 GB on each of 64", () => {
    const size = { ...sizeOf("Llama-3-8B"), parameters: 7.5e9, trained: 7.5e9 };
    const total = (gpus: number): number => {
      const { weights, gradients, optimizer } = stateMemory(size, { precision: "bfloat16", gpus, learners: 1 });
      return weights + gradients + optimizer;
    };
    expect(total(1)).toBe(120e9);
    expect(total(64) / 1e9).toBeCloseTo(1.9, 1);
  });

  it("is 16 bytes for a parameter in float32 too, and shares the base of several adapters", () => {
    const options = { precision: "float32", gpus: 1, learners: 1 } as const;
    const { weights, gradients, optimizer } = stateMemory(sizeOf("Qwen3-0.6B"), options);
    expect(weights + gradients + optimizer).toBe(16 * 596_049_920);
    const lora = sizeOf("Qwen3-0.6B", { type: "lora", rank: 8 });
    expect(stateMemory(lora, { ...options, learners: 3 }).weights).toBe(4 * (596_049_920 + 3 * lora.adapter));
  });

  it("keeps the activations of equation 1 of Korthikanti et al., less dropout", () => {
    const [h, a, s] = [768, 12, 1024];
    // The paper: s b h (34 + 5 a s / h). The masks of dropout are 2 h, and those of the scores 3 a s.
    const paper = 34 * h + 5 * a * s;
    expect(layerActivationBytes(plain, { length: s, attention: "scores" })).toBe(paper - 2 * h - 3 * a * s);
    expect(layerActivationBytes(plain, { length: s, attention: "flash" })).toBe(32 * h + 4 * a);
  });

  it("keeps 2 h for each layer, and one layer, if activations are computed again", () => {
    const options = { tokens: 10, length: 10, attention: "flash" } as const;
    const layer = layerActivationBytes(plain, options);
    expect(activationBytes(plain, { ...options, recompute: false })).toBe(10 * 12 * layer);
    expect(activationBytes(plain, { ...options, recompute: true })).toBe(10 * (2 * 12 * 768 + layer));
  });

  it("needs 128 KiB of keys and values for a token of Llama 3 8B", () => {
    expect(cacheBytesPerToken(sizeOf("Llama-3-8B"), 2)).toBe(131_072);
  });

  it("needs 1 to 14 bytes for each logit", () => {
    expect(logitBytes({ vocabularySize: 100 }, 10)).toEqual(interval(1000, 8000, 14_000));
  });
});

describe("decodingStepSeconds", () => {
  const rates = { bandwidth: exactly(100), flops: exactly(1000), overhead: interval(0, 1, 2) };

  it("takes the longer of reading and computing, and the overhead", () => {
    const reading = { weightBytes: 500, cacheBytes: 100, flops: 100 };
    expect(decodingStepSeconds(reading, rates)).toEqual(interval(6, 7, 8));
    expect(decodingStepSeconds({ ...reading, flops: 9000 }, rates)).toEqual(interval(9, 10, 11));
  });

  it("is fastest at the highest rates", () => {
    const spread = { ...rates, bandwidth: interval(50, 100, 200) };
    expect(decodingStepSeconds({ weightBytes: 600, cacheBytes: 0, flops: 0 }, spread)).toEqual(interval(3, 7, 14));
  });
});

describe("exchangeSeconds", () => {
  it("moves three times the parameters, and hides all, half or none of the time", () => {
    const options = { weightBytes: 100, gradientBytes: 100, bandwidth: 10 };
    expect(exchangeSeconds({ ...options, gpus: 1 })).toEqual(exactly(0));
    expect(exchangeSeconds({ ...options, gpus: 4 })).toEqual(interval(0, 11.25, 22.5));
  });
});

describe("memory of the embedded engine", () => {
  const config = readDecoderConfig({ ...shapes["SmolLM2-135M"].config, num_hidden_layers: 2, vocab_size: 300 });
  const size = modelSize(config);
  const part = (name: string, run = engineMemory({ size, workload: exactWorkload(), maxTokensPerMicroBatch: 512 })) =>
    run.find((figure) => figure.name === name)!;

  it("has the bytes of the weights that the engine allocates, and twice as many for the moments", () => {
    const { byteLength } = new ParameterBlock(decoderParameters(config)).data;
    expect(part("weights").middle).toBe(byteLength);
    expect(part("optimizer").middle).toBe(2 * byteLength);
  });

  it("has the bytes of the engine's cache", () => {
    const cache = new KeyValueCache(config, { transposedKeys: false });
    const [lanes, capacity] = [4, 32];
    cache.layOut({ width: 1, capacity, from: Array.from({ length: lanes }, () => undefined) });
    const { cacheMask: _, ...arrays } = cache.feeds("cache", lanes);
    const bytes = Object.values(arrays).reduce((all, { data }) => all + data.byteLength, 0);
    expect(cacheBytesPerToken(size, 4) * lanes * capacity).toBe(bytes);
  });

  it("has one base for several adapters, and a model for each agent without adapters", () => {
    const lora = modelSize(config, { type: "lora", rank: 2 });
    const workload = { ...exactWorkload(), learners: 3 };
    const weights = (of: typeof size, changes = {}) =>
      part("weights", engineMemory({ size: of, workload: { ...workload, ...changes }, maxTokensPerMicroBatch: 512 }))
        .middle;
    expect(weights(lora)).toBe(4 * (size.parameters + 3 * lora.adapter));
    expect(weights(size)).toBe(4 * 3 * size.parameters);
    expect(weights(size, { critics: 1, reference: true })).toBe(4 * 5 * size.parameters);
  });

  it("has the bytes of the base that the engine allocates if it is quantized, and float32 adapters", () => {
    const lora = modelSize(config, { type: "lora", rank: 2 });
    for (const bits of [4, 8] as const) {
      const block = new QuantizedBlock(decoderParameters(config), { config, bits });
      for (const { name, shape } of block.specs) {
        block.set(name, new Float32Array(shape.reduce((product, each) => product * each, 1)));
      }
      const arrays = block.specs.flatMap(({ name }) => {
        const matrix = block.matrix(name);
        return matrix === undefined ? [block.read(name)] : [matrix.values, matrix.scales, matrix.zeroPoints];
      });
      const own = arrays.reduce((sum, { byteLength }) => sum + byteLength, 0);
      expect(block.byteLength).toBe(own);
      const run = { size: lora, workload: exactWorkload(), maxTokensPerMicroBatch: 512, quantizedBytes: own };
      expect(part("weights", engineMemory(run)).middle).toBe(own + 4 * lora.adapter);
    }
  });

  it("lays the base out for decoding in SFT too, because the preflight samples", () => {
    const lora = modelSize(config, { type: "lora", rank: 2 });
    const workload = exactWorkload({ algorithm: { id: "sft" } });
    const decoding = part("decoding", engineMemory({ size: lora, workload, maxTokensPerMicroBatch: 512 }));
    expect(decoding.middle).toBeGreaterThan(4 * (size.blockWeights + size.headWeights));
  });

  const alone = { sequences: 16, groupSize: 1, prompt: 0 };

  it("fills micro-batches with whole sequences", () => {
    const tokens = (maxTokens: number, length: number) =>
      plannedSplit(size, { ...alone, maxTokens, length }).batches[0]!.tokens;
    expect([tokens(512, 100), tokens(512, 600), tokens(4096, 100)]).toEqual([500, 600, 1600]);
  });

  it("needs at most 0.6 GiB of activations, except those of a single sequence", () => {
    const sequences = 256;
    for (const name of ["SmolLM2-135M", "Llama-3-8B"] as const) {
      const large = sizeOf(name);
      for (const length of [1, 50, 127, 128, 400, 4000]) {
        const { batches } = plannedSplit(large, { ...alone, sequences, maxTokens: 2048, length });
        const { tokens, bytes } = batches[0]!;
        expect(bytes / (tokens * keptBytesPerToken(large, length))).toBeCloseTo(1, 9);
        expect(tokens % length).toBe(0);
        if (tokens > length) expect(bytes).toBeLessThanOrEqual(0.6 * 2 ** 30);
        // One more sequence would be too much, or there is no other.
        const more = (tokens + length) * keptBytesPerToken(large, length);
        if (tokens < length * sequences) expect(more > 0.6 * 2 ** 30 || tokens + length > 2048).toBe(true);
      }
    }
  });

  it("counts a group's prompt once for each micro-batch, and needs up to 1.2 GiB if that saves much work", () => {
    const large = sizeOf("SmolLM2-135M");
    const group = (prompt: number, completion: number) => {
      const planned = { sequences: 8, groupSize: 8, prompt, length: prompt + completion, maxTokens: 2048 };
      return plannedSplit(large, planned).batches.map(({ tokens }) => tokens);
    };
    expect(group(256, 128)).toEqual([256 + 8 * 128]);
    // Here 0.6 GiB are enough, because two micro-batches repeat 38 tokens only.
    expect(group(38, 128)).toEqual([38 + 5 * 128, 38 + 3 * 128]);
    expect(plannedSplit(large, { ...alone, length: 384, maxTokens: 2048 }).batches).toHaveLength(16);
  });
});

describe("intervals", () => {
  const [a, b] = [interval(1, 2, 4), interval(2, 4, 8)];

  it("add, multiply and divide", () => {
    expect(sum(a, b)).toEqual(interval(3, 6, 12));
    expect(product(a, b)).toEqual(interval(2, 8, 32));
    expect(quotient(b, a)).toEqual(interval(0.5, 2, 8));
    expect(() => interval(2, 1, 3)).toThrow(RangeError);
  });

  it("give a rate whose range covers both ends", () => {
    expect(ratio(interval(10, 20, 30), interval(1, 4, 10))).toEqual(interval(2, 5, 20));
  });
});

describe("devices", () => {
  it.each(devices.list().map((device) => [device.id, device] as const))("%s has plausible figures", (_, device) => {
    expect(device.source).toMatch(/data sheet|white paper|product brief/);
    expect(device.memory).toBeGreaterThanOrEqual(16e9);
    expect(device.halfFlops).toBeGreaterThan(device.singleFlops);
    expect(device.bandwidth).toBeGreaterThan(device.link);
  });

  it("has the H100's figures", () => {
    expect(devices.get("h100")).toMatchObject({ memory: 80e9, bandwidth: 3.35e12, halfFlops: 989.4e12 });
    expect(() => devices.get("h1000")).toThrow(
      expect.objectContaining({ code: "config.unknown-name", hint: expect.stringMatching(/^Did you mean "h100"/) }),
    );
  });
});
