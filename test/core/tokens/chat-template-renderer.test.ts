import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { type Message, type ToolSpec, textMessage } from "../../../src/contract/message.ts";
import { TokenPrefix } from "../../../src/contract/token-prefix.ts";
import { createChatTemplateRenderer } from "../../../src/core/tokens/chat-template-renderer.ts";
import { loadTokenizer } from "../../../src/core/tokens/huggingface-tokenizer.ts";
import type { Tokenizer } from "../../../src/core/tokens/tokenizer.ts";
import { chatMl, dropsThinking, headers, opensThinking, plainHeadings } from "./chat-templates.ts";
import { plainText, turns } from "./conversations.ts";
import { byteLevelBpe, temporaryFolder } from "./model-folder.ts";

const specialTokens = [
  "<|begin|>",
  "<|endoftext|>",
  "<|im_start|>",
  "<|im_end|>",
  "<|start_header_id|>",
  "<|end_header_id|>",
  "<|eot_id|>",
  "<|python_tag|>",
];
const merges = [
  ["\n", "\n"],
  ["a", "b"],
  [" ", "a"],
  ["1", "2"],
  ["t", "h"],
  ["th", "i"],
] as const;

let tokenizer: Tokenizer;
beforeAll(async () => {
  await using folder = await temporaryFolder({
    "tokenizer.json": byteLevelBpe({ merges, specialTokens, plainAddedTokens: ["<tool_call>"] }),
    "tokenizer_config.json": { bos_token: "<|begin|>", eos_token: "<|endoftext|>" },
  });
  tokenizer = await loadTokenizer(folder.path);
});

const id = (token: string): number => tokenizer.tokenId(token)!;
const renderer = (template: string) => createChatTemplateRenderer({ tokenizer, template });
const tool: ToolSpec = { name: "add", description: "Adds.", parameters: { type: "object", properties: {} } };
const unsupported = expect.objectContaining({ code: "policy.unsupported-input" });
const templateError = expect.objectContaining({ code: "model.template" });

describe("start", () => {
  it("renders the conversation and opens the assistant's turn", () => {
    const ids = renderer(headers).start({ messages: [textMessage("system", " s "), textMessage("user", "hi")] });
    expect(tokenizer.decode(ids)).toBe(
      "<|begin|><|start_header_id|>system<|end_header_id|>\n\ns<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nhi<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
    );
    expect(ids).toEqual(tokenizer.encode(tokenizer.decode(ids)));
  });

  it("lists tools in the prompt", () => {
    const ids = renderer(dropsThinking).start({ messages: [textMessage("user", "1+1?")], tools: [tool] });
    expect(tokenizer.decode(ids)).toContain('{"type": "function", "function": {"name": "add", "description": "Adds."');
  });

  it("uses the tool template only if there are tools", () => {
    const both = createChatTemplateRenderer({ tokenizer, template: { default: chatMl, toolUse: dropsThinking } });
    const messages = [textMessage("user", "1+1?")];
    expect(both.start({ messages })).toEqual(renderer(chatMl).start({ messages }));
    expect(both.start({ messages, tools: [] })).toEqual(renderer(chatMl).start({ messages }));
    expect(both.start({ messages, tools: [tool] })).toEqual(renderer(dropsThinking).start({ messages, tools: [tool] }));
  });

  it("passes variables to the template", () => {
    const template = `{{ greeting }}${chatMl}`;
    const ids = createChatTemplateRenderer({ tokenizer, template, variables: { greeting: "ab" } });
    expect(tokenizer.decode(ids.start({ messages: [textMessage("user", "x")] }))).toMatch(/^ab<\|im_start\|>user\nx/);
  });

  it("refuses tools if the template drops them, and images", () => {
    const image: Message = { role: "user", content: [{ type: "image", mediaType: "image/png", data: "" }] };
    expect(() => renderer(chatMl).start({ messages: [textMessage("user", "x")], tools: [tool] })).toThrow(unsupported);
    expect(() => renderer(chatMl).start({ messages: [image] })).toThrow(unsupported);
    const foreign = `${chatMl.replace("{{ message.content }}", "{{ message.content }}{% for call in message.tool_calls or [] %}[{{ call.function.name }}]{% endfor %}")}{{ tools | tojson }}`;
    expect(() => renderer(foreign).start({ messages: [textMessage("user", "x")], tools: [tool] })).toThrow(unsupported);
  });
});

describe("stop tokens", () => {
  it.each([
    ["ChatML", chatMl, ["<|endoftext|>", "<|im_end|>"]],
    ["headers", headers, ["<|endoftext|>", "<|eot_id|>"]],
    ["plain headings", plainHeadings, ["<|endoftext|>"]],
  ])("of %s are eos and the token that the template writes after an assistant", (_, template, expected) => {
    expect(
      renderer(template)
        .stopTokenIds.map((stop) => tokenizer.decode([stop]))
        .toSorted(),
    ).toEqual(expected);
  });

  it("are never ordinary text, whatever the template writes after an assistant", () => {
    const template = chatMl.replace("<|im_end|>", "###");
    expect(renderer(template).stopTokenIds).toEqual([id("<|endoftext|>")]);
  });

  it("include those of the caller", () => {
    const stops = createChatTemplateRenderer({ tokenizer, template: chatMl, stopTokenIds: [id("<|eot_id|>")] });
    expect(stops.stopTokenIds).toContain(id("<|eot_id|>"));
  });
});

describe.each([
  ["ChatML", chatMl],
  ["headers", headers],
  ["thinking dropped", dropsThinking],
])("a conversation in %s", (_, template) => {
  it("has the ids of its whole rendering when it grows turn by turn", () => {
    const subject = renderer(template);
    fc.assert(
      fc.property(turns(), fc.boolean(), (messages, cut) => {
        let ids: number[] = [];
        for (let i = 0; i < messages.length; i += 2) {
          const seen = messages.slice(0, i + 1);
          if (i === 0) ids = subject.start({ messages: seen });
          else {
            const added = subject.extend({ ids: TokenPrefix.empty.append(ids), messages: seen, messageCount: i });
            expect(added).not.toBe("broken");
            ids = [...ids, ...(added as number[])];
          }
          const answer = messages[i + 1];
          if (answer === undefined) break;
          const sampled = subject.complete(answer);
          ids = [...ids, ...(cut ? sampled.slice(0, -1) : sampled)];
        }
        expect(tokenizer.decode(ids)).toBe(tokenizer.decode(subject.start({ messages })));
      }),
    );
  });

  it("keeps the sampled ids, even if the tokenizer would encode the text differently", () => {
    const subject = renderer(template);
    const messages = [textMessage("user", "ab"), textMessage("assistant", "ab"), textMessage("user", "c")];
    const sampled = [id("a"), id("b"), subject.complete(messages[1]!).at(-1)!];
    expect(tokenizer.encode("ab")).not.toEqual(sampled.slice(0, 2));
    const ids = [...subject.start({ messages: messages.slice(0, 1) }), ...sampled];
    const added = subject.extend({ ids: TokenPrefix.empty.append(ids), messages, messageCount: 2 }) as number[];
    expect(tokenizer.decode([...ids, ...added])).toBe(tokenizer.decode(subject.start({ messages })));
  });

  it("completes a text that contains the stop token itself", () => {
    const ids = renderer(template).complete(textMessage("assistant", "a<|im_end|><|eot_id|>b"));
    expect(tokenizer.decode(ids)).toMatch(/^a<\|im_end\|><\|eot_id\|>b<\|(im_end|eot_id)\|>$/);
  });

  it("parses what it completes", () => {
    const subject = renderer(template);
    fc.assert(
      fc.property(plainText, (text) => {
        const message = textMessage("assistant", text);
        expect(subject.parse({ ids: subject.complete(message), finish: "stop" })).toEqual({ message, finish: "stop" });
      }),
    );
  });
});

describe("extend", () => {
  const ask = textMessage("user", "1+1?");
  const thought: Message = {
    role: "assistant",
    content: [
      { type: "reasoning", text: "one and one" },
      { type: "text", text: "2" },
    ],
  };
  const call: Message = {
    role: "assistant",
    content: [{ type: "reasoning", text: "use the tool" }],
    toolCalls: [{ id: "call_0", name: "add", arguments: { a: 1, b: 1 } }],
  };
  const result: Message = { role: "tool", content: [{ type: "text", text: "2" }], toolCallId: "call_0" };
  const extension = (template: string, messages: readonly Message[], tools: readonly ToolSpec[] = []) => {
    const subject = renderer(template);
    const ids = [...subject.start({ messages: messages.slice(0, 1), tools }), ...subject.complete(messages[1]!)];
    return { ids, added: subject.extend({ ids: TokenPrefix.empty.append(ids), messages, messageCount: 2, tools }) };
  };

  it("is broken if the template drops earlier thinking, and only then", () => {
    expect(extension(dropsThinking, [ask, thought, textMessage("user", "sure?")]).added).toBe("broken");
    expect(extension(dropsThinking, [ask, textMessage("assistant", "2"), ask]).added).not.toBe("broken");
    expect(extension(chatMl, [ask, thought, textMessage("user", "sure?")]).added).not.toBe("broken");
  });

  it("continues through tool calls while the thinking is kept", () => {
    const messages = [ask, call, result];
    const { ids, added } = extension(dropsThinking, messages, [tool]);
    expect(tokenizer.decode([...ids, ...(added as number[])])).toBe(
      tokenizer.decode(renderer(dropsThinking).start({ messages, tools: [tool] })),
    );
  });

  it("is broken if the template drops the text next to a tool call", () => {
    const both: Message = { ...call, content: [{ type: "text", text: "let me see" }] };
    expect(extension(headers, [ask, { ...call, content: [] }, result], [tool]).added).not.toBe("broken");
    expect(extension(headers, [ask, both, result], [tool]).added).toBe("broken");
  });

  it("is broken if the tools or the opening have changed", () => {
    const subject = renderer(dropsThinking);
    const answer = textMessage("assistant", "2");
    const ids = [...subject.start({ messages: [ask], tools: [tool] }), ...subject.complete(answer)];
    const messages = [ask, answer, textMessage("user", "sure?")];
    const other = { ...tool, name: "multiply" };
    expect(subject.extend({ ids: TokenPrefix.empty.append(ids), messages, messageCount: 2, tools: [tool] })).not.toBe(
      "broken",
    );
    expect(subject.extend({ ids: TokenPrefix.empty.append(ids), messages, messageCount: 2, tools: [other] })).toBe(
      "broken",
    );
    expect(subject.extend({ ids: TokenPrefix.empty.append(ids), messages, messageCount: 2 })).toBe("broken");
    const otherAsk = [textMessage("user", "1+2?"), ...messages.slice(1)];
    expect(
      subject.extend({ ids: TokenPrefix.empty.append(ids), messages: otherAsk, messageCount: 2, tools: [tool] }),
    ).toBe("broken");
  });

  it("is broken if answers are rendered differently from the generation prompt", () => {
    const subject = renderer(opensThinking);
    const ids = [...subject.start({ messages: [ask] }), ...tokenizer.encode("hm</think>2<|im_end|>")];
    const answer = subject.parse({ ids: tokenizer.encode("hm</think>2<|im_end|>"), finish: "stop" }).message;
    expect(subject.extend({ ids: TokenPrefix.empty.append(ids), messages: [ask, answer, ask], messageCount: 2 })).toBe(
      "broken",
    );
    expect(() => subject.complete(textMessage("assistant", "2"))).toThrow(templateError);
  });

  it("is broken if answers have another heading than the generation prompt", () => {
    const template = `${chatMl.split("{% if add")[0]}{% if add_generation_prompt %}<|im_start|>assistanT\n{% endif %}`;
    expect(extension(chatMl, [ask, textMessage("assistant", "2"), ask]).added).not.toBe("broken");
    const subject = renderer(template);
    const ids = [...subject.start({ messages: [ask] }), ...tokenizer.encode("2<|im_end|>")];
    const messages = [ask, textMessage("assistant", "2"), ask];
    expect(subject.extend({ ids: TokenPrefix.empty.append(ids), messages, messageCount: 2 })).toBe("broken");
  });

  it("inserts a missing end of turn once, and accepts any stop token as one", () => {
    const subject = renderer(chatMl);
    const messages = [ask, textMessage("assistant", "2"), textMessage("user", "sure?")];
    const prompt = subject.start({ messages: [ask] });
    const added = (sampled: string): string =>
      tokenizer.decode(
        subject.extend({
          ids: TokenPrefix.empty.append(prompt).append(tokenizer.encode(sampled)),
          messages,
          messageCount: 2,
        }) as number[],
      );
    const next = "\n<|im_start|>user\nsure?<|im_end|>\n<|im_start|>assistant\n";
    expect(added("2")).toBe(`<|im_end|>${next}`);
    expect(added("2<|im_end|>")).toBe(next);
    expect(added("2<|endoftext|>")).toBe(next);
    expect(added("")).toBe(`<|im_end|>${next}`);
  });

  it("works with templates that end a turn without a token", () => {
    const messages = [ask, textMessage("assistant", "2"), textMessage("user", "sure?")];
    const { ids, added } = extension(plainHeadings, messages);
    expect(tokenizer.decode([...ids, ...(added as number[])])).toBe(
      tokenizer.decode(renderer(plainHeadings).start({ messages })),
    );
  });
});

describe("parse", () => {
  const parse = (template: string, text: string, options: { stopString?: string; finish?: "stop" | "length" } = {}) =>
    renderer(template).parse({
      ids: tokenizer.encode(text),
      finish: options.finish ?? "stop",
      ...(options.stopString === undefined ? {} : { stopString: options.stopString }),
    });

  it("drops the stop token and keeps the text unchanged", () => {
    expect(parse(chatMl, " 2 \n<|im_end|>")).toEqual({ message: textMessage("assistant", " 2 \n"), finish: "stop" });
    expect(parse(chatMl, "2<|im_end|>2").message).toEqual(textMessage("assistant", "2<|im_end|>2"));
    expect(parse(chatMl, "<|im_end|>").message).toEqual(textMessage("assistant", ""));
  });

  it("cuts at the stop sequence and maps the finish", () => {
    expect(parse(chatMl, "2\n\nQ", { stopString: "\n\n" }).message).toEqual(textMessage("assistant", "2"));
    expect(parse(chatMl, "2", { finish: "length" }).finish).toBe("length");
  });

  it("finds reasoning that the prompt opened", () => {
    expect(parse(opensThinking, "hm\n</think>\n\n2<|im_end|>").message.content).toEqual([
      { type: "reasoning", text: "hm" },
      { type: "text", text: "2" },
    ]);
    expect(parse(chatMl, "hm\n</think>\n\n2").message.content).toEqual([{ type: "text", text: "hm\n</think>\n\n2" }]);
  });

  it("parses tool calls in the template's own form", () => {
    const hermes = '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>';
    const llama = '{"name": "add", "parameters": {"a": 1}}';
    const toolCalls = [{ id: "call_0", name: "add", arguments: { a: 1 } }];
    expect(parse(dropsThinking, hermes)).toMatchObject({ message: { toolCalls }, finish: "tool-calls" });
    expect(parse(headers, llama)).toMatchObject({ message: { toolCalls }, finish: "tool-calls" });
    expect(parse(headers, `<|python_tag|>${llama}<|eot_id|>`)).toMatchObject({ message: { toolCalls } });
    expect(parse(headers, hermes).message).toEqual(textMessage("assistant", hermes));
    expect(parse(dropsThinking, llama).message).toEqual(textMessage("assistant", llama));
  });

  it("never throws, and reports a malformed call without losing its text", () => {
    const text = 'so <tool_call>{"name": "add", "arguments": [</tool_call>';
    const action = parse(dropsThinking, text);
    expect(action.message).toEqual(textMessage("assistant", text));
    expect(action).toMatchObject({ finish: "stop", parseErrors: [{ text: text.slice(3) }] });
    const ids = fc.array(fc.nat({ max: 300 }));
    fc.assert(
      fc.property(ids, fc.constantFrom(chatMl, headers, dropsThinking), (sampled, template) => {
        expect(renderer(template).parse({ ids: sampled, finish: "length" }).finish).toBe("length");
      }),
      { numRuns: 50 },
    );
  });
});

describe("a template that fails", () => {
  it("is refused if it does not parse", () => {
    expect(() => renderer("{% for message in %}")).toThrow(templateError);
  });

  it("reports its own error message", () => {
    const picky = `{% if messages[0].role == "system" %}{{ raise_exception("no system role") }}{% endif %}${chatMl}`;
    const subject = renderer(picky);
    expect(() => subject.start({ messages: [textMessage("system", "s")] })).toThrow(/no system role/);
    expect(() => subject.start({ messages: [textMessage("system", "s")] })).toThrow(templateError);
  });
});
