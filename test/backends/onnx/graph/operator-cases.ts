import fc from "fast-check";
import { createRandom, type Random } from "../../../../src/core/random/random.ts";
import { causalMask, layOutSequences } from "../../../../trainers/backends/onnx/engine/batch.ts";
import { placeFeeds } from "../../../../trainers/backends/onnx/engine/sequence-feeds.ts";
import type { Feed } from "../../../../trainers/backends/onnx/engine/session.ts";
import {
  add,
  clip,
  divide,
  exp,
  log,
  maximum,
  minimum,
  multiply,
  negate,
  sigmoid,
  subtract,
} from "../../../../trainers/backends/onnx/graph/elementwise.ts";
import { gatherRows } from "../../../../trainers/backends/onnx/graph/gather.ts";
import { gelu } from "../../../../trainers/backends/onnx/graph/gelu.ts";
import type { Graph } from "../../../../trainers/backends/onnx/graph/graph.ts";
import { layerNorm } from "../../../../trainers/backends/onnx/graph/layer-norm.ts";
import { batchedProduct, matrixProduct, rowDot, sum } from "../../../../trainers/backends/onnx/graph/linear.ts";
import { rmsNorm, rotate, silu, softmax, swiglu } from "../../../../trainers/backends/onnx/graph/neural.ts";
import { total } from "../../../../trainers/backends/onnx/graph/pick.ts";
import { weightProduct } from "../../../../trainers/backends/onnx/graph/quantized-weight.ts";
import { reduceSum } from "../../../../trainers/backends/onnx/graph/reduction.ts";
import {
  concatenate,
  expandDimension,
  reshape,
  split,
  squeeze,
  transpose,
} from "../../../../trainers/backends/onnx/graph/shape.ts";
import type { Dimension, Tensor } from "../../../../trainers/backends/onnx/graph/tensor.ts";
import { quantizeMatrix } from "../../../../trainers/backends/onnx/models/quantized-matrix.ts";
import { trainingAttention } from "../../../../trainers/backends/onnx/models/training-attention.ts";
import type { Bits } from "../../../../trainers/model-folders/architecture/quantized-parameters.ts";

/** Values with a gradient. */
export interface Operand {
  readonly shape: readonly Dimension[];
  readonly values: Float32Array;
}

/** Values without a gradient. */
export interface FixedInput {
  readonly type: "float32" | "int32" | "int64" | "uint8";
  readonly shape: readonly Dimension[];
  readonly values: Float32Array | Int32Array | BigInt64Array | Uint8Array;
}

/** One application of an operator, and the operands to differentiate by. */
export interface OperatorCase {
  readonly operands: readonly Operand[];
  /** The sizes of named dimensions. */
  readonly sizes: Readonly<Record<string, number>>;
  /** Further inputs by name. */
  readonly fixed?: Readonly<Record<string, FixedInput>>;
  readonly apply: (
    operands: readonly Tensor[],
    graph: Graph,
    fixed: Readonly<Record<string, Tensor>>,
  ) => Tensor | readonly Tensor[];
}

/** Draws one number, away from kinks and poles. It is a multiple of 1/1024, so that finite differences step exactly. */
type Domain = (random: Random) => number;

const onGrid = (value: number): number => Math.round(value * 1024) / 1024;
const between =
  (low: number, high: number): Domain =>
  (random) =>
    onGrid(low + (high - low) * random.next());
const anywhere = between(-2, 2);
const awayFromZero: Domain = (random) => (random.next() < 0.5 ? -1 : 1) * between(0.7, 2)(random);
/** Never within 0.3 of a value of the other operand. */
const nearIntegers: Domain = (random) => random.integer(-2, 2) + between(-0.1, 0.1)(random);
const nearHalves: Domain = (random) => random.integer(-2, 1) + 0.5 + between(-0.1, 0.1)(random);

interface Dimensions {
  readonly named: readonly Dimension[];
  readonly sizes: Readonly<Record<string, number>>;
}

const size = fc.integer({ min: 1, max: 4 });
const seed = fc.nat(1e6);

/** Distinct dimensions of 1 to 4, some with a known size and some with a name. */
function dimensions(count: number): fc.Arbitrary<Dimensions> {
  return fc.array(fc.record({ size, known: fc.boolean() }), { minLength: count, maxLength: count }).map((drawn) => ({
    named: drawn.map(({ size, known }, i) => (known ? size : `d${i}`)),
    sizes: Object.fromEntries(drawn.map(({ size }, i) => [`d${i}`, size])),
  }));
}

/** Returns a shape as numbers. */
export function sizesOf(shape: readonly Dimension[], sizes: Readonly<Record<string, number>>): number[] {
  return shape.map((dimension) => (typeof dimension === "number" ? dimension : sizes[dimension]!));
}

function operand(options: {
  readonly shape: readonly Dimension[];
  readonly sizes: Readonly<Record<string, number>>;
  readonly random: Random;
  readonly domain?: Domain;
}): Operand {
  const { shape, sizes, random, domain = anywhere } = options;
  const length = sizesOf(shape, sizes).reduce((product, size) => product * size, 1);
  return { shape, values: Float32Array.from({ length }, () => domain(random)) };
}

/** A function of one tensor of rank `rank` (0 to 3 by default). */
function ofOne(
  apply: (x: Tensor, graph: Graph) => Tensor | readonly Tensor[],
  options: { readonly rank?: number; readonly domain?: Domain } = {},
): fc.Arbitrary<OperatorCase> {
  const rank = options.rank === undefined ? fc.integer({ min: 0, max: 3 }) : fc.constant(options.rank);
  return fc.tuple(rank.chain(dimensions), seed).map(([{ named, sizes }, seed]) => ({
    operands: [operand({ ...options, shape: named, sizes, random: createRandom(seed) })],
    sizes,
    apply: ([x], graph) => apply(x!, graph),
  }));
}

/** A function of two tensors of one shape. */
function ofPair(apply: (a: Tensor, b: Tensor) => Tensor): fc.Arbitrary<OperatorCase> {
  return fc.tuple(dimensions(2), seed).map(([{ named, sizes }, seed]) => {
    const random = createRandom(seed);
    return {
      operands: [1, 2].map(() => operand({ shape: named, sizes, random })),
      sizes,
      apply: ([a, b]) => apply(a!, b!),
    };
  });
}

/** A function of two tensors that broadcast: with axes of size 1 or missing leading axes, on either side. */
function ofBroadcast(
  apply: (a: Tensor, b: Tensor) => Tensor,
  domains: readonly [Domain, Domain] = [anywhere, anywhere],
): fc.Arbitrary<OperatorCase> {
  const side = fc.record({
    dropped: fc.integer({ min: 0, max: 3 }),
    ones: fc.array(fc.boolean(), { minLength: 3, maxLength: 3 }),
  });
  return fc.tuple(dimensions(3), side, side, seed).map(([{ named, sizes }, first, second, seed]) => {
    const random = createRandom(seed);
    const operands = [first, second].map(({ dropped, ones }, i) => {
      const shape = named.map((dimension, axis) => (ones[axis] ? 1 : dimension)).slice(dropped);
      return operand({ shape, sizes, random, domain: domains[i]! });
    });
    return { operands, sizes, apply: ([a, b]) => apply(a!, b!) };
  });
}

const axisSets = [undefined, [0], [1], [2], [-1], [0, 2], [1, 2], [0, 1, 2], [-1, -3]] as const;

const reductions = fc.tuple(dimensions(3), fc.constantFrom(...axisSets), fc.boolean(), seed).map(
  ([{ named, sizes }, axes, keepAxes, seed]): OperatorCase => ({
    operands: [operand({ shape: named, sizes, random: createRandom(seed) })],
    sizes,
    apply: ([x]) => reduceSum(x!, axes, { keepAxes }),
  }),
);

/** Shapes of attention, and others: [from, to], with the sizes of their names. */
const reshapes: readonly (readonly [readonly Dimension[], readonly Dimension[], Readonly<Record<string, number>>])[] = [
  [["b", "l", 12], ["b", "l", 3, 4], { b: 2, l: 3 }],
  [["b", "l", 3, 4], ["b", "l", 12], { b: 2, l: 3 }],
  [["b", 2, 3, "l", 4], ["b", 2, "q", 4], { b: 2, l: 3, q: 9 }],
  [["b", 2, "q", 4], ["b", 2, 3, "l", 4], { b: 2, l: 3, q: 9 }],
  [["t", 6], ["t", 3, 2], { t: 4 }],
  [[2, 3, 4], [4, 6], {}],
  [["n"], ["n", 1], { n: 3 }],
  [[1, 1], [], {}],
  [[], [1], {}],
];

const reshapings = fc.tuple(fc.constantFrom(...reshapes), seed).map(
  ([[from, to, sizes], seed]): OperatorCase => ({
    operands: [operand({ shape: from, sizes, random: createRandom(seed) })],
    sizes,
    apply: ([x]) => reshape(x!, to),
  }),
);

const transpositions = fc.tuple(dimensions(4), fc.shuffledSubarray([0, 1, 2, 3], { minLength: 4 }), seed).map(
  ([{ named, sizes }, order, seed]): OperatorCase => ({
    operands: [operand({ shape: named, sizes, random: createRandom(seed) })],
    sizes,
    apply: ([x]) => transpose(x!, order),
  }),
);

const sizeLists = fc.array(size, { minLength: 1, maxLength: 3 });
const outerAxes = fc.tuple(dimensions(2), fc.integer({ min: 0, max: 2 }));

const concatenations = fc
  .tuple(outerAxes, sizeLists, seed)
  .map(([[{ named, sizes }, axis], parts, seed]): OperatorCase => {
    const random = createRandom(seed);
    const total = parts.reduce((sum, part) => sum + part, 0);
    return {
      operands: parts.map((part) => operand({ shape: named.toSpliced(axis, 0, part), sizes, random })),
      sizes,
      apply: (operands) => concatenate(operands, axis, total),
    };
  });

/** Splits whose parts are used once, twice or not at all. */
const splits = fc
  .tuple(outerAxes, sizeLists, fc.array(fc.nat(2), { minLength: 1, maxLength: 3 }), seed)
  .map(([[{ named, sizes }, axis], parts, used, seed]): OperatorCase => {
    const total = parts.reduce((sum, part) => sum + part, 0);
    const shape = named.toSpliced(axis, 0, total);
    return {
      operands: [operand({ shape, sizes, random: createRandom(seed) })],
      sizes,
      apply: ([x]) => {
        const pieces = split(x!, axis, parts);
        return used.map((place) => pieces[place % pieces.length]!);
      },
    };
  });

const matrixProducts = fc
  .record({
    dims: dimensions(3),
    transposeA: fc.boolean(),
    transposeB: fc.boolean(),
    scale: fc.constantFrom(1, 0.5, -3),
    addend: fc.constantFrom("none", "bias", "matrix"),
    seed,
  })
  .map(({ dims: { named, sizes }, transposeA, transposeB, scale, addend, seed }): OperatorCase => {
    const random = createRandom(seed);
    const [rows, inner, columns] = named as [Dimension, Dimension, Dimension];
    const shapes = [
      transposeA ? [inner, rows] : [rows, inner],
      transposeB ? [columns, inner] : [inner, columns],
      ...(addend === "none" ? [] : [addend === "bias" ? [columns] : [rows, columns]]),
    ];
    return {
      operands: shapes.map((shape) => operand({ shape, sizes, random })),
      sizes,
      apply: ([a, b, c]) =>
        matrixProduct(a!, b!, { transposeA, transposeB, scale, ...(c === undefined ? {} : { addend: c }) }),
    };
  });

const quantizedProducts = fc
  .record({
    dims: dimensions(1),
    shape: fc.tuple(size, fc.integer({ min: 1, max: 70 })),
    bits: fc.constantFrom<Bits>(4, 8),
    addend: fc.constantFrom("none", "bias", "matrix"),
    seed,
  })
  .map(({ dims: { named, sizes }, shape, bits, addend, seed }): OperatorCase => {
    const random = createRandom(seed);
    const [rows, columns] = shape;
    const weight = quantizeMatrix(operand({ shape, sizes, random }).values, shape, bits)!;
    const { values, scales, zeroPoints } = weight;
    const tokens = named[0]!;
    const shapes = [[tokens, columns], ...(addend === "none" ? [] : [addend === "bias" ? [rows] : [tokens, rows]])];
    const fixed = (part: Float32Array | Uint8Array): FixedInput => ({
      type: part instanceof Float32Array ? "float32" : "uint8",
      shape: [rows, part.length / rows],
      values: part,
    });
    return {
      operands: shapes.map((shape) => operand({ shape, sizes, random })),
      sizes,
      fixed: { values: fixed(values), scales: fixed(scales), zeroPoints: fixed(zeroPoints) },
      apply: ([x, added], graph, { values, scales, zeroPoints }) => {
        const parts = { values: values!, scales: scales!, zeroPoints: zeroPoints! };
        return weightProduct(x!, { form: "stored", graph, shape, bits, ...parts }, added);
      },
    };
  });

/** Products whose gradients are added to each other, in all orders with other uses. */
const severalProducts = fc.tuple(size, fc.shuffledSubarray([0, 1, 2, 3, 4], { minLength: 2 }), seed).map(
  ([side, uses, seed]): OperatorCase => ({
    operands: [operand({ shape: [side, side], sizes: {}, random: createRandom(seed) })],
    sizes: {},
    apply: ([x]) => {
      const known = [
        (): Tensor => matrixProduct(x!, x!, { transposeA: true, scale: 0.5 }),
        (): Tensor => matrixProduct(x!, negate(x!), { transposeB: true }),
        (): Tensor => matrixProduct(multiply(x!, x!), x!),
        (): Tensor => matrixProduct(x!, x!, { transposeA: true, transposeB: true, addend: x! }),
        (): Tensor => sigmoid(x!),
      ];
      return uses.map((use) => known[use]!());
    },
  }),
);

const batchedProducts = fc
  .record({ dims: dimensions(5), transposeB: fc.boolean(), scale: fc.constantFrom(1, 0.5, -3), seed })
  .map(({ dims: { named, sizes }, transposeB, scale, seed }): OperatorCase => {
    const random = createRandom(seed);
    const [rows, inner, columns, ...batch] = named as [Dimension, Dimension, Dimension, ...Dimension[]];
    const a = [...batch, rows, inner];
    const b = [...batch, ...(transposeB ? [columns, inner] : [inner, columns])];
    return {
      operands: [a, b].map((shape) => operand({ shape, sizes, random })),
      sizes,
      apply: ([a, b]) => batchedProduct(a!, b!, { transposeB, scale }),
    };
  });

/** Few rows, so that most rows are gathered more than once, and indices with one or two axes. */
const gathers = fc
  .record({ rows: size, width: size, shape: fc.array(size, { minLength: 1, maxLength: 2 }), seed })
  .map(({ rows, width, shape, seed }): OperatorCase => {
    const random = createRandom(seed);
    const length = shape.reduce((product, size) => product * size, 1);
    const indices = Int32Array.from({ length }, () => random.integer(0, rows - 1));
    return {
      operands: [operand({ shape: [rows, width], sizes: {}, random })],
      sizes: {},
      apply: ([matrix], graph) => gatherRows(matrix!, graph.constant(indices, shape)),
    };
  });

/** Sequences of two ids. Many have common prefixes, and some are the beginning of another one or equal to it. */
const sequenceLists = fc.array(fc.array(fc.constantFrom(0, 1), { minLength: 1, maxLength: 6 }), {
  minLength: 1,
  maxLength: 4,
});

/** Causal attention of ragged sequences as in training, with heads that share keys and prefixes that may be shared. */
const attentions = fc
  .record({
    sequenceList: sequenceLists,
    share: fc.boolean(),
    keyValueHeads: fc.constantFrom(1, 2),
    group: fc.constantFrom(1, 3),
    wantedBlocks: fc.integer({ min: 1, max: 5 }),
    seed,
  })
  .map(({ sequenceList, share, keyValueHeads, group, wantedBlocks, seed }): OperatorCase => {
    const random = createRandom(seed);
    const headSize = 2;
    const heads = keyValueHeads * group;
    const batch = layOutSequences(sequenceList, { share });
    const { tokens, length, sequences } = batch;
    const { count = 0, copies = 0 } = batch.shared ?? {};
    // At most the wanted number of blocks, none of them empty.
    const blocks = Math.ceil(length / Math.ceil(length / Math.min(wantedBlocks, length)));
    const sizes = { tokens, batch: sequences, length, group, shared: count, copies, own: tokens - count, blocks };
    const mask = { data: causalMask(length, group), shape: [length, group, length] };
    const feeds: Readonly<Record<string, Feed>> = { ...placeFeeds(batch, blocks), mask };
    const shapes: Readonly<Record<string, readonly Dimension[]>> = {
      tokenAt: ["batch", "length"],
      placeOf: ["tokens"],
      present: ["batch", "length", 1],
      mask: ["length", "group", "length"],
      copyPlaces: ["shared", "copies"],
      copyPresent: ["shared", "copies", 1],
      ownPlaceOf: ["own"],
      blockRows: [blocks],
    };
    const fixed = Object.entries(feeds).map(([name, { data }]): [string, FixedInput] => {
      const type = data instanceof Float32Array ? "float32" : data instanceof Int32Array ? "int32" : "int64";
      return [name, { type, shape: shapes[name]!, values: data }];
    });
    const widths = [heads * headSize, keyValueHeads * headSize, keyValueHeads * headSize];
    return {
      operands: widths.map((width) => operand({ shape: ["tokens", width], sizes, random })),
      sizes,
      fixed: Object.fromEntries(fixed),
      apply: ([queries, keys, values], _, { tokenAt, placeOf, present, mask, ...places }) => {
        const { copyPlaces, copyPresent, ownPlaceOf, blockRows } = places;
        const shared = copyPlaces && {
          places: copyPlaces,
          present: copyPresent!,
          ownPlaceOf: ownPlaceOf!,
          blockRows: blockRows!,
        };
        const layout = { tokenAt: tokenAt!, placeOf: placeOf!, present: present!, shared };
        const attend = trainingAttention({ heads, keyValueHeads, headSize }, { layout, maskOf: () => mask!, blocks });
        return attend({ layer: 0, queries: queries!, keys: keys!, values: values! });
      },
    };
  });

/** As in attention, some logits of each row are masked by minus infinity, but never all. */
const maskedSoftmaxes = fc.tuple(dimensions(2), size, seed).map(([{ named, sizes }, width, seed]): OperatorCase => {
  const random = createRandom(seed);
  const open = random.integer(0, width - 1);
  const hidden = Array.from({ length: width }, (_, i) => i !== open && random.next() < 0.4);
  const mask = Float32Array.from(hidden, (isHidden) => (isHidden ? Number.NEGATIVE_INFINITY : 0));
  return {
    operands: [operand({ shape: [...named, width], sizes, random })],
    sizes,
    apply: ([x], graph) => softmax(add(x!, graph.constant(mask, [width]))),
  };
});

const rmsNorms = fc
  .tuple(fc.integer({ min: 1, max: 2 }).chain(dimensions), size, fc.constantFrom(1e-6, 0.3), seed)
  .map(([{ named, sizes }, width, epsilon, seed]): OperatorCase => {
    const random = createRandom(seed);
    return {
      operands: [
        operand({ shape: [...named, width], sizes, random, domain: awayFromZero }),
        operand({ shape: [width], sizes, random }),
      ],
      sizes,
      apply: ([x, weight]) => rmsNorm(x!, weight!, epsilon),
    };
  });

const layerNorms = fc
  .tuple(fc.integer({ min: 1, max: 2 }).chain(dimensions), fc.integer({ min: 2, max: 5 }), seed)
  .map(([{ named, sizes }, width, seed]): OperatorCase => {
    const random = createRandom(seed);
    return {
      operands: [
        operand({ shape: [...named, width], sizes, random }),
        operand({ shape: [width], sizes, random }),
        operand({ shape: [width], sizes, random }),
      ],
      sizes,
      apply: ([x, weight, bias]) => layerNorm(x!, { weight: weight!, bias: bias!, epsilon: 0.3 }),
    };
  });

const rotations = fc
  .record({ tokens: size, heads: fc.integer({ min: 1, max: 3 }), half: size, seed })
  .map(({ tokens, heads, half, seed }): OperatorCase => {
    const random = createRandom(seed);
    const rows = 8;
    const angles = Float32Array.from({ length: rows * half }, () => 6 * random.next());
    const positions = BigInt64Array.from({ length: tokens }, () => BigInt(random.integer(0, rows - 1)));
    const sizes = { tokens };
    return {
      operands: [operand({ shape: ["tokens", heads * 2 * half], sizes, random })],
      sizes,
      apply: ([x], graph) =>
        rotate(x!, heads, {
          cos: graph.constant(angles.map(Math.cos), [rows, half]),
          sin: graph.constant(angles.map(Math.sin), [rows, half]),
          positions: graph.constant(positions, [1, tokens]),
        }),
    };
  });

/** Every operator with a gradient. A new operator needs a new row. */
export const operators: Readonly<Record<string, fc.Arbitrary<OperatorCase>>> = {
  add: ofBroadcast(add),
  subtract: ofBroadcast(subtract),
  multiply: ofBroadcast(multiply),
  divide: ofBroadcast(divide, [anywhere, awayFromZero]),
  minimum: ofBroadcast(minimum, [nearIntegers, nearHalves]),
  maximum: ofBroadcast(maximum, [nearIntegers, nearHalves]),
  clip: ofOne((x, graph) => clip(x, graph.scalar(-0.5), graph.scalar(1.5)), { domain: nearIntegers }),
  negate: ofOne(negate),
  exp: ofOne(exp),
  log: ofOne(log, { domain: between(0.5, 4) }),
  sigmoid: ofOne(sigmoid),
  reduceSum: reductions,
  total: ofOne(total),
  reshape: reshapings,
  transpose: transpositions,
  concatenate: concatenations,
  split: splits,
  expandDimension: ofOne((x) => expandDimension(x, 1), { rank: 2 }),
  squeeze: ofOne((x) => squeeze(expandDimension(x, 0), 0), { rank: 2 }),
  matrixProduct: matrixProducts,
  "weightProduct, quantized": quantizedProducts,
  batchedProduct: batchedProducts,
  rowDot: ofPair(rowDot),
  "several products of one tensor": severalProducts,
  sum: ofOne((x) => sum([x, negate(x), multiply(x, x)])),
  gatherRows: gathers,
  silu: ofOne(silu),
  swiglu: ofPair(swiglu),
  gelu: ofOne((x) => gelu(x, { approximate: false })),
  "gelu, approximate": ofOne((x) => gelu(x, { approximate: true })),
  softmax: maskedSoftmaxes,
  rmsNorm: rmsNorms,
  layerNorm: layerNorms,
  rotate: rotations,
  trainingAttention: attentions,
};
