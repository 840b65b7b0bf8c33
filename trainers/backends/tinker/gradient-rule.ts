/**
 * What a server makes of the losses of single tokens.
 *
 * - `sum`: the gradient of their sum over all tokens, as the Tinker API says.
 * - `mean`: the mean, over all sequences since the last optimizer step, of each sequence's sum divided by the sum of its
 *   weights. SkyRL's JAX backend does this.
 */
export type GradientRule = "sum" | "mean";
