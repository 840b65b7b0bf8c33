import { unpackBits } from "../graph/bits.ts";
import { add, log, multiply, negate, select, subtract } from "../graph/elementwise.ts";
import { scatterAddRows } from "../graph/gather.ts";
import { gradients } from "../graph/gradients.ts";
import { matrixProduct, rowDot } from "../graph/linear.ts";
import { softmax } from "../graph/neural.ts";
import { pickColumns, total } from "../graph/pick.ts";
import { asMatrix, type Weight, weightProduct, weightRows } from "../graph/quantized-weight.ts";
import { reduceMax } from "../graph/reduction.ts";
import { concatenate, expandDimension, splitEvenly, squeeze } from "../graph/shape.ts";
import type { Tensor } from "../graph/tensor.ts";
import type { BoundTerm } from "./bound-term.ts";
import { type TokenTerm, tokenLoss } from "./token-loss.ts";

/** The inputs of each position with loss. All shapes are (positions). */
export interface PositionInputs {
  /** int32 */
  readonly targets: Tensor;
  readonly inverseTemperature: Tensor;
  readonly mask: Tensor;
  readonly advantages: Tensor;
  readonly behaviour: Tensor;
  readonly reference: Tensor;
  /**
   * (positions, 32-bit words): a bitmap of the tokens that each target was sampled from. Undefined if all targets were
   * sampled from the whole vocabulary.
   */
  readonly supports: Tensor | undefined;
}

/** The results of {@link lossHead}. */
export interface LossHead {
  /** The sum of each term over positions, with the shape (1). */
  readonly sums: readonly Tensor[];
  /** (positions) */
  readonly logprobs: Tensor;
  /** (positions), if requested. */
  readonly entropy: Tensor | undefined;
  /** (positions, hiddenSize): the gradient of the loss with respect to the hidden states. */
  readonly hiddenGradient: Tensor | undefined;
  /** (vocabulary, hiddenSize): the gradient of the loss with respect to the head's weights, if requested. */
  readonly weightGradient: Tensor | undefined;
}

/** The logit of tokens outside of a support. Their probability becomes 0, and all products stay finite. */
const excluded = -1e20;

/**
 * Computes the output head, log-probabilities, loss and gradient together, in chunks of positions. At a large
 * vocabulary the logits take most of a step's memory. With chunks, only one chunk of logits exists at a time. Every
 * term is a sum over positions, so a chunk's gradient needs only its own logits.
 */
export function lossHead(options: {
  /** (positions, hiddenSize) */
  readonly hidden: Tensor;
  /** (vocabulary, hiddenSize) */
  readonly weight: Weight;
  readonly positions: PositionInputs;
  readonly terms: readonly BoundTerm<TokenTerm>[];
  /** A scalar factor of the gradients. */
  readonly lossScale: Tensor;
  /** The number of chunks. The number of positions is a multiple of it. */
  readonly chunks: number;
  readonly wantEntropy: boolean;
  readonly wantWeightGradient: boolean;
}): LossHead {
  const { positions, chunks } = options;
  const cut = (x: Tensor): Tensor[] => splitEvenly(x, { axis: 0, count: chunks, name: "chunk" });
  const parts = {
    hidden: cut(options.hidden),
    targets: cut(positions.targets),
    inverseTemperature: cut(positions.inverseTemperature),
    mask: cut(positions.mask),
    advantages: cut(positions.advantages),
    behaviour: cut(positions.behaviour),
    reference: cut(positions.reference),
    supports: positions.supports === undefined ? undefined : cut(positions.supports),
  };
  const results = Array.from({ length: chunks }, (_, i) =>
    chunkLoss({
      ...options,
      hidden: parts.hidden[i]!,
      targets: parts.targets[i]!,
      inverseTemperature: parts.inverseTemperature[i]!,
      support: parts.supports?.[i],
      token: {
        mask: parts.mask[i]!,
        advantages: parts.advantages[i]!,
        behaviour: parts.behaviour[i]!,
        reference: parts.reference[i]!,
      },
    }),
  );
  const join = (pieces: readonly (Tensor | undefined)[]): Tensor | undefined =>
    pieces[0] === undefined
      ? undefined
      : pieces.length === 1
        ? pieces[0]
        : concatenate(pieces as Tensor[], 0, "positions");
  const sum = (pieces: readonly (Tensor | undefined)[]): Tensor | undefined =>
    pieces[0] === undefined ? undefined : (pieces as Tensor[]).reduce((a, b) => add(a, b));
  return {
    sums: options.terms.map((_, term) => sum(results.map((result) => result.sums[term]))!),
    logprobs: join(results.map((result) => result.logprobs))!,
    entropy: join(results.map((result) => result.entropy)),
    hiddenGradient: join(results.map((result) => result.hiddenGradient)),
    weightGradient: sum(results.map((result) => result.weightGradient)),
  };
}

function chunkLoss(options: {
  readonly hidden: Tensor;
  readonly weight: Weight;
  readonly targets: Tensor;
  readonly inverseTemperature: Tensor;
  readonly support: Tensor | undefined;
  readonly token: {
    readonly mask: Tensor;
    readonly advantages: Tensor;
    readonly behaviour: Tensor;
    readonly reference: Tensor;
  };
  readonly terms: readonly BoundTerm<TokenTerm>[];
  readonly lossScale: Tensor;
  readonly wantEntropy: boolean;
  readonly wantWeightGradient: boolean;
}): LossHead {
  const { weight, targets, support, token, terms } = options;
  const column = (x: Tensor): Tensor => expandDimension(x, 1);
  const inverseTemperature = column(options.inverseTemperature);
  const hidden = multiply(options.hidden, inverseTemperature);
  const product = weightProduct(hidden, weight);
  const logits =
    support === undefined
      ? product
      : select(unpackBits(support, weight.shape[0] as number), product, weight.graph.scalar(excluded));
  const probabilities = softmax(logits);
  // Computes log-sum-exp from the most likely token, whose probability is at least 1 / vocabulary. That is exact even
  // if another probability underflows.
  const peak = reduceMax(logits, [1], { keepAxes: true });
  const logSumExp = subtract(peak, log(reduceMax(probabilities, [1], { keepAxes: true })));
  const logprobs = subtract(pickColumns(logits, targets), squeeze(logSumExp, 1));
  const needsEntropy = options.wantEntropy || terms.some(({ term }) => term.type === "entropy");
  const entropy = needsEntropy ? squeeze(subtract(logSumExp, rowDot(probabilities, logits)), 1) : undefined;
  if (terms.length === 0) {
    return { sums: [], logprobs, entropy, hiddenGradient: undefined, weightGradient: undefined };
  }
  const losses = terms.map((bound) => tokenLoss(bound, { ...token, logprobs, entropy }));
  const leaves = entropy === undefined ? [logprobs] : [logprobs, entropy];
  const [byLogprob, byEntropy] = gradients({
    outputs: losses.map((tensor) => ({ tensor, gradient: options.lossScale })),
    by: leaves,
  });
  // d logprob / d logits = onehot - p, and d entropy / d logits = -p (log p + entropy).
  const gain = byLogprob === undefined ? undefined : column(byLogprob);
  let spread: Tensor | undefined;
  if (byEntropy !== undefined) {
    const surprise = add(subtract(logits, logSumExp), column(entropy!));
    const slope = multiply(column(byEntropy), surprise);
    spread = multiply(probabilities, gain === undefined ? slope : add(slope, gain));
  }
  const scaledByHidden = gain === undefined ? undefined : multiply(hidden, gain);
  let byHidden: Tensor;
  let byWeight: Tensor | undefined;
  if (spread === undefined) {
    // A row's factor is the same for all of its logits, so it is applied to the narrow side of each product.
    byHidden = multiply(
      subtract(weightRows(weight, targets), matrixProduct(probabilities, asMatrix(weight, probabilities))),
      gain!,
    );
    if (options.wantWeightGradient)
      byWeight = negate(matrixProduct(probabilities, scaledByHidden!, { transposeA: true }));
  } else {
    const expected = matrixProduct(spread, asMatrix(weight, spread));
    byHidden = gain === undefined ? negate(expected) : subtract(multiply(weightRows(weight, targets), gain), expected);
    if (options.wantWeightGradient) byWeight = negate(matrixProduct(spread, hidden, { transposeA: true }));
  }
  if (byWeight !== undefined && scaledByHidden !== undefined) {
    byWeight = add(byWeight, scatterAddRows(asMatrix(weight, hidden), targets, scaledByHidden));
  }
  return {
    sums: losses.map(total),
    logprobs,
    entropy,
    hiddenGradient: multiply(byHidden, inverseTemperature),
    weightGradient: byWeight,
  };
}
