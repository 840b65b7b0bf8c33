import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findPolicy, policyKinds } from "../../cli/policy-kinds.ts";
import { splitAddress } from "../../src/core/policy/split-address.ts";
import { temporaryFolder } from "../temporary-folder.ts";

test.each([
  ["runs/train/model", "engine", "runs/train/model"],
  ["./model", "engine", "./model"],
  ["HuggingFaceTB/SmolLM2-135M-Instruct", "engine", "HuggingFaceTB/SmolLM2-135M-Instruct"],
  ["C:\\models\\small", "engine", "C:\\models\\small"],
  ["replay", "engine", "replay"],
  ["engine:demonstration", "engine", "demonstration"],
  ["http://127.0.0.1:8000/v1", "openai-compatible", "http://127.0.0.1:8000/v1"],
  ["https://host/v1#org/name:tag", "openai-compatible", "https://host/v1#org/name:tag"],
  ["openai-compatible:http://host/v1#m#2", "openai-compatible", "http://host/v1#m#2"],
  ["openai:gpt-5-mini", "openai", "gpt-5-mini"],
  ["amazon-bedrock:a.b:0", "amazon-bedrock", "a.b:0"],
  ["my-own:model", "my-own", "model"],
  ["constructor:model", "constructor", "model"],
  ["transformers:org/name#q4", "transformers", "org/name#q4"],
  ["scripted:answers.ts", "scripted", "answers.ts"],
  ["replay:a:b.jsonl", "replay", "a:b.jsonl"],
  ["demonstration", "demonstration", ""],
])("%s", async (model, id, address) => {
  expect(await findPolicy({ model })).toMatchObject({ kind: { id }, address });
});

test("with a base URL, the name is that of a model on the server", async () => {
  const server = { kind: policyKinds.get("openai-compatible"), address: "llama3.2:1b" };
  expect(await findPolicy({ model: "llama3.2:1b", baseUrl: "http://host/v1" })).toEqual(server);
});

test.each([
  "openai:",
  "replay:",
  "transformers:",
  "http:",
  "demonstration:math",
])("%s is no name of a policy", async (model) => {
  await expect(findPolicy({ model })).rejects.toMatchObject({ code: "config.invalid" });
});

test.each([
  ["http://127.0.0.1:8000/v1", ["http://127.0.0.1:8000/v1"]],
  ["http://127.0.0.1:8000/v1#", ["http://127.0.0.1:8000/v1"]],
  ["https://host/v1#org/name:tag", ["https://host/v1", "org/name:tag"]],
  ["http://host/v1#m#2", ["http://host/v1", "m#2"]],
])("the address %s", (address, parts) => expect(splitAddress(address)).toEqual(parts));

test.each([
  ["export const other = 1;", "config.invalid", "definePolicy"],
  ["export const policy = { open: () => undefined };", "config.invalid", "definePolicy"],
  ["throw new Error('no');", "config.invalid", "--debug"],
  [undefined, "data.not-found", "./my-policy.ts"],
])("a module %j is refused", async (text, code, hint) => {
  const folder = temporaryFolder();
  const path = join(folder, "mine.mjs");
  if (text !== undefined) await writeFile(path, text);
  await expect(findPolicy({ model: path })).rejects.toMatchObject({ code, hint: expect.stringContaining(hint) });
});
