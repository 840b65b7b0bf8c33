import { type Message, textMessage } from "../../../src/contract/message.ts";
import type { Policy } from "../../../src/contract/policy.ts";
import type { SampleRequest, Sampler } from "../../../src/contract/sampler.ts";
import { samplerPolicy } from "../../../src/core/policy/sampler-policy.ts";
import { createByteRenderer } from "../../../src/core/tokens/byte-renderer.ts";

/** A policy that samples the ids of the given answers in order, and the requests that it got. */
export function scriptedBytes(answers: readonly (Message | string)[]): {
  readonly policy: Policy;
  readonly sampler: Sampler;
  readonly requests: SampleRequest[];
} {
  const renderer = createByteRenderer();
  const requests: SampleRequest[] = [];
  const sampler: Sampler = {
    specificationVersion: "v1",
    version: 7,
    sample: async function* (batch) {
      for (const [index, request] of batch.entries()) {
        const answer = answers[requests.push(request) - 1]!;
        const ids = renderer.complete(typeof answer === "string" ? textMessage("assistant", answer) : answer);
        yield { request: index, ids, logprobs: ids.map((_, place) => -place / 8), finish: "stop" };
      }
    },
    close: async () => {},
  };
  return { policy: samplerPolicy({ name: "scripted-bytes", sampler: () => sampler, renderer }), sampler, requests };
}

/** An answer that calls tools. */
export function callsOf(text: string, ...calls: readonly (readonly [name: string, values: object])[]): Message {
  return {
    ...textMessage("assistant", text),
    toolCalls: calls.map(([name, values], index) => ({ id: `call_${index}`, name, arguments: values as never })),
  };
}
