import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { chatTurnSchema } from "../../environments/conversations/chat-message.ts";
import { readBenchmarkRows } from "../../environments/shared/code-benchmarks/benchmark-row.ts";
import { extractJson } from "../../src/core/parsers/extract-json.ts";
import { jsonlTaskset } from "../../src/core/taskset/jsonl-taskset.ts";
import { parseExactJson, reordersKeys } from "../../src/core/text/exact-json.ts";
import { parseAssistantText } from "../../src/core/tokens/assistant-text.ts";

/** Integers that `JSON.parse` changes. */
const rounded = [
  "9007199254740993",
  "-9007199254740993",
  "9007199254740995",
  "12345678901234567890",
  "18446744073709551615",
  "-9223372036854775807",
  "1000000000000000000000",
  "340282366920938463463374607431768211455",
  `1${"0".repeat(400)}`,
  "1152921504606846977",
  "99999999999999999",
];

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "lyceum-exact-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function rowOf(line: string): Promise<unknown> {
  const path = join(folder, "rows.jsonl");
  await writeFile(path, `${line}\n`);
  return (await (await jsonlTaskset(path)).get(0)).task;
}

describe.each(rounded)("the integer %s", (digits) => {
  it("keeps its digits in a row, in a benchmark file and in the JSON of a reply", async () => {
    expect(await rowOf(`{"answer": ${digits}, "list": [{"n":${digits}}]}`)).toEqual({
      answer: digits,
      list: [{ n: digits }],
    });
    for (const [name, text] of [
      ["rows.json", `[{"n": ${digits}}]`],
      ["more.jsonl", `{"n": ${digits}}`],
    ] as const) {
      await writeFile(join(folder, name), text);
      expect(await readBenchmarkRows(join(folder, name))).toEqual([{ n: digits }]);
    }
    expect(extractJson(`It is {"n": ${digits}}.`)).toEqual({ n: digits });
  });

  it("is refused in the arguments of a tool call, with its digits", async () => {
    expect(() => parseExactJson(`{"id": ${digits}}`)).toThrow(digits.slice(0, 40));
    const call = `{"name": "f", "arguments": {"id": ${digits}}}`;
    const { toolCalls, parseErrors } = parseAssistantText(`<tool_call>\n${call}\n</tool_call>`, {
      toolCallFormat: "hermes",
    });
    expect(toolCalls).toEqual([]);
    expect(parseErrors[0]!.message).toContain(digits.slice(0, 40));
    const message = (args: unknown) => ({
      role: "assistant",
      tool_calls: [{ function: { name: "f", arguments: args } }],
    });
    const schema = chatTurnSchema(() => undefined);
    expect(schema.safeParse(message(`{"id": ${digits}}`)).success).toBe(false);
    expect(schema.safeParse(message(`{"id": "${digits}"}`)).success).toBe(true);
    const line = `{"messages": [{"role": "assistant", "tool_calls": [{"function": ${call}}]}]}`;
    await expect(rowOf(line)).rejects.toMatchObject({
      code: "data.malformed",
      message: expect.stringMatching(/rows\.jsonl:1.*beyond 2\^53/),
    });
  });
});

it("agrees with JSON.parse about every text whose integers are exact", () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 4 }), fc.integer({ min: -(2 ** 53) + 1, max: 2 ** 53 - 1 }), (text, integer) => {
      // The digits in a text make the reader look at every number.
      const whole = `{"a": ${text}, "digits": "9007199254740993", "integer": ${integer}, "float": 0.12345678901234567}`;
      for (const mode of ["refuse", "text"] as const) expect(parseExactJson(whole, mode)).toEqual(JSON.parse(whole));
    }),
    { numRuns: 200 },
  );
});

it("finds exactly the objects whose keys JSON.parse reorders", () => {
  const key = fc.oneof(
    fc.integer({ min: 0, max: 12 }).map(String),
    fc.constantFrom("a", "b", "01", "-1", "4294967295", '"', "{"),
  );
  const object = fc.uniqueArray(key, { maxLength: 5 });
  fc.assert(
    fc.property(object, object, (outer, inner) => {
      const write = (keys: readonly string[], value: string): string =>
        `{${keys.map((one) => `${JSON.stringify(one)} : ${value}`).join(", ")}}`;
      const text = `[${write(outer, write(inner, '"{\\"1\\": 2"'))}]`;
      const kept = (keys: readonly string[]): boolean =>
        Object.keys(JSON.parse(write(keys, "0"))).join("|") === keys.join("|");
      expect(reordersKeys(text)).toBe(!(kept(outer) && (outer.length === 0 || kept(inner))));
    }),
  );
});

it("refuses a row with tool calls whose keys would change their order, and no other row", async () => {
  const args = '{"10": 1, "2": 2}';
  const call = `{"function": {"name": "f", "arguments": ${args}}}`;
  await expect(rowOf(`{"messages": [{"role": "assistant", "tool_calls": [${call}]}]}`)).rejects.toMatchObject({
    message: expect.stringContaining("change their order"),
  });
  expect(await rowOf(`{"options": ${args}}`)).toEqual({ options: JSON.parse(args) });
});
