import fc from "fast-check";
import { expect, test } from "vitest";
import { textOf } from "../../../src/contract/message.ts";
import { parseAssistantText, reasoningOf, type ToolCallFormat } from "../../../src/core/tokens/assistant-text.ts";
import { settledParts, withoutStartOf } from "../../../src/core/tokens/settled-parts.ts";

const formats: readonly ToolCallFormat[] = ["hermes", "llama", "bytes", "none"];
const call = '{"name": "add", "arguments": {"a": 1}}';
const pieces = [
  ...["<think>", "</think>", "<tool_call>", "</tool_call>", "<|tool|>", "<|python_tag|>", call, "add", '{"a":1}'],
  ...["<", "</", "<t", "{", '"', "`", "(", ")", "\u201C", "\u201D", " ", "\n", "a", "b c", "\u2028"],
];

/** The whole text's reasoning and content. */
function wholeOf(text: string, options: Parameters<typeof settledParts>[1]) {
  const message = { role: "assistant" as const, content: parseAssistantText(text, options).content };
  return { reasoning: reasoningOf(message), text: textOf(message) };
}

test("the whole answer begins with the settled parts of each of its beginnings", () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...pieces), { maxLength: 9 }).map((parts) => parts.join("")),
      fc.constantFrom(...formats),
      fc.boolean(),
      (text, toolCallFormat, startsInReasoning) => {
        const options = { toolCallFormat, startsInReasoning };
        const whole = wholeOf(text, options);
        for (let end = 0; end <= text.length; end++) {
          const settled = settledParts(text.slice(0, end), options);
          expect(whole.reasoning.slice(0, settled.reasoning.length)).toBe(settled.reasoning);
          expect(whole.text.slice(0, settled.text.length)).toBe(settled.text);
        }
      },
    ),
    { numRuns: 3000 },
  );
});

test("text is settled as soon as it can be", () => {
  const settled = (text: string, toolCallFormat: ToolCallFormat = "hermes", startsInReasoning = false) =>
    settledParts(text, { toolCallFormat, startsInReasoning });
  expect(settled("The sum")).toEqual({ reasoning: "", text: "The sum" });
  expect(settled("The sum ")).toEqual({ reasoning: "", text: "The sum" });
  expect(settled("1 <")).toEqual({ reasoning: "", text: "1" });
  expect(settled("1 < 2")).toEqual({ reasoning: "", text: "1 < 2" });
  expect(settled("<think>\nFirst, </th")).toEqual({ reasoning: "First,", text: "" });
  expect(settled("<think>\nFirst</think>\n\nSo")).toEqual({ reasoning: "First", text: "So" });
  expect(settled("First", "hermes", true)).toEqual({ reasoning: "First", text: "" });
  expect(settled(`Wait.\n<tool_call>${call}</tool_call>`)).toEqual({ reasoning: "", text: "Wait." });
  expect(settled("x { ", "llama")).toEqual({ reasoning: "", text: "x { " });
  expect(settled('{"name": ', "llama")).toEqual({ reasoning: "", text: "" });
  expect(settled("Hi <|to", "bytes")).toEqual({ reasoning: "", text: "Hi " });
});

test("the longest beginning of a tag is removed from the end", () => {
  expect(withoutStartOf("abab", ["abc", "bab!"])).toBe("a");
  expect(withoutStartOf("abab", [])).toBe("abab");
  expect(withoutStartOf("ab", ["ab"])).toBe("");
});
