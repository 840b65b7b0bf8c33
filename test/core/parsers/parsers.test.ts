import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { codeBlocks, extractBoxed, extractCode, extractJson, extractTag } from "../../../src/core/parsers/index.ts";

describe("extractCode", () => {
  test("returns the last block with the language or without one", () => {
    const text = "```py\na\n```\ntext\n~~~\nb\n~~~\n```js\nc\n```";
    expect(extractCode(text)).toBe("c");
    expect(extractCode(text, { languages: ["python", "py"] })).toBe("b");
    expect(extractCode("```js\nc\n```", { languages: ["python"] })).toBeUndefined();
    expect(extractCode("no block")).toBeUndefined();
    expect(codeBlocks("````\n```\n````\n```x y\ncut")).toEqual([
      { language: "", code: "```" },
      { language: "x", code: "cut" },
    ]);
  });
});

describe("extractTag", () => {
  test.each<[string, string | undefined]>([
    ["<answer> 4 </answer>", "4"],
    ["<answer>3</answer> no, <Answer>4</ANSWER>", "4"],
    ["<answer>3</answer> <answer>4", "3"],
    ["<answer><answer>4</answer>", "4"],
    ["İ<answer>4</answer>", "4"],
    ["</answer>", undefined],
    ["<answer>", undefined],
    ["", undefined],
  ])("%s", (text, answer) => expect(extractTag(text, "answer")).toBe(answer));

  test("accepts any name unchanged", () => expect(extractTag("<a.b>1</a.b> <axb>2</axb>", "a.b")).toBe("1"));
});

describe("extractBoxed", () => {
  test.each<[string, string | undefined]>([
    ["\\boxed{4}", "4"],
    ["\\boxed{1} and \\fbox {\\frac{1}{2}}.", "\\frac{1}{2}"],
    ["\\boxed{1} and \\boxed{2", "1"],
    ["\\boxed 4", "4"],
  ])("%s", (text, answer) => expect(extractBoxed(text)).toBe(answer));
});

describe("extractJson", () => {
  test.each<[string, unknown]>([
    ['So: ```json\n{"a": [1, {"b": "}"}]}\n```', { a: [1, { b: "}" }] }],
    ['[1] then {"x": "\\"]"} end', { x: '"]' }],
    ["use f(x) {not json} [1, 2] or [3, 4", [1, 2]],
    ['{"a": 1', undefined],
    ["4", undefined],
    ["", undefined],
  ])("%s", (text, value) => expect(extractJson(text)).toEqual(value));

  test("finds any object or list between words", () => {
    const value = fc.oneof(fc.array(fc.json().map((text) => JSON.parse(text))), fc.dictionary(fc.string(), fc.json()));
    fc.assert(
      fc.property(value, (json) => {
        expect(extractJson(`first [0], so: ${JSON.stringify(json)}.`)).toEqual(JSON.parse(JSON.stringify(json)));
      }),
    );
  });

  test("gives up on texts that are built to be slow", () => expect(extractJson("[{".repeat(200_000))).toBeUndefined());
});
