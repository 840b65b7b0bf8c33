import type { Datum } from "../backend/datum.ts";
import type { SequenceLoss } from "./sequence-loss.ts";

/** The options of {@link dpo}. */
export interface DpoOptions {
  /** How strongly the policy is kept close to the reference. Small values let it move far. */
  readonly beta: number;
  /** The loss as a function of the margin. `ipo` averages over tokens, the others sum. */
  readonly form: "sigmoid" | "hinge" | "ipo";
  /** The probability that a preference is the wrong way round. For `sigmoid` only. */
  readonly labelSmoothing: number;
  /** If true, the reference is left out, as if it gave every answer the same probability. */
  readonly referenceFree: boolean;
}

/**
 * Direct preference optimization (Rafailov et al. 2023, https://arxiv.org/abs/2305.18290, eq. 7). w is the preferred
 * answer and l the other one. Each l_* (policy) and p_* (reference) is a sum of logprobs over the tokens of the answer.
 * The margin is h = (l_w - p_w) - (l_l - p_l), and the loss is one of:
 *
 * - `sigmoid`: -(1 - e) log sigma(beta h) - e log sigma(-beta h), where e is the label smoothing (Mitchell 2023,
 *   https://ericmitchell.ai/cdpo.pdf)
 * - `hinge`: max(0, 1 - beta h) (SLiC, Zhao et al. 2023, https://arxiv.org/abs/2305.10425)
 * - `ipo`: (h - 1 / (2 beta))^2, where h uses means over tokens (Azar et al. 2023, https://arxiv.org/abs/2310.12036,
 *   eq. 17)
 */
export function dpo(options: DpoOptions): SequenceLoss {
  const { beta, form, labelSmoothing, referenceFree } = options;
  const usesMeans = form === "ipo";
  return {
    id: "dpo",
    needsReference: !referenceFree,
    evaluate: ({ data, logprobs, preferred, marginOffset = 0 }) => {
      const gains = data.map((datum, i) => gain({ datum, logprobs: logprobs[i]!, referenceFree }));
      const chosen = side(gains.slice(0, preferred), usesMeans);
      const rejected = side(gains.slice(preferred), usesMeans);
      const margin = chosen.gain - rejected.gain + marginOffset;
      const { value, slope } = outcome({ margin, beta, form, labelSmoothing });
      const derivatives = data.map(({ lossMask }, i) => {
        const scale = i < preferred ? chosen.scale : -rejected.scale;
        return lossMask.map((mask) => (mask === 0 ? 0 : slope * scale));
      });
      return {
        value,
        derivatives,
        metrics: {
          "preference/accuracy": margin > 0 ? 1 : 0,
          "preference/margin": beta * margin,
          "preference/chosen-reward": beta * chosen.gain,
          "preference/rejected-reward": beta * rejected.gain,
        },
      };
    },
  };
}

/** Returns the sum of l - p over the trained tokens of a datum, and the number of these tokens. */
function gain(options: { readonly datum: Datum; readonly logprobs: Float32Array; readonly referenceFree: boolean }): {
  readonly sum: number;
  readonly tokens: number;
} {
  const { datum, logprobs, referenceFree } = options;
  let sum = 0;
  let tokens = 0;
  for (const [t, mask] of datum.lossMask.entries()) {
    if (mask === 0) continue;
    tokens += 1;
    sum += logprobs[t]! - (referenceFree ? 0 : (datum.referenceLogprobs?.[t] ?? 0));
  }
  return { sum, tokens };
}

/**
 * Returns the gain of an answer, which may consist of several data, and its derivative with respect to each logprob.
 */
function side(
  parts: readonly { readonly sum: number; readonly tokens: number }[],
  usesMeans: boolean,
): { readonly gain: number; readonly scale: number } {
  const tokens = parts.reduce((total, part) => total + part.tokens, 0);
  const sum = parts.reduce((total, part) => total + part.sum, 0);
  const scale = usesMeans && tokens > 0 ? 1 / tokens : 1;
  return { gain: sum * scale, scale };
}

/** Returns the loss and its derivative with respect to the margin. */
function outcome(options: {
  readonly margin: number;
  readonly beta: number;
  readonly form: DpoOptions["form"];
  readonly labelSmoothing: number;
}): { readonly value: number; readonly slope: number } {
  const { margin, beta, form, labelSmoothing } = options;
  const scaled = beta * margin;
  if (form === "hinge") return scaled < 1 ? { value: 1 - scaled, slope: -beta } : { value: 0, slope: 0 };
  if (form === "ipo") {
    const distance = margin - 1 / (2 * beta);
    return { value: distance * distance, slope: 2 * distance };
  }
  const value = (1 - labelSmoothing) * softplus(-scaled) + labelSmoothing * softplus(scaled);
  return { value, slope: beta * (sigmoid(scaled) - (1 - labelSmoothing)) };
}

/** Returns log(1 + e^x) = -log sigma(-x). */
function softplus(x: number): number {
  return Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)));
}

function sigmoid(x: number): number {
  return x >= 0 ? 1 / (1 + Math.exp(-x)) : Math.exp(x) / (1 + Math.exp(x));
}
