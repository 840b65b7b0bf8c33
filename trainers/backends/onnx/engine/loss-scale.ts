import { LyceumError } from "../../../../src/contract/errors/index.ts";

/** The state of a {@link LossScale}. */
export interface LossScaleState {
  readonly scale: number;
  readonly cleanRuns: number;
}

const first: LossScaleState = { scale: 2 ** 16, cleanRuns: 0 };
const greatest = 2 ** 24;
const least = 2 ** -24;
const runsBeforeGrowth = 2000;

/**
 * The factor of the loss in float16 training. Without it, most gradients underflow (Micikevicius et al. 2017,
 * https://arxiv.org/abs/1710.03740, section 3.2). If the gradient of a run overflows, the run is repeated at half the
 * scale, so no data are lost. After many clean runs the scale doubles. It is always a power of two, so dividing by it
 * is exact.
 */
export class LossScale {
  #state: LossScaleState;

  constructor(state: LossScaleState = first) {
    this.#state = state;
  }

  get state(): LossScaleState {
    return this.#state;
  }

  /** Restores a saved state. */
  restore(state: LossScaleState): void {
    this.#state = state;
  }

  /** Counts a run with a finite gradient. */
  grow(): void {
    const { scale, cleanRuns } = this.#state;
    this.#state =
      cleanRuns + 1 < runsBeforeGrowth
        ? { scale, cleanRuns: cleanRuns + 1 }
        : { scale: Math.min(greatest, 2 * scale), cleanRuns: 0 };
  }

  /** Halves the scale after an overflow. Throws `backend.not-finite` if the scale is already at its minimum. */
  shrink(): void {
    const { scale } = this.#state;
    if (scale <= least) {
      throw new LyceumError({
        code: "backend.not-finite",
        message:
          "The gradient is not finite in float16, even at the smallest loss scale. The weights were not changed.",
        hint: "Lower the weights of the loss terms, or train with precision float32.",
      });
    }
    this.#state = { scale: scale / 2, cleanRuns: 0 };
  }
}
