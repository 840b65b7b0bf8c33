import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { ModelProtoSchema, type ValueInfoProto } from "onnx-buf";
import { InferenceSession, type Tensor } from "onnxruntime-node";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createRandom } from "../../../src/core/random/random.ts";
import { type Datum, datumFromIds } from "../../../trainers/backend/datum.ts";
import type { LossTerm } from "../../../trainers/backend/loss-term.ts";
import { createEngine } from "../../../trainers/backends/onnx/engine/engine.ts";
import { LossScale } from "../../../trainers/backends/onnx/engine/loss-scale.ts";
import { isSlowTier, sampleOf } from "../../tier.ts";
import { decoderConfigs } from "./decoder-configs.ts";
import { ModelUnderTest, withOtherPolicies, withSupports } from "./model-under-test.ts";

// The runtime reuses the memory of a value for one whose dimensions have the same numbers and names.

const vocabulary = 29;
/** The number of graphs whose runs were checked, and their conflicts. */
const found = { graphs: 0, values: 0, conflicts: [] as string[] };

/** Compiles graphs whose runs return all values, and compares their sizes with their declared shapes. */
function checkEachRun(): void {
  const create = InferenceSession.create.bind(InferenceSession) as typeof InferenceSession.create;
  vi.spyOn(InferenceSession, "create").mockImplementation((async (model: Uint8Array, options: object) => {
    const proto = fromBinary(ModelProtoSchema, model);
    const graph = proto.graph!;
    const wanted = graph.output.map(({ name }) => name);
    const declared = new Map([...graph.input, ...graph.output, ...graph.valueInfo].map((value) => [value.name, value]));
    graph.output.push(...graph.valueInfo.splice(0));
    // Without optimization every value is computed.
    const session = await create(toBinary(ModelProtoSchema, proto), { ...options, graphOptimizationLevel: "disabled" });
    found.graphs += 1;
    const run = async (feeds: Record<string, Tensor>, outputs: readonly string[] = wanted) => {
      const results = await session.run(feeds);
      checkSizes(declared, { ...feeds, ...results });
      return Object.fromEntries(outputs.map((name) => [name, results[name]]));
    };
    return { run, release: () => session.release() };
  }) as unknown as typeof InferenceSession.create);
}

function checkSizes(declared: ReadonlyMap<string, ValueInfoProto>, values: Readonly<Record<string, Tensor>>): void {
  const sizes = new Map<string, { readonly size: number; readonly of: string }>();
  for (const [name, { dims }] of Object.entries(values)) {
    const shape = declared.get(name)!.type!.value;
    if (shape.case !== "tensorType") throw new Error(`${name} is no tensor.`);
    const dimensions = shape.value.shape!.dim.map(({ value }) => value);
    found.values += 1;
    const conflict = (text: string): void => void found.conflicts.push(`${name} [${dims}]: ${text}`);
    if (dimensions.length !== dims.length) conflict(`rank ${dimensions.length}`);
    dims.forEach((size, axis) => {
      const dimension = dimensions[axis];
      if (dimension?.case === "dimValue" && Number(dimension.value) !== size) conflict(`${dimension.value} at ${axis}`);
      if (dimension?.case !== "dimParam") return;
      const known = sizes.get(dimension.value);
      if (known === undefined) sizes.set(dimension.value, { size, of: name });
      else if (known.size !== size) conflict(`${dimension.value} is ${known.size} in ${known.of}`);
    });
  }
}

beforeEach(() => {
  Object.assign(found, { graphs: 0, values: 0, conflicts: [] });
  checkEachRun();
});
afterEach(() => {
  vi.restoreAllMocks();
});

const allTerms: readonly LossTerm[] = [
  { type: "ppo", clipLow: 0.2, clipHigh: 0.28 },
  { type: "kl", estimator: "k3", weight: 0.3 },
  { type: "entropy", weight: 0.1 },
  { type: "value", clip: 0.2 },
];
const outputs = ["logprobs", "entropy", "values"] as const;

/** Sequences of different lengths. Those of a group have a common prefix. */
function dataOf(prefixes: readonly number[], suffixes: readonly number[]): Datum[] {
  const random = createRandom(1);
  const draw = (count: number): number[] => Array.from({ length: count }, () => random.integer(0, vocabulary - 1));
  return prefixes.map(draw).flatMap((prefix) =>
    suffixes.map((length) => {
      const ids = [...prefix, ...draw(length)];
      return datumFromIds({ ids, mask: ids.map((_, i) => (i < prefix.length ? 0 : 1)) });
    }),
  );
}

describe("dimensions of a graph with the same name have the same size", () => {
  it.each(sampleOf(Object.entries(decoderConfigs), 3))("in passes of %s", async (_, config) => {
    // The last pass has long sequences, and most families read no such ones. Small chunks of logits would be many.
    const passes = [
      { plain: dataOf([0], [5, 9, 2]), logitsPerChunk: 150 },
      { plain: dataOf([7, 4], [3, 8, 1]), logitsPerChunk: 150 },
      { plain: dataOf([60, 40], isSlowTier ? [80, 97, 66] : [80, 97]), logitsPerChunk: isSlowTier ? 150 : 3_000 },
    ];
    for (const lora of [undefined, { rank: 3, alpha: 6 }]) {
      for (const { plain, logitsPerChunk } of passes) {
        if (Math.max(...plain.map(({ tokens }) => tokens.length)) > Number(config.max_position_embeddings)) continue;
        await using model = new ModelUnderTest(config, lora, lora && new LossScale());
        const data = withSupports(await withOtherPolicies(model, plain), { vocabulary, seed: 2 });
        await model.pass(data, allTerms, { outputs, logitsPerChunk });
        await model.pass(data, [], { outputs });
        if (lora === undefined) continue;
        const seeds = data.map((_, i) => i);
        await model.pass(data, allTerms, { outputs: ["logprobs"], dropout: { rate: 0.3, seeds } });
      }
    }
    expect(found.conflicts).toEqual([]);
    expect(found.graphs).toBeGreaterThan(8);
    expect(found.values).toBeGreaterThan(5000);
  });

  it.each(sampleOf(Object.entries(decoderConfigs), 4))("in sampling from %s", async (_, config) => {
    const settings = { device: "cpu", threads: 1, maxTokensPerMicroBatch: 1000, decodeBatchSize: 16 } as const;
    const engine = createEngine(settings);
    const source = { type: "scratch", config, seed: 1 } as const;
    for (const trainable of [{ type: "full" }, { type: "lora", lora: { rank: 3, alpha: 6 } }] as const) {
      const { model } = await engine.open({ source, trainable, valueHead: true });
      const { sampler } = await engine.snapshot({ model });
      const ids = Array.from({ length: 20 }, (_, i) => i);
      for (const [prompts, samples] of [
        [1, 3],
        [3, 1],
        [2, 6],
      ] as const) {
        const requests = Array.from({ length: prompts * samples }, (_, i) => ({
          promptIds: ids.slice(i % prompts),
          settings: { temperature: 1, maxTokens: 3 + (i % 4) },
          seed: i,
          stopTokenIds: [],
        }));
        for (const reuse of [false, true, true]) {
          await engine.sample({ sampler, requests, reuse }, { signal: new AbortController().signal, emit: () => {} });
        }
      }
      await engine.closeSampler({ sampler });
      await engine.closeModel({ model });
    }
    await engine.close({});
    expect(found.conflicts).toEqual([]);
    expect(found.graphs).toBeGreaterThan(3);
  });
});
