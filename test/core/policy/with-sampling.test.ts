import { expect, test } from "vitest";
import { textMessage } from "../../../src/contract/message.ts";
import type { ActRequest, Policy } from "../../../src/contract/policy.ts";
import { withSampling } from "../../../src/core/policy/with-sampling.ts";

const request: ActRequest = {
  agent: "a",
  messages: [textMessage("user", "?")],
  sampling: { temperature: 0, maxTokens: 16, topK: 5 },
  seed: 1,
};

function policy(): Policy & { readonly asked: ActRequest[]; readonly calls: string[] } {
  const asked: ActRequest[] = [];
  const calls: string[] = [];
  return {
    asked,
    calls,
    specificationVersion: "v1",
    name: "p",
    accepts: ["text"],
    act: async (given) => {
      asked.push(given);
      return {
        action: { message: textMessage("assistant", "!"), finish: "stop" },
        tokens: {
          extendsPrevious: false,
          newPromptIds: [1],
          promptLength: 1,
          completionIds: [2],
          logprobs: [-1],
          weightsVersion: 0,
        },
      };
    },
    flush() {
      this.calls.push("flush");
    },
    async close() {
      this.calls.push("close");
    },
  } as Policy & { asked: ActRequest[]; calls: string[] };
}

test("a policy with its own sampling settings uses and reports them", async () => {
  const inner = policy();
  const own = withSampling(inner, { temperature: 0.7, maxTokens: 512 });
  const { tokens } = await own.act(request);
  const used = { temperature: 0.7, maxTokens: 512, topK: 5 };
  expect(inner.asked).toEqual([{ ...request, sampling: used }]);
  expect(tokens!.sampling).toEqual(used);
  own.flush!();
  await own.close!();
  expect(inner.calls).toEqual(["flush", "close"]);
  expect(own).toMatchObject({ name: "p", accepts: ["text"] });
});

test("of two nested settings, the inner one is used", async () => {
  const inner = policy();
  const { tokens } = await withSampling(withSampling(inner, { temperature: 0.2 }), { temperature: 1 }).act(request);
  expect(inner.asked[0]!.sampling.temperature).toBe(0.2);
  expect(tokens!.sampling!.temperature).toBe(0.2);
});
