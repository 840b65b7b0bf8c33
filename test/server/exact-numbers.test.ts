import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readAnthropic } from "../../server/capture/dialects/anthropic-request.ts";
import { openAIChat } from "../../server/capture/dialects/openai-chat.ts";
import { readResponses } from "../../server/capture/dialects/responses-request.ts";
import { MessageSchema, ToolSpecSchema } from "../../server/grpc/generated/lyceum/v1/messages_pb.ts";
import { toValue } from "../../server/grpc/wire/json-value.ts";
import { fromWireMessage, fromWireTool, toWireMessage, toWireTool } from "../../server/grpc/wire/messages.ts";
import type { Message, ToolSpec } from "../../src/contract/message.ts";
import { textMessage } from "../../src/contract/message.ts";
import { callOptions } from "../../src/core/policy/ai-sdk/call-options.ts";
import { chatBody } from "../../src/core/policy/openai-compatible/chat-request.ts";
import { exactText, withRequestTexts, writtenAs } from "../../src/core/text/exact-json.ts";
import { callArguments } from "../../src/core/tools/call-arguments.ts";

/** JSON texts whose numbers JavaScript changes. */
const texts = [
  '{"id":9007199254740993}',
  '{"id":-123456789012345678901234567890}',
  '{"celsius":5.0}',
  '{"list":[1,2.50,{"deep":18446744073709551615}]}',
  '{"ns":1700000000000000001,"text":"9007199254740993"}',
];
/** The same numbers as Python's `json` writes them. */
const exact = (text: string): string => exactText(text)!;
const call = (text: string): Message => ({
  role: "assistant",
  content: [],
  toolCalls: [{ id: "c", name: "f", ...callArguments(text, { largeIntegers: "text" }) }],
});
const schemaOf = (text: string): string => `{"type":"object","default":${text}}`;
const toolOf = (text: string): ToolSpec => ({
  ...{ name: "f", description: "", parameters: { type: "object" }, parametersJson: exact(schemaOf(text)) },
});

describe("a value for JSON.stringify", () => {
  it.each(texts)("is written as %s", (text) => {
    expect(JSON.stringify(writtenAs(text))).toBe(exact(text));
  });

  it("is the value itself if nothing changes", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value);
        if (exactText(text) === undefined) expect(writtenAs(text)).toEqual(JSON.parse(text));
      }),
    );
  });
});

describe("requests to models", () => {
  const sampling = { temperature: 1, maxTokens: 5 };
  const request = (text: string) => ({
    ...{ agent: "agent", messages: [textMessage("user", "q"), call(text)], tools: [toolOf(text)], sampling, seed: 1 },
  });
  const { signal } = new AbortController();

  it.each(texts)("of OpenAI's protocol have %s", (text) => {
    const options = {
      model: "m",
      logprobs: false,
      tokenIds: false,
      maxTokensField: "max_tokens",
      omit: [],
      extraBody: {},
    } as const;
    const body = JSON.stringify(chatBody(request(text), options));
    expect(body).toContain(`"parameters":${exact(schemaOf(text))}`);
    expect(body).toContain(`"arguments":${JSON.stringify(exact(text))}`);
  });

  it.each(texts)("of the AI SDK's providers have %s", async (text) => {
    const bodies: string[] = [];
    const fetch: typeof globalThis.fetch = async (_, init) => {
      bodies.push(String(init?.body));
      return new Response("{}", { status: 400 });
    };
    const options = callOptions(request(text), { version: "v4", signal });
    const compatible = createOpenAICompatible({ name: "n", baseURL: "http://127.0.0.1:9", fetch })("m");
    const anthropic = createAnthropic({ apiKey: "k", baseURL: "http://127.0.0.1:9", fetch })("m");
    for (const model of [compatible, anthropic]) await expect(model.doGenerate(options as never)).rejects.toThrow();
    expect(bodies[0]).toContain(JSON.stringify(exact(text)).slice(1, -1));
    expect(bodies[1]).toContain(`"input":${exact(text)}`);
    for (const body of bodies) expect(body).toContain(exact(schemaOf(text)));
  });
});

describe("requests of clients", () => {
  const read = (text: string): unknown => withRequestTexts(JSON.parse(text), text);
  const messages = '[{"role":"user","content":"q"}]';

  it.each(texts)("keep %s", (text) => {
    const parameters = schemaOf(text);
    const chat = openAIChat.read(
      read(
        `{"model":"m","messages":${messages},"tools":[{"type":"function","function":{"name":"f","parameters":${parameters}}}]}`,
      ),
      new Map() as never,
    );
    const responses = readResponses(
      read(`{"model":"m","input":"q","tools":[{"type":"function","name":"f","parameters":${parameters}}]}`),
      new Map() as never,
    );
    const used = `[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":${text}}]}]`;
    const anthropic = readAnthropic(
      read(
        `{"model":"m","max_tokens":5,"temperature":1.0,"messages":${used},"tools":[{"name":"f","input_schema":${parameters}}]}`,
      ),
    );
    for (const { tools } of [chat, responses, anthropic]) expect(tools![0]!.parametersJson).toBe(exact(parameters));
    expect(anthropic.messages[1]!.toolCalls![0]!.argumentsJson).toBe(exact(text));
  });

  it("do not state a text of their own", () => {
    const tool = { name: "f", input_schema: { type: "object" }, input_schemaJson: "no JSON" };
    const content = [{ type: "tool_use", id: "c", name: "f", input: { a: 1 }, inputJson: '{"a":2}' }];
    const body = { model: "m", max_tokens: 5, messages: [{ role: "assistant", content }], tools: [tool] };
    const { tools, messages } = readAnthropic(body);
    expect(tools).toEqual([{ name: "f", description: "", parameters: { type: "object" } }]);
    expect(messages[0]!.toolCalls).toEqual([{ id: "c", name: "f", arguments: { a: 1 } }]);
  });
});

describe("messages over gRPC", () => {
  const sent = (message: Message): Message =>
    fromWireMessage(fromBinary(MessageSchema, toBinary(MessageSchema, create(MessageSchema, toWireMessage(message)))));

  it.each(texts)("keep %s", (text) => {
    expect(sent(call(text))).toEqual(call(text));
    const tool = fromWireTool(create(ToolSpecSchema, toWireTool(toolOf(text))));
    expect(tool.parametersJson).toBe(exact(schemaOf(text)));
  });

  it("keep large integers of programs, which have no text", () => {
    const toolCalls = [{ id: "c", name: "f", arguments: { a: 2 ** 60, b: [1e300] } }];
    expect(sent({ role: "assistant", content: [], toolCalls })).toEqual({ role: "assistant", content: [], toolCalls });
  });

  it.each([
    ["an integer that the client may have rounded", { arguments: toValue({ a: 2 ** 53 }) }, "arguments_json"],
    ["a text that is not JSON", { argumentsJson: "{" }, "arguments_json is not JSON"],
  ])("refuse %s", (_, given, message) => {
    const wire = create(MessageSchema, { role: "assistant", toolCalls: [{ id: "c", name: "f", ...given }] });
    expect(() => fromWireMessage(wire)).toThrow(
      expect.objectContaining({ code: "server.invalid-request", message: expect.stringContaining("arguments") }),
    );
    expect(() => fromWireMessage(wire)).toThrow(message === "arguments_json" ? /2\^53/ : message);
  });
});
