import fc from "fast-check";
import { expect, it } from "vitest";
import { createRandom } from "../../../src/core/random/random.ts";
import { causalMask, layOutSequences } from "../../../trainers/backends/onnx/engine/batch.ts";
import { GraphSession } from "../../../trainers/backends/onnx/engine/session.ts";
import { Graph } from "../../../trainers/backends/onnx/graph/graph.ts";
import { trainingAttention } from "../../../trainers/backends/onnx/models/training-attention.ts";

const headSize = 2;

interface Shape {
  readonly lengths: readonly number[];
  readonly keyValueHeads: number;
  readonly group: number;
}

/** The queries, keys and values of the tokens of all sequences, one sequence after another. */
type Rows = Record<"queries" | "keys" | "values", Float32Array>;

/** Returns the graph's output: (tokens, heads x headSize). */
async function run({ lengths, keyValueHeads, group }: Shape, rows: Rows, blocks: number): Promise<Float32Array> {
  const { tokens, length, sequences, tokenAt, placeOf, present } = layOutSequences(
    lengths.map((length) => new Array<number>(length).fill(0)),
  );
  const graph = new Graph();
  const heads = keyValueHeads * group;
  const layout = {
    tokenAt: graph.input("tokenAt", "int32", ["batch", "length"]),
    placeOf: graph.input("placeOf", "int32", ["tokens"]),
    present: graph.input("present", "float32", ["batch", "length", 1]),
  };
  const mask = graph.input("mask", "float32", ["length", group, "length"]);
  const attend = trainingAttention({ heads, keyValueHeads, headSize }, { layout, maskOf: () => mask, blocks });
  const input = (name: string, count: number) => graph.input(name, "float32", ["tokens", count * headSize]);
  const queries = input("queries", heads);
  graph.output(
    "y",
    attend({ layer: 0, queries, keys: input("keys", keyValueHeads), values: input("values", keyValueHeads) }),
  );
  await using session = await GraphSession.create(graph, { device: "cpu", threads: 1 });
  const { y } = await session.run({
    tokenAt: { data: tokenAt, shape: [sequences, length] },
    placeOf: { data: placeOf, shape: [tokens] },
    present: { data: present, shape: [sequences, length, 1] },
    mask: { data: causalMask(length, group), shape: [length, group, length] },
    queries: { data: rows.queries, shape: [tokens, heads * headSize] },
    keys: { data: rows.keys, shape: [tokens, keyValueHeads * headSize] },
    values: { data: rows.values, shape: [tokens, keyValueHeads * headSize] },
  });
  return y!;
}

/** Computes attention by its definition, token by token and head by head, in float64. */
function expected({ lengths, keyValueHeads, group }: Shape, { queries, keys, values }: Rows): number[] {
  const heads = keyValueHeads * group;
  const result: number[] = [];
  let start = 0;
  for (const length of lengths) {
    for (let token = start; token < start + length; token++) {
      for (let head = 0; head < heads; head++) {
        const keyHead = Math.floor(head / group);
        const dot = (key: number): number => {
          let sum = 0;
          for (let i = 0; i < headSize; i++) {
            sum +=
              queries[(token * heads + head) * headSize + i]! * keys[(key * keyValueHeads + keyHead) * headSize + i]!;
          }
          return sum;
        };
        const weights = Array.from({ length: token - start + 1 }, (_, i) =>
          Math.exp(dot(start + i) / Math.sqrt(headSize)),
        );
        const total = weights.reduce((sum, weight) => sum + weight, 0);
        for (let i = 0; i < headSize; i++) {
          const mixed = weights.reduce(
            (sum, weight, key) => sum + weight * values[((start + key) * keyValueHeads + keyHead) * headSize + i]!,
            0,
          );
          result.push(mixed / total);
        }
      }
    }
    start += length;
  }
  return result;
}

it("mixes the values of a sequence's own earlier tokens, with any number of blocks", async () => {
  const shapes = fc.record({
    lengths: fc.array(fc.integer({ min: 1, max: 13 }), { minLength: 1, maxLength: 3 }),
    keyValueHeads: fc.constantFrom(1, 2),
    group: fc.constantFrom(1, 3),
  });
  await fc.assert(
    fc.asyncProperty(shapes, fc.integer({ min: 1, max: 6 }), fc.nat(1000), async (shape, wanted, seed) => {
      const { lengths, keyValueHeads, group } = shape;
      const longest = Math.max(...lengths);
      const blocks = Math.ceil(longest / Math.ceil(longest / Math.min(wanted, longest)));
      const random = createRandom(seed);
      const tokens = lengths.reduce((sum, length) => sum + length, 0);
      const draw = (heads: number): Float32Array =>
        Float32Array.from({ length: tokens * heads * headSize }, () => 3 * random.normal());
      const rows = { queries: draw(keyValueHeads * group), keys: draw(keyValueHeads), values: draw(keyValueHeads) };
      const found = await run(shape, rows, blocks);
      expected(shape, rows).forEach((value, i) => {
        expect(Math.abs(found[i]! - value)).toBeLessThan(1e-4);
      });
    }),
    { numRuns: 60 },
  );
});
