import type { Policy } from "../../contract/policy.ts";
import type { SamplingSettings } from "../../contract/sampler.ts";

/**
 * The same policy with sampling settings of its own, which replace those of each request: for a judge that needs room
 * to think, or a partner that plays greedily. Settings that are left out are those of the request.
 */
export function withSampling(policy: Policy, sampling: Partial<SamplingSettings>): Policy {
  const { flush, close } = policy;
  return {
    specificationVersion: "v1",
    name: policy.name,
    accepts: policy.accepts,
    act: async (request) => {
      const used = { ...request.sampling, ...sampling };
      const result = await policy.act({ ...request, sampling: used });
      return result.tokens === undefined ? result : { ...result, tokens: { sampling: used, ...result.tokens } };
    },
    ...(flush === undefined ? {} : { flush: () => flush.call(policy) }),
    ...(close === undefined ? {} : { close: () => close.call(policy) }),
  };
}
