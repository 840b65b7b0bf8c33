import { expect, test } from "vitest";
import { textMessage } from "../../../src/contract/message.ts";
import { defaultSampling } from "../../../src/contract/sampler.ts";
import { callOptions } from "../../../src/core/policy/ai-sdk/call-options.ts";
import { chatBody } from "../../../src/core/policy/openai-compatible/chat-request.ts";

const request = {
  agent: "agent",
  messages: [textMessage("user", "go"), textMessage("assistant", "{"), textMessage("tool", "Error: no JSON")],
  sampling: defaultSampling,
  seed: 0,
};

test("a server gets the answer to a call that cannot be parsed as a user message, because it refuses a result without its call", () => {
  const body = chatBody(request, {
    ...{ model: "m", logprobs: false, tokenIds: false, extraBody: {}, maxTokensField: "max_tokens", omit: [] },
  } as const);
  expect(body.messages).toMatchObject([{}, {}, { role: "user", content: "Error: no JSON" }]);
  const { prompt } = callOptions(request, { version: "v4", signal: new AbortController().signal });
  expect(prompt[2]).toEqual({ role: "user", content: [{ type: "text", text: "Error: no JSON" }] });
});
