import type { TinkerDatum } from "../../tinker/protocol/pass-request.ts";
import { vector } from "../../tinker/protocol/tensor.ts";
import type { GradientRule } from "./gradient-rule.ts";
import { RemoteModel } from "./remote-model.ts";
import { unsupported } from "./tinker-error.ts";
import type { TinkerSession } from "./tinker-session.ts";

/** What the answers of a server show, because its capabilities do not tell. */
export interface ServerBehaviour {
  readonly rule: GradientRule;
  /** True if the server recognizes a repeated operation by its sequence id. */
  readonly numbered: boolean;
}

const length = 8;

/**
 * Finds out how a server behaves, with an adapter of its own that is freed afterwards. A pass with the weights 1, and a
 * pass with the same sequence twice and the weights 2, have gradients whose norms differ by a factor of 4 under the rule
 * `sum` and are equal under `mean`. The steps have a learning rate of 0. A server that does not report the norm is
 * taken to follow the API, `sum`. Throws `backend.unsupported` for any other factor.
 */
export async function probeServer(
  session: TinkerSession,
  options: {
    readonly baseModel: string;
    /** The rule, if it is known. */
    readonly rule: GradientRule | undefined;
    readonly signal?: AbortSignal | undefined;
  },
): Promise<ServerBehaviour> {
  const probe = await RemoteModel.create({ ...options, session, rank: 1, seed: 1, numbered: false });
  try {
    const numbered = await probe.recognizesNumbers([datum(1)]);
    if (options.rule !== undefined) return { rule: options.rule, numbered };
    const once = await gradientNorm(probe, [datum(1)]);
    const four = await gradientNorm(probe, [datum(2), datum(2)]);
    if (once === undefined || four === undefined || once === 0) return { rule: "sum", numbered };
    const factor = four / once;
    if (Math.abs(factor - 4) < 0.05) return { rule: "sum", numbered };
    if (Math.abs(factor - 1) < 0.05) return { rule: "mean", numbered };
    throw unsupported(
      `The gradients of the server are neither sums nor means of its losses: a factor of 4 or 1 was expected, not ${factor.toFixed(3)}.`,
      "Set backend.gradients to sum or mean if you know the rule of this server.",
    );
  } finally {
    await probe.unload();
  }
}

async function gradientNorm(model: RemoteModel, data: readonly TinkerDatum[]): Promise<number | undefined> {
  // Not together: see `runsInOrder`.
  await (await model.forwardBackward(data, { name: "cross_entropy" })).result();
  const adam = { learningRate: 0, beta1: 0, beta2: 0, epsilon: 1e-8, weightDecay: 0 };
  return (await model.optimStep(adam)).result();
}

function datum(weight: number): TinkerDatum {
  const ids = Int32Array.from({ length: length + 1 }, (_, i) => i + 1);
  return {
    tokens: ids.subarray(0, length),
    lossInputs: {
      target_tokens: vector(ids.subarray(1)),
      weights: vector(new Float32Array(length).fill(weight)),
    },
  };
}
