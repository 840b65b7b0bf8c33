import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { textMessage, textOf } from "../../../src/contract/message.ts";
import { reasoningOf } from "../../../src/core/tokens/assistant-text.ts";
import { splitReasoning, withSeparateReasoning } from "../../../src/core/tokens/split-reasoning.ts";

describe("a text whose prompt is not known", () => {
  it.each([
    ["a cut block", "<think>\\boxed{42} so", "\\boxed{42} so", ""],
    ["a block and an answer", "<think>\\boxed{42}</think>It is 41", "\\boxed{42}", "It is 41"],
    ["an end without a start", "so 41\n</think>\n\n42", "so 41", "42"],
    ["two blocks", "<think>41</think>\n<think>40</think>42", "41\n\n40", "42"],
    ["a second block that is cut", "<think>41</think>\n<think>42", "41\n\n42", ""],
    ["blanks and CRLF", " \r\n<think>\r\n41\r\n</think>\r\n\r\n42", "41", "42"],
    ["a block on a later line", "Well.\n<think>41</think>\n42", "41", "Well.\n42"],
    ["a later block that is cut", "Well.\n<think>42", "42", "Well.\n"],
    ["two ends", "<think>the </think> tag</think>42", "the\n\ntag", "42"],
    ["an empty block", "<think>\n\n</think>\n\n42", "", "42"],
    ["only an end", "</think>\n\n42", "", "42"],
    ["indented code", "<think>a</think>\n    return 42", "a", "    return 42"],
    ["an end in curly quotes", "<think>the “</think>” tag</think>42", "the “</think>” tag", "42"],
    ["an end in inline code", "<think>the `</think>` tag</think>42", "the `</think>` tag", "42"],
    ["an end within inline code", "<think>write `a </think> b` here</think>42", "write `a </think> b` here", "42"],
    ["an end in guillemets with blanks", "in « </think> » x</think>42", "in « </think> » x", "42"],
    ["an end in brackets of Japanese", "<think>「</think>」 x</think>42", "「</think>」 x", "42"],
    ["an end with a full stop in quotes", '<think>write "</think>." x</think>42', 'write "</think>." x', "42"],
    ["an end with a comma in quotes", "<think>write '</think>', x</think>42", "write '</think>', x", "42"],
    ["an end in quotes with a full stop", '<think>the "</think>". x</think>42', 'the "</think>". x', "42"],
    ["an end in a quotation", '<think>"the tag </think> ends" x</think>42', '"the tag </think> ends" x', "42"],
    ["an end in curly quotation", "<think>the “tag </think> ends”</think>42", "the “tag </think> ends”", "42"],
    ["an end in German quotation", "<think>„nach </think> kommt“</think>42", "„nach </think> kommt“", "42"],
    ["an end in Japanese quotation", "<think>「</think> の後」</think>42", "「</think> の後」", "42"],
    ["an end in brackets with a full stop", "<think>the tag (</think>.) x</think>42", "the tag (</think>.) x", "42"],
    ["an end in an f-string", '<think>f"</think>" x</think>42', 'f"</think>" x', "42"],
    ["an end after a quotation", '<think>it said "yes"</think>"42"', 'it said "yes"', '"42"'],
    ["an end after a quotation on its line", '<think>"a" or "b"</think>\n"42"', '"a" or "b"', '"42"'],
    ["an end before a quoted answer, without a start", 'so "yes"</think>"42"', 'so "yes"', '"42"'],
    ["an end before a quoted line, without a start", 'so "yes"\n</think>\n"42"', 'so "yes"', '"42"'],
    ["an end after a full stop in quotes, without a start", '"I see."</think>"42"', '"I see."', '"42"'],
    ["an end after inches, without a start", 'it is 5"</think>6" wide', 'it is 5"', '6" wide'],
    ["an end after an apostrophe, without a start", "it's so</think>it's 42", "it's so", "it's 42"],
    ["an end after an open quotation, without a start", 'so "he</think>42', 'so "he', "42"],
    ["a block whose only end is quoted", "<think>a `</think>` 42", "a `", "` 42"],
    ["an indented block", "Well.\n  <think>41</think>\n42", "41", "Well.\n42"],
    ["a block after a tab", "Well.\n\t<think>41</think>42", "41", "Well.\n42"],
    ["an open fence before the end", "so\n```python\nx = 1\n</think>\n42", "so\n```python\nx = 1", "42"],
    ["an open fence, and code after it", "so\n```\nx\n</think>\n```py\ny\n```", "so\n```\nx", "```py\ny\n```"],
    ["an open fence of four", "````md\n```\nx\n```\n</think>\n42", "````md\n```\nx\n```", "42"],
    ["a closed fence of four", "````\n```\n````\nso</think>42", "````\n```\n````\nso", "42"],
    ["a block whose removal opens another", "```\n<think>```\n<think></think>```\n", "```\n```", "```\n"],
    ["Magistral", "[THINK]41[/THINK]42", "41", "42"],
    ["Seed-OSS", "<seed:think>41</seed:think>42", "41", "42"],
    ["Kimi", "◁think▷41◁/think▷42", "41", "42"],
    ["Command A", "<|START_THINKING|>41<|END_THINKING|>42", "41", "42"],
  ])("has the reasoning and the answer of %s", (_, text, reasoning, rest) => {
    expect(splitReasoning(text, undefined)).toEqual({ reasoning, rest });
  });

  it.each([
    ["no tag", "42"],
    ["a quoted end", "Write `</think>` after it: 42"],
    ["a quoted end with a full stop", 'Write "</think>." after it: 42'],
    ["an end in quotes with words", 'The words "close it by </think> first" are his: 42'],
    ["an end in quotes with words, at the start", '"Then </think> follows", he said: 42'],
    ["an end in curly quotes with words", "He wrote “a </think> b”: 42"],
    ["an end in a string", 'x.split("</think>")'],
    ["an end in a code block", "```python\nend = f'{x}</think>'\n```"],
    ["an end in a fence of four", "````\n```\n</think>\n```\n````\n42"],
    ["an end in tildes", "~~~\n</think>\n~~~\n42"],
    ["an end in a fence that other code follows", "```\n</think>\n```\n42\n```py\ny\n```"],
    ["an end in curly quotes", "see “</think>” 42"],
    ["an end within inline code", "write `x</think>y`: 42"],
    ["a block in code", "```python\n<think>a</think>\n```\n42"],
    ["a pair within a line", "see <think>a</think>"],
    ["an end in a tool call", '<tool_call>{"name": "f", "arguments": {"a": "b</think>c"}}</tool_call>'],
    ["a tag that the prompt asks for", "<reasoning>41</reasoning><answer>42</answer>"],
  ])("keeps %s", (_, text) => {
    expect(splitReasoning(text, undefined)).toEqual({ reasoning: "", rest: text });
  });

  it("is split once: a second split finds nothing, and no other text is lost", () => {
    const pieces = [
      "<think>",
      "</think>",
      "[THINK]",
      "[/THINK]",
      "a",
      "b ",
      "\n",
      " ",
      "`",
      '"',
      "```\n",
      "<tool_call>",
    ];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 9 }), (parts) => {
        const message = withSeparateReasoning(textMessage("assistant", parts.join("")));
        const letters = (text: string): string => text.replaceAll(/<\/?\w+>|\[\/?\w+\]|[^ab]/g, "");
        const whole = letters(parts.join(""));
        expect(letters(reasoningOf(message) + textOf(message))).toHaveLength(whole.length);
        expect(withSeparateReasoning(message)).toEqual(message);
      }),
      { numRuns: 2000 },
    );
  });
});

it("leaves other roles, images and earlier reasoning in place", () => {
  const user = textMessage("user", "<think>a</think>b");
  expect(withSeparateReasoning(user)).toBe(user);
  const image = { type: "image", mediaType: "image/png", data: "" } as const;
  const content = [{ type: "reasoning", text: "a" } as const, { type: "text", text: "b</think>c" } as const, image];
  expect(withSeparateReasoning({ role: "assistant", content }).content).toEqual([
    { type: "reasoning", text: "a" },
    { type: "reasoning", text: "b" },
    { type: "text", text: "c" },
    image,
  ]);
});
