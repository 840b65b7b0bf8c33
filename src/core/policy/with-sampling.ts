import type { Policy } from "../../contract/policy.ts";
import type { SamplingSettings } from "../../contract/sampler.ts";
import { withoutUndefined } from "../without-undefined.ts";

/**
 * Wraps a policy with sampling settings that replace those of each request. Use it for a judge that needs a longer
 * answer, or for a partner that plays greedily. Absent settings keep the request's values.
 */
export function withSampling(policy: Policy, sampling: Partial<SamplingSettings>): Policy {
  const { flush, close } = policy;
  return {
    specificationVersion: "v1",
    name: policy.name,
    accepts: policy.accepts,
    act: async (request) => {
      const used = { ...request.sampling, ...withoutUndefined(sampling) };
      const result = await policy.act({ ...request, sampling: used });
      return result.tokens === undefined ? result : { ...result, tokens: { sampling: used, ...result.tokens } };
    },
    ...(flush === undefined ? {} : { flush: () => flush.call(policy) }),
    ...(close === undefined ? {} : { close: () => close.call(policy) }),
  };
}
