import { unpackBits } from "../graph/bits.ts";
import { add, log, multiply, negate, select, subtract } from "../graph/elementwise.ts";
import { gatherRows, scatterAddRows } from "../graph/gather.ts";
import { gradients } from "../graph/gradients.ts";
import { matrixProduct, rowDot } from "../graph/linear.ts";
import { softmax } from "../graph/neural.ts";
import { pickColumns, total } from "../graph/pick.ts";
import { reduceMax } from "../graph/reduction.ts";
import { concatenate, expandDimension, splitEvenly, squeeze } from "../graph/shape.ts";
import { knownDimension, type Tensor } from "../graph/tensor.ts";
import type { BoundTerm } from "./bound-term.ts";
import { type TokenTerm, tokenLoss } from "./token-loss.ts";

/** What is known of each position that carries loss; all (positions). */
export interface PositionInputs {
  /** int32 */
  readonly targets: Tensor;
  readonly inverseTemperature: Tensor;
  readonly mask: Tensor;
  readonly advantages: Tensor;
  readonly behaviour: Tensor;
  readonly reference: Tensor;
  /** (positions, 32-bit words): the tokens that each target was drawn from, a bit for each; none where from all. */
  readonly supports: Tensor | undefined;
}

/** Results of a {@link lossHead}. */
export interface LossHead {
  /** (1) each: the sum of each term over positions. */
  readonly sums: readonly Tensor[];
  /** (positions) */
  readonly logprobs: Tensor;
  /** (positions), where asked for. */
  readonly entropy: Tensor | undefined;
  /** (positions, hiddenSize): gradient of the loss by the hidden states. */
  readonly hiddenGradient: Tensor | undefined;
  /** (vocabulary, hiddenSize): gradient of the loss by the head's weights, where asked for. */
  readonly weightGradient: Tensor | undefined;
}

/** Stands in for the logits of tokens outside of a support: their probability is 0, and every product is finite. */
const excluded = -1e20;

/**
 * Output head, log-probabilities, loss and the gradient of it all at once, in chunks of positions: at a large
 * vocabulary the logits are the greatest part of a step's memory, and this way only one chunk of them lives at a
 * time. Every term is a sum over positions, so a chunk's gradient is known as soon as its logits are.
 */
export function lossHead(options: {
  /** (positions, hiddenSize) */
  readonly hidden: Tensor;
  /** (vocabulary, hiddenSize) */
  readonly weight: Tensor;
  readonly positions: PositionInputs;
  readonly terms: readonly BoundTerm<TokenTerm>[];
  /** A scalar that multiplies the gradients. */
  readonly lossScale: Tensor;
  /** How many chunks; the number of positions is a multiple of it. */
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
  readonly weight: Tensor;
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
  const product = matrixProduct(hidden, weight, { transposeB: true });
  const logits =
    support === undefined
      ? product
      : select(unpackBits(support, knownDimension(weight, 0)), product, weight.graph.scalar(excluded));
  const probabilities = softmax(logits);
  // log-sum-exp from the likeliest token, whose probability is at least 1 / vocabulary: exact where a probability
  // itself would underflow.
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
    // One row's factor is the same for all of its logits, so it is applied to the narrow side of each product.
    byHidden = multiply(subtract(gatherRows(weight, targets), matrixProduct(probabilities, weight)), gain!);
    if (options.wantWeightGradient)
      byWeight = negate(matrixProduct(probabilities, scaledByHidden!, { transposeA: true }));
  } else {
    const expected = matrixProduct(spread, weight);
    byHidden = gain === undefined ? negate(expected) : subtract(multiply(gatherRows(weight, targets), gain), expected);
    if (options.wantWeightGradient) byWeight = negate(matrixProduct(spread, hidden, { transposeA: true }));
  }
  if (byWeight !== undefined && scaledByHidden !== undefined) {
    byWeight = add(byWeight, scatterAddRows(weight, targets, scaledByHidden));
  }
  return {
    sums: losses.map(total),
    logprobs,
    entropy,
    hiddenGradient: multiply(byHidden, inverseTemperature),
    weightGradient: byWeight,
  };
}
