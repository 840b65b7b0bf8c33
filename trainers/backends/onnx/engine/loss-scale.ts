import { LyceumError } from "../../../../src/contract/errors/index.ts";

/** Where a {@link LossScale} stands. */
export interface LossScaleState {
  readonly scale: number;
  readonly cleanRuns: number;
}

const first: LossScaleState = { scale: 2 ** 16, cleanRuns: 0 };
const greatest = 2 ** 24;
const least = 2 ** -24;
const runsBeforeGrowth = 2000;

/**
 * What a loss is multiplied by before it is differentiated in float16, whose smallest numbers most gradients are below
 * (Micikevicius et al. 2017, https://arxiv.org/abs/1710.03740, section 3.2). A run whose gradient overflows is made
 * again at half the scale, so that no data are lost; after many clean runs the scale doubles. Always a power of two:
 * dividing by it is exact.
 */
export class LossScale {
  #state: LossScaleState;

  constructor(state: LossScaleState = first) {
    this.#state = state;
  }

  get state(): LossScaleState {
    return this.#state;
  }

  /** Goes on from where another stood. */
  restore(state: LossScaleState): void {
    this.#state = state;
  }

  /** After a run whose gradient was finite. */
  grow(): void {
    const { scale, cleanRuns } = this.#state;
    this.#state =
      cleanRuns + 1 < runsBeforeGrowth
        ? { scale, cleanRuns: cleanRuns + 1 }
        : { scale: Math.min(greatest, 2 * scale), cleanRuns: 0 };
  }

  /** After a run whose gradient was not. Throws `backend.not-finite` where a smaller scale would help no more. */
  shrink(): void {
    const { scale } = this.#state;
    if (scale <= least) {
      throw new LyceumError({
        code: "backend.not-finite",
        message:
          "The gradient is not finite in float16, however small the loss is scaled; the weights were left as they were.",
        hint: "Lower the weights of the loss terms, or train with precision float32.",
      });
    }
    this.#state = { scale: scale / 2, cleanRuns: 0 };
  }
}
