import { expect, test } from "vitest";
import { parsePolicyName } from "../../../src/core/policy/policy-name.ts";

test.each([
  ["runs/train/model", { kind: "engine", path: "runs/train/model" }],
  ["./model", { kind: "engine", path: "./model" }],
  ["HuggingFaceTB/SmolLM2-135M-Instruct", { kind: "engine", path: "HuggingFaceTB/SmolLM2-135M-Instruct" }],
  ["C:\\models\\small", { kind: "engine", path: "C:\\models\\small" }],
  ["http://127.0.0.1:8000/v1", { kind: "server", url: "http://127.0.0.1:8000/v1" }],
  ["http://127.0.0.1:8000/v1#", { kind: "server", url: "http://127.0.0.1:8000/v1" }],
  ["https://host/v1#org/name:tag", { kind: "server", url: "https://host/v1", model: "org/name:tag" }],
  ["openai-compatible:http://host/v1#m#2", { kind: "server", url: "http://host/v1", model: "m#2" }],
  ["openai:gpt-5-mini", { kind: "provider", provider: "openai", model: "gpt-5-mini" }],
  ["amazon-bedrock:a.b:0", { kind: "provider", provider: "amazon-bedrock", model: "a.b:0" }],
  ["transformers:org/name", { kind: "transformers-js", model: "org/name" }],
  ["transformers:org/name#q4", { kind: "transformers-js", model: "org/name", dtype: "q4" }],
  ["scripted:answers.json", { kind: "scripted", path: "answers.json" }],
  ["replay:a:b.jsonl", { kind: "replay", path: "a:b.jsonl" }],
  ["demonstration", { kind: "demonstration" }],
])("%s", (name, parsed) => expect(parsePolicyName(name)).toStrictEqual(parsed));

test.each(["openai:", "replay:", "transformers:", "http:"])("%s has no name after its prefix", (name) => {
  expect(() => parsePolicyName(name)).toThrow(expect.objectContaining({ code: "config.invalid" }));
});
