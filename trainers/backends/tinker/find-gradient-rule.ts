import type { TinkerDatum } from "../../tinker/protocol/pass-request.ts";
import type { GradientRule } from "./gradient-rule.ts";
import { probeDatum } from "./probe-datum.ts";
import { RemoteModel } from "./remote-model.ts";
import { unsupported } from "./tinker-error.ts";
import type { TinkerSession } from "./tinker-session.ts";

/**
 * Measures how a server combines losses into a gradient, with an adapter that is deleted afterwards. One pass has a
 * sequence with the weights 1, the other has it twice with the weights 2. The norms of their gradients differ by a
 * factor of 4 under the rule `sum`, and are equal under `mean`. The steps have a learning rate of 0. If the server
 * reports no norm, returns `sum`, the rule of the API. Throws `backend.unsupported` for any other factor.
 */
export async function findGradientRule(
  session: TinkerSession,
  options: { readonly baseModel: string; readonly signal?: AbortSignal | undefined },
): Promise<GradientRule> {
  const probe = await RemoteModel.create({ ...options, session, rank: 1, seed: 1 });
  try {
    const once = await gradientNorm(probe, [probeDatum(1)]);
    const four = await gradientNorm(probe, [probeDatum(2), probeDatum(2)]);
    if (once === undefined || four === undefined || once === 0) return "sum";
    const factor = four / once;
    if (Math.abs(factor - 4) < 0.05) return "sum";
    if (Math.abs(factor - 1) < 0.05) return "mean";
    throw unsupported(
      `The gradients of the server are neither sums nor means of its losses: a factor of 4 or 1 was expected, not ${factor.toFixed(3)}.`,
      "Set backend.gradients to sum or mean if you know the rule of this server.",
    );
  } finally {
    await probe.unload();
  }
}

async function gradientNorm(model: RemoteModel, data: readonly TinkerDatum[]): Promise<number | undefined> {
  // The step waits for the pass: see `runsInOrder`.
  await (await model.forwardBackward(data, { name: "cross_entropy" })).result();
  const adam = { learningRate: 0, beta1: 0, beta2: 0, epsilon: 1e-8, weightDecay: 0 };
  return (await model.optimStep(adam)).result();
}
