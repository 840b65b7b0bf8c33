import { expect, it } from "vitest";
import { textMessage } from "../../src/contract/message.ts";
import type { ActRequest, Policy } from "../../src/contract/policy.ts";
import { defaultSampling } from "../../src/contract/sampler.ts";
import { defineEnvironment } from "../../src/core/environment/define-environment.ts";
import { withSampling } from "../../src/core/policy/with-sampling.ts";
import { defaultRolloutLimits, resolveLimits } from "../../src/core/rollout/rollout-limits.ts";
import { actRequest } from "./policy/act-request.ts";

it("an undefined limit of rollouts is the default", () => {
  expect(resolveLimits({ turns: undefined, tokens: 5 })).toEqual({ ...defaultRolloutLimits, tokens: 5 });
});

it("an undefined limit of tools is the default", () => {
  const make = () =>
    defineEnvironment<string>({
      id: "spelling",
      tasks: ["red"],
      reset: ({ task }) => task,
      tools: { spell: { description: "Spells.", execute: () => "" } },
      toolLimits: { callMs: undefined },
      step: () => ({ reward: 1 }),
    });
  expect(make).not.toThrow();
});

it("an undefined sampling setting keeps that of the request", async () => {
  const requests: ActRequest[] = [];
  const policy: Policy = {
    specificationVersion: "v1",
    name: "seen",
    accepts: ["text"],
    act: async (request) => {
      requests.push(request);
      return { action: { message: textMessage("assistant", ""), finish: "stop" } };
    },
  };
  await withSampling(policy, { temperature: undefined, maxTokens: 7 }).act(actRequest());
  expect(requests[0]!.sampling).toEqual({ ...defaultSampling, maxTokens: 7 });
});
